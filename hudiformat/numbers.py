"""Format numbers for people: sizes with units, counts with commas between thousands."""

from __future__ import annotations

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB", "EB")
_STEP = 1000
_WITHOUT_FRACTION = 99.95


def size_text(count: int) -> str:
    """Format bytes with a unit, such as 1.2 GB; 1 KB is 1000 bytes."""
    value, place = float(count), 0
    while value >= _STEP - 0.5 and place + 1 < len(_UNITS):
        value, place = value / _STEP, place + 1
    digits = 0 if place == 0 or value >= _WITHOUT_FRACTION else 1
    return f"{value:.{digits}f} {_UNITS[place]}"


def count_text(count: int) -> str:
    """Format a count with commas between thousands."""
    return f"{count:,}"


def format_count(count: int, what: str) -> str:
    """Format a count with the noun *what*, which gets an ``s`` unless the count is 1."""
    return f"{count_text(count)} {what}" if count == 1 else f"{count_text(count)} {what}s"
