"""The commands about where rows go: ``plan`` for one write, ``simulate`` for many."""
