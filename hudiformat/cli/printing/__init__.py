"""Printing of the results of commands: tables, JSON lines, rows, findings, commits and progress."""
