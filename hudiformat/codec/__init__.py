"""Formats of files: bytes <-> Arrow."""
