"""Verify a table: find what is wrong with it."""
