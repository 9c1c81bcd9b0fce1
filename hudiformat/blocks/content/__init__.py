"""The contents of blocks, a module for each.  They take bytes and header values, and do not know the frame."""
