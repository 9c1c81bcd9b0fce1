"""Verify a table, and repair what is wrong with it."""
