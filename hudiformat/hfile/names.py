"""Names of meta blocks and file info, and the order in which Java keeps them."""

from __future__ import annotations

from collections.abc import Iterable

from hudiformat.errors import EncodeError


def text_bytes(text: str) -> bytes:
    """The UTF-8 of *text*, and for what :func:`name_of` read the bytes it was read from.

    Raises:
        EncodeError: it has none, for a lone surrogate is in it.
    """
    try:
        return text.encode(errors="surrogateescape")
    except UnicodeEncodeError as error:
        raise EncodeError(f"no UTF-8 for {text!r}: {error.reason}") from None


def name_of(data: bytes) -> str:
    """The text of *data*; bytes that are no UTF-8 become surrogates."""
    return data.decode(errors="surrogateescape")


def hash_order(names: Iterable[str]) -> list[str]:
    """*names* in the order in which Java's HashMap gives them back if they are put into it in their own order.

    The order on disk means nothing; with this one the bytes are those that Java writes.
    """
    keys = list(names)
    buckets = 16
    while len(keys) > buckets * 3 // 4:
        buckets *= 2
    return sorted(keys, key=lambda name: _spread(_string_hash(name)) % buckets)


def _string_hash(text: str) -> int:
    """``String.hashCode()``, unsigned: over the UTF-16 units."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for place in range(0, len(units), 2):
        value = (31 * value + int.from_bytes(units[place : place + 2], "big")) & 0xFFFFFFFF
    return value


def _spread(value: int) -> int:
    return value ^ (value >> 16)
