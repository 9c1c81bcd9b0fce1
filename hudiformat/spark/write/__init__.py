"""Data frames into tables."""
