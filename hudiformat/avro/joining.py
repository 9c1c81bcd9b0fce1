"""Putting cells together row by row.

Each row's pieces become Arrow views, 16 bytes each: a length, and the bytes themselves or where they lie.  Arrow's cast
to plain binary copies them one after the other, in C++; no byte is touched by Python code.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudiformat.avro.buffers import Bytes, Longs, Mask
from hudiformat.avro.cells import WORD_SIZE, Cell, Constant, Fixed, Piece, Reference, Run, Word, fuse
from hudiformat.avro.varint import U64
from hudiformat.errors import EncodeError
from hudiformat.wire import INT32_MAX

_VIEW_SIZE = 16
_LENGTH_SIZE = 4
_INLINE = 12  # the longest piece that Arrow keeps in the view itself
_HALF = U64(32)


def join(cells: Iterable[Cell], lengths: Longs) -> tuple[Bytes, Longs]:
    """All rows' bytes, one row after the other, and the offset of each row and of the end.

    *lengths* is how many bytes the cells of each row take together.

    Raises:
        EncodeError: the bytes of one column lie more than 2 GiB apart.
    """
    rows = len(lengths)
    ends = np.zeros(rows + 1, np.int64)
    np.cumsum(lengths, out=ends[1:])
    total = int(ends[-1])
    if not total:
        return np.zeros(0, np.uint8), ends
    pieces = fuse(cells)
    if len(pieces) == 1 and isinstance(pieces[0], Run):
        return _table(pieces[0], rows), ends
    views = _Views(rows, len(pieces))
    for index, piece in enumerate(pieces):
        views.fill(index, piece)
    joined = views.array().cast(pa.binary() if total <= INT32_MAX else pa.large_binary())
    return np.frombuffer(joined.buffers()[2], np.uint8, total), ends


class _Views:
    """A table of views, a row of them for each row."""

    def __init__(self, rows: int, count: int) -> None:
        self._rows = rows
        self._count = count
        self._table = np.empty((rows, count, 2), np.uint64)
        self._buffers: list[pa.Buffer] = []

    def array(self) -> pa.Array:
        """All views in order."""
        buffers = [None, pa.py_buffer(self._table), *self._buffers]
        return pa.Array.from_buffers(pa.binary_view(), self._rows * self._count, buffers)

    def fill(self, index: int, piece: Piece) -> None:
        """Let the views of one column be those of *piece*."""
        if isinstance(piece, Constant):
            self._constant(index, piece.content)
        elif isinstance(piece, Word):
            low, high = self._table[:, index, 0], self._table[:, index, 1]
            np.bitwise_or(piece.values << _HALF, np.asarray(piece.lengths).view(np.uint64), out=low)
            np.right_shift(piece.values, _HALF, out=high)
        elif isinstance(piece, Reference):
            self._reference(index, piece)
        else:
            self._fixed(index, piece.data if isinstance(piece, Fixed) else _table(piece, self._rows), piece.lengths)

    def _part(self, index: int, at: int, kind: str) -> npt.NDArray[Any]:
        """A part of the views of one column, *at* bytes behind their start."""
        step = self._count * _VIEW_SIZE
        part: npt.NDArray[Any] = np.ndarray(self._rows, kind, self._table, index * _VIEW_SIZE + at, (step,))
        return part

    def _constant(self, index: int, content: bytes) -> None:
        if len(content) > _INLINE:
            self._table[:, index] = (len(content), len(self._buffers))
            self._buffers.append(pa.py_buffer(content))
        else:
            view = len(content).to_bytes(_LENGTH_SIZE, "little") + content.ljust(_INLINE)
            self._table[:, index] = np.frombuffer(view, np.uint64)

    def _fixed(self, index: int, data: Bytes, width: int) -> None:
        if width <= _INLINE:
            self._table[:, index, 0] = width
            self._part(index, _LENGTH_SIZE, f"V{width}")[:] = data.view(f"V{width}")
        else:
            starts = np.arange(0, self._rows * width, width)
            self._elsewhere(index, data, starts, np.asarray(width), np.asarray(True))

    def _reference(self, index: int, piece: Reference) -> None:
        """Only the bytes between the first and the last one that is used are looked at."""
        low, high = int(piece.starts.min()), int((piece.starts + piece.lengths).max())
        starts, data = piece.starts - low, piece.data[low:]
        short = piece.lengths <= _INLINE
        if short.any():
            if len(data) < high - low + _INLINE:  # what is read inline may lie behind the last byte
                data = np.concatenate([data[: high - low], np.zeros(_INLINE, np.uint8)])
            every: npt.NDArray[Any] = np.ndarray(len(data) - _INLINE + 1, f"V{_INLINE}", data, strides=(1,))
            self._part(index, _LENGTH_SIZE, f"V{_INLINE}")[:] = every[starts]
        if short.all():
            self._part(index, 0, "<u4")[:] = piece.lengths
        else:
            self._elsewhere(index, data[: high - low], starts, piece.lengths, ~short)

    def _elsewhere(self, index: int, data: Bytes, starts: Longs, lengths: Longs, where: Mask) -> None:
        """Let views point at *data*."""
        if len(data) > INT32_MAX:
            raise EncodeError(f"{len(data)} bytes of one column in few rows: Hudi's lengths are 32-bit")
        places = (starts << 32) | len(self._buffers)
        self._part(index, 0, "<u4")[:] = lengths
        np.copyto(self._table[:, index, 1], places.view(np.uint64), where=where)
        self._buffers.append(pa.py_buffer(data))


def _table(run: Run, rows: int) -> Bytes:
    """The bytes of a run, row after row."""
    width = run.lengths
    table = np.empty(rows * width, np.uint8)
    pattern = b"".join(cell.content if isinstance(cell, Constant) else bytes(_length(cell)) for cell in run.cells)
    table.view(f"V{width}")[:] = np.frombuffer(pattern, f"V{width}")
    at = 0
    for cell in run.cells:
        length = _length(cell)
        if not isinstance(cell, Constant):
            column: npt.NDArray[Any] = np.ndarray(rows, f"V{length}", table, at, (width,))
            data, step = (cell.values, WORD_SIZE) if isinstance(cell, Word) else (cell.data, length)
            column[:] = np.ndarray(rows, f"V{length}", data, 0, (step,))
        at += length
    return table


def _length(cell: Constant | Word | Fixed) -> int:
    return int(cell.lengths)
