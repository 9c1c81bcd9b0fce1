"""How much memory decoded values may take, in proportion to the bytes that they come from.

A record of one byte is a dict of 200 bytes once it is decoded, and forged files have millions of them.  fastavro knows
no limit, but it hands values of a logical type to a function of ours: :func:`counted` gives a type one that counts.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from fastavro import read

_COUNTED = "counted"
_PLAIN = ("null", "boolean", "int", "long", "float", "double", "bytes", "string", "enum", "fixed")
_TYPES = (*_PLAIN, "array", "map", "record", "error")
_PLACE, _FIELD = 64, 8  # bytes: of a value in a list or a dict, its key included; of the value of a field
_SLACK, _TIMES = 96 << 20, 9  # Hudi's own commit metadata takes some seven times its bytes


class TooMuchMemoryError(Exception):
    """The values take more memory than they may; for this package alone."""


class _Left(threading.local):
    """The bytes that the values which a thread decodes may still take."""

    bytes: float = float("inf")


_left = _Left()


@contextmanager
def limited_memory(size: int) -> Iterator[None]:
    """Within it, values that are decoded may take nine times *size* bytes, and 96 MiB more.

    Raises:
        TooMuchMemoryError: they take more; before they do.
    """
    before = _left.bytes
    _left.bytes = _SLACK + _TIMES * size
    try:
        yield
    finally:
        _left.bytes = before


def counted(definition: Any) -> Any:
    """The type *definition* of a schema, its values counted; a union's are those of its branches.

    A reference to a named type stays: the named type is counted where it is defined.
    """
    if isinstance(definition, list):
        return [counted(branch) for branch in definition]
    if isinstance(definition, str):
        return {"type": definition, "logicalType": _COUNTED} if definition in _PLAIN else definition
    logical = definition.get("logicalType")
    if logical is None:
        return {**definition, "logicalType": _COUNTED}
    return {**definition, "logicalType": _counted_name(logical)}


def _counted_name(logical: str) -> str:
    return logical if logical.startswith(_COUNTED) else f"{_COUNTED}-{logical}"


def _count(value: Any, _schema: Any, _wanted: Any) -> Any:
    """*value*; its bytes are taken from what is left."""
    fields = len(value) * _FIELD if isinstance(value, dict) else 0
    _left.bytes -= sys.getsizeof(value) + _PLACE + fields
    if _left.bytes < 0:
        raise TooMuchMemoryError(f"values that take over {_TIMES} times the bytes that they come from")
    return value


def _counting(reader: Callable[..., Any]) -> Callable[..., Any]:
    def read_counted(value: Any, schema: Any, wanted: Any) -> Any:
        return _count(reader(value, schema, wanted), schema, wanted)

    return read_counted


def _register() -> None:
    """Tell fastavro of the logical types of this module."""
    known = dict(read.LOGICAL_READERS)
    for name, reader in known.items():
        kind, _, logical = name.partition("-")
        read.LOGICAL_READERS[f"{kind}-{_counted_name(logical)}"] = _counting(reader)
    for kind in _TYPES:
        read.LOGICAL_READERS[f"{kind}-{_COUNTED}"] = _count


_register()
