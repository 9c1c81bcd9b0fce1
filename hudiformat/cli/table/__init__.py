"""The commands about a table as a whole: its properties, and its metadata table."""
