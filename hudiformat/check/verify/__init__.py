"""Findings about a table."""
