"""Names of meta blocks and file info, and the order in which Java keeps them."""

from __future__ import annotations

from collections.abc import Iterable

from hudiformat.errors import EncodeError


def text_bytes(text: str) -> bytes:
    """Return the UTF-8 of *text*; for a result of :func:`name_of`, the bytes that it was read from.

    Raises:
        EncodeError: *text* has no UTF-8, because it contains a lone surrogate.
    """
    try:
        return text.encode(errors="surrogateescape")
    except UnicodeEncodeError as error:
        raise EncodeError(f"no UTF-8 for {text!r}: {error.reason}") from None


def name_of(data: bytes) -> str:
    """Return the text of *data*; bytes that are no UTF-8 become surrogates."""
    return data.decode(errors="surrogateescape")


def hash_order(names: Iterable[str]) -> list[str]:
    """Return *names* in the order in which Java's HashMap iterates over them after they were inserted in this order.

    The order on disk has no meaning; with this order the bytes equal those that Java writes.
    """
    keys = list(names)
    buckets = 16
    while len(keys) > buckets * 3 // 4:
        buckets *= 2
    return sorted(keys, key=lambda name: _spread(_string_hash(name)) % buckets)


def _string_hash(text: str) -> int:
    """Return ``String.hashCode()`` over the UTF-16 units, as an unsigned number."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for start in range(0, len(units), 2):
        value = (31 * value + int.from_bytes(units[start : start + 2], "big")) & 0xFFFFFFFF
    return value


def _spread(value: int) -> int:
    return value ^ (value >> 16)
