"""Hostile files of every kind that a table has, and what becomes of those who read them.

``python -m tests.hostile --count 50000`` makes so many and prints a table by kind.
"""
