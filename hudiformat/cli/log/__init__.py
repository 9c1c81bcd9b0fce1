"""The commands that look into a log file."""
