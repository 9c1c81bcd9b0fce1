"""Rows to file groups: assignment, and the handles that write files."""
