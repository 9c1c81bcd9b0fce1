"""Bootstrapped tables: base files whose rows are in files that were there before, and the index that names these."""
