"""The archived timeline."""
