"""The content of each type of log block.  Pure."""
