"""Handles write the files of one file group: append, create and merge."""
