"""Commands for one log file."""
