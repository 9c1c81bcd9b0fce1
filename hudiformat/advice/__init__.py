"""Advice on a table: what is wrong with its layout, its history and its settings, and which change would help."""
