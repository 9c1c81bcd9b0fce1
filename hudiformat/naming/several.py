"""One name or several, as arguments give them."""

from __future__ import annotations

from collections.abc import Iterable


def one_or_more(names: str | Iterable[str]) -> list[str]:
    """The names; a text by itself is one name, never its letters."""
    return [names] if isinstance(names, str) else list(names)
