"""Collect columns that are decoded in pieces: each piece is copied to its place while it is still in the cache."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.types as pat

from hudiformat.codec.avro.arrays import Bytes, content
from hudiformat.codec.avro.nodes import Fixed, Node, Nullable, Primitive

_OFFSET_SIZE = 4
_SPARE = 1.1  # a text column gets room for this many times the bytes per row that it had so far


class Column(Protocol):
    """A column with a known number of rows.  Pieces have no offset; all but the last have a multiple of eight rows."""

    def add(self, piece: pa.Array) -> None:
        """Append the next piece."""

    def array(self) -> pa.Array:
        """Return the whole column, once all its rows are added."""


def column_of(node: Node, count: int, *, views: bool = False) -> Column:
    """Return an empty column for *count* values of *node*; with *views* texts are views."""
    inner = node.inner if isinstance(node, Nullable) else node
    text = pat.is_string(inner.arrow) or pat.is_binary(inner.arrow)
    if not isinstance(inner, (Primitive, Fixed)) or (text and views):
        return _Pieces()
    return _Texts(inner.arrow, count) if text else _Numbers(inner.arrow, count)


class _Pieces:
    """A column of any type; the pieces are copied into one array at the end."""

    def __init__(self) -> None:
        self._pieces: list[pa.Array] = []

    def add(self, piece: pa.Array) -> None:
        self._pieces.append(piece)

    def array(self) -> pa.Array:
        return pa.concat_arrays(self._pieces)


class _Numbers:
    """A column of values of one width, which may be a single bit."""

    def __init__(self, kind: pa.DataType, count: int) -> None:
        self._kind = kind
        self._count = count
        self._rows = 0
        self._valid: Bytes | None = None
        self._values = _allocate(-(-count * self._width // 8))

    @property
    def _width(self) -> int:
        return int(self._kind.bit_width)

    def add(self, piece: pa.Array) -> None:
        valid, values = piece.buffers()
        self._add_validity(valid, len(piece))
        _copy_into(self._values, self._rows * self._width // 8, values, -(-len(piece) * self._width // 8))
        self._rows += len(piece)

    def array(self) -> pa.Array:
        return self._of(self._values)

    def _add_validity(self, valid: pa.Buffer | None, rows: int) -> None:
        if valid is None:
            return
        if self._valid is None:
            self._valid = _allocate(-(-self._count // 8))
            self._valid[:] = 0xFF
        _copy_into(self._valid, self._rows // 8, valid, -(-rows // 8))

    def _of(self, *parts: Bytes) -> pa.Array:
        valid = None if self._valid is None else pa.py_buffer(self._valid)
        return pa.Array.from_buffers(self._kind, self._count, [valid, *(pa.py_buffer(part) for part in parts)])


class _Texts(_Numbers):
    """A column of strings or bytes, whose numbers are the offsets.

    Pieces ["a", "bcd"] and ["e"] have the offsets [0, 1, 4] and [0, 1].  The second piece adds its offsets to the bytes
    so far: [0, 1, 4] becomes [0, 1, 4, 5].
    """

    def __init__(self, kind: pa.DataType, count: int) -> None:
        super().__init__(kind, count + 1)
        self._count = count
        self._text = _allocate(0)
        self._size = 0

    @property
    def _width(self) -> int:
        return 8 * _OFFSET_SIZE

    def add(self, piece: pa.Array) -> None:
        valid, offsets, text = piece.buffers()
        self._add_validity(valid, len(piece))
        ends = np.frombuffer(offsets, np.int32, len(piece) + 1)
        whole = self._values.view(np.int32)[self._rows : self._rows + len(ends)]
        np.add(ends, self._size, out=whole)
        self._rows += len(piece)
        self._add_text(text, int(ends[-1]))

    def _add_text(self, text: pa.Buffer | None, size: int) -> None:
        end = self._size + size
        if end > len(self._text):
            larger = _allocate(int(_SPARE * end * self._count / self._rows) + 1)
            larger[: self._size] = self._text[: self._size]
            self._text = larger
        _copy_into(self._text, self._size, text, size)
        self._size = end

    def array(self) -> pa.Array:
        return self._of(self._values, self._text[: self._size])


def _allocate(size: int) -> Bytes:
    """Return bytes from Arrow's memory pool, which reuses freed memory; new memory would be mapped page by page."""
    memory: Any = pa.allocate_buffer(size)  # NumPy's types take Arrow's buffers from Python 3.12 on
    return np.frombuffer(memory, np.uint8)


def _copy_into(target: Bytes, at: int, source: pa.Buffer | None, size: int) -> None:
    target[at : at + size] = content(source)[:size]
