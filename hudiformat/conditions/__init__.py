"""Filters as text, tuples and expressions -> Arrow expressions.  Pure."""
