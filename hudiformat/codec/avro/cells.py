"""Encode columns as cells, and join the cells row by row.

A cell holds the bytes that one field of the schema has in every row: a :class:`Constant`, a :class:`Word`, a
:class:`FixedCell` or a :class:`Reference`.  Two rows of a nullable string and an int, ("a", 1) and ("bcd", 300), are

    branch   Constant(02)
    length   Word([0x02, 0x06], lengths=1)              1 and 3, zigzag-encoded
    text     Word([0x61, 0x646362], lengths=[1, 3])
    int      Word([0x02, 0x04d8], lengths=[1, 2])       1 and 300, zigzag-encoded varints

:func:`join` first puts them together to fewer pieces: neighbours whose lengths are equal in all rows become a
:class:`Run`, and neighbours of at most eight bytes together become one word.  Here the four cells become

             Word([0x02610202, 0x04d86463620602], lengths=[4, 7])

Then each row's pieces become Arrow views, 16 bytes each: a length, and the bytes themselves or where they lie.  Arrow's
cast to plain binary copies them one after the other, in C++.  No loop in Python touches a byte.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudiformat.codec.avro.arrays import U64, Bytes, Longs, Mask, Words, encode_varints, zigzag
from hudiformat.errors import EncodeError
from hudiformat.wire import INT32_MAX

WORD_SIZE = 8


@dataclass(frozen=True, slots=True)
class Constant:
    """The same bytes in every row."""

    content: bytes

    @property
    def lengths(self) -> int:
        """The length in every row."""
        return len(self.content)


@dataclass(frozen=True, slots=True)
class Word:
    """At most eight bytes per row, as a little-endian number whose bytes beyond the length are zero.

    ``lengths`` is one number if it is the same in every row; no length is above ``longest``.
    """

    values: Words
    lengths: Longs | int
    longest: int


@dataclass(frozen=True, slots=True)
class FixedCell:
    """The same number of bytes per row, which lie in a buffer row after row."""

    data: Bytes
    lengths: int


@dataclass(frozen=True, slots=True)
class Reference:
    """Bytes anywhere in a buffer: ``lengths[row]`` bytes from ``starts[row]`` on."""

    data: Bytes
    starts: Longs
    lengths: Longs


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring cells whose lengths are the same in every row."""

    cells: tuple[Constant | Word | FixedCell, ...]
    lengths: int


Cell: TypeAlias = Constant | Word | FixedCell | Reference
Piece: TypeAlias = Cell | Run


def integers(values: Longs, present: Mask | None) -> list[Cell]:
    """Return the cells of variable-length integers."""
    unsigned = zigzag(values)
    if present is None:
        return [Word(*part) for part in encode_varints(unsigned)]
    unsigned *= present
    return [Word(words, lengths * present, longest) for words, lengths, longest in encode_varints(unsigned)]


def fixed_word(values: Words, length: int, present: Mask | None) -> Word:
    """Return a word that has the same length in every row with a value."""
    if present is None:
        return Word(values, length, length)
    return Word(values * present, present * np.int64(length), length)


def constant_byte(value: int, present: Mask | None) -> Cell:
    """Return the cell of a byte that is the same in every row with a value."""
    if present is None:
        return Constant(bytes([value]))
    return Word(present * U64(value), present.astype(np.int64), 1)


def length_prefix(lengths: Longs) -> Word:
    """Return the cell of the length in front of each record.

    Raises:
        EncodeError: a record of 2 GiB or more.
    """
    return fixed_word(_big_endian_lengths(lengths).astype(np.uint64), _LENGTH_SIZE, None)


def head_and_length(lengths: Longs, firsts: Longs, heads: Words) -> Reference:
    """Return the cell of the length in front of each record, and before the length a head in the rows *firsts*.

    For the lengths 1, 2 and 3, and heads of the rows 0 and 2, the bytes are

        head 0     00 00 00 01     all twelve of them in row 0
        ........   00 00 00 02     the last four in row 1
        head 2     00 00 00 03     all twelve in row 2

    Raises:
        EncodeError: a record of 2 GiB or more.
    """
    table = np.empty(len(lengths), [("head", np.uint64), ("length", np.uint32)])
    table["head"][firsts] = heads
    table["length"] = _big_endian_lengths(lengths)
    sizes = np.full(len(lengths), _LENGTH_SIZE, np.int64)
    sizes[firsts] = table.itemsize
    ends = np.arange(1, len(lengths) + 1, dtype=np.int64) * table.itemsize
    return Reference(table.view(np.uint8), ends - sizes, sizes)


def _big_endian_lengths(lengths: Longs) -> npt.NDArray[np.uint32]:
    if int(lengths.max(initial=0)) > INT32_MAX:
        raise EncodeError(
            f"a record of {lengths.max()} bytes: expected less than 2 GiB, because Hudi's lengths are 32-bit"
        )
    swapped: npt.NDArray[np.uint32] = lengths.astype(np.uint32).byteswap()
    return swapped


def equal_texts(data: Bytes, length: int) -> list[Cell]:
    """Return the cells of strings that all have one length; often, as in Hudi's own columns, they are equal too."""
    [(words, size, _)] = encode_varints(zigzag(np.array([length])))
    prefix = words.tobytes()[:size]
    # All strings are the same if the first equals the last, and each byte the byte one length before it.
    if (data[:length] == data[len(data) - length :]).all() and (data[length:] == data[: len(data) - length]).all():
        return [Constant(prefix + data[:length].tobytes())]
    return [Constant(prefix), FixedCell(data, length)]


def text_words(data: Bytes, starts: Longs, lengths: Longs) -> Words:
    """Return strings of at most eight bytes as numbers.

    For the strings "a" and "bcd" in the bytes "abcd....":

        gathered   [0x....64636261, 0x....646362]      eight bytes from each start
        used       [0xff, 0xffffff]                    2 ** (8 * length) - 1
        words      [0x61, 0x646362]
    """
    if len(data) < int(starts[-1]) + WORD_SIZE:
        first = int(starts[0])
        data, starts = np.concatenate([data[first:], np.zeros(WORD_SIZE, np.uint8)]), starts - first
    every = np.ndarray(len(data) - WORD_SIZE + 1, f"V{WORD_SIZE}", data, strides=(1,))
    # For the length 8, numpy shifts by 64 to 0, and 0 - 1 is all ones.
    used = (U64(1) << (lengths << 3).view(np.uint64)) - U64(1)
    words: Words = every[starts].view(np.uint64) & used
    return words


def row_sizes(cells: Iterable[Cell], rows: int) -> Longs:
    """Return how many bytes the cells of each row have together."""
    same, total = 0, np.zeros(rows, np.int64)
    for cell in cells:
        if isinstance(cell.lengths, int):
            same += cell.lengths
        else:
            total += cell.lengths
    total += same
    return total


def join(cells: Iterable[Cell], lengths: Longs) -> tuple[Bytes, Longs]:
    """Join the bytes of all rows, one row after the other; return them with the offset of each row, and the end.

    *lengths* is the :func:`row_sizes` of the cells.

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


def fuse(cells: Iterable[Cell]) -> list[Piece]:
    """Return pieces with the same bytes as *cells*, in fewer pieces."""
    pieces: list[Piece] = []
    for cell in cells:
        merged = _merge(pieces[-1], cell) if pieces else None
        if merged is None:
            pieces.append(cell)
        else:
            pieces[-1] = merged
    return pieces


def _merge(left: Piece, right: Cell) -> Piece | None:
    """Return both cells as one piece; None if that is not possible.

    Two words become one by a shift: [0x02] and [0x61] of the lengths [1] and [1] become [0x02 | 0x61 << 8].
    """
    if isinstance(left, Constant) and isinstance(right, Constant):
        return Constant(left.content + right.content)
    if isinstance(left, Reference) or isinstance(right, Reference):
        return None
    if isinstance(left.lengths, int) and isinstance(right.lengths, int):
        return Run((*(left.cells if isinstance(left, Run) else (left,)), right), left.lengths + right.lengths)
    first, second = _as_word(left), _as_word(right)
    if first is None or second is None or first.longest + second.longest > WORD_SIZE:
        return None
    shift = np.asarray(first.lengths).astype(np.uint64) << U64(3)
    values: Words = first.values | (second.values << shift)
    return Word(values, first.lengths + second.lengths, first.longest + second.longest)


def _as_word(piece: Piece) -> Word | None:
    """Return a piece of at most eight bytes as a word; None if it is longer, or its bytes lie in a buffer."""
    if isinstance(piece, Word):
        return piece
    cells = piece.cells if isinstance(piece, Run) else (piece,)
    values, length = np.zeros(1, np.uint64), 0
    for cell in cells:  # of a run; in every row they have the same length
        if isinstance(cell, Constant):
            value, size = np.array([int.from_bytes(cell.content[:WORD_SIZE], "little")], np.uint64), len(cell.content)
        elif isinstance(cell, Word):
            value, size = cell.values, cell.longest
        else:
            return None
        if length + size > WORD_SIZE:
            return None
        values = values | (value << U64(8 * length))
        length += size
    return Word(values, length, length)


_VIEW_SIZE = 16
_LENGTH_SIZE = 4
_INLINE = 12  # the longest piece that Arrow keeps in the view itself
_HALF = U64(32)


class _Views:
    """A table of Arrow views: a row per row of the batch, a column per piece.

    A view is a length (int32) and either at most twelve bytes, or four bytes that the cast ignores, the number of a
    buffer (int32) and an offset in it (int32).  As two 64-bit numbers, the low and the high half of the view:

        "ab", inline                            [2 | 0x6261 << 32,    0]
        20 bytes from 8 on of the buffer 1      [20 | ... << 32,      1 | 8 << 32]
    """

    def __init__(self, rows: int, count: int) -> None:
        self._rows = rows
        self._count = count
        self._table = np.empty((rows, count, 2), np.uint64)
        self._buffers: list[pa.Buffer] = []

    def array(self) -> pa.Array:
        """Return all views, row by row."""
        buffers = [None, pa.py_buffer(self._table), *self._buffers]
        return pa.Array.from_buffers(pa.binary_view(), self._rows * self._count, buffers)

    def fill(self, index: int, piece: Piece) -> None:
        """Make *piece* the column *index* of the table."""
        if isinstance(piece, Constant):
            self._constant(index, piece.content)
        elif isinstance(piece, Word):
            low, high = self._table[:, index, 0], self._table[:, index, 1]
            np.bitwise_or(piece.values << _HALF, np.asarray(piece.lengths).view(np.uint64), out=low)
            np.right_shift(piece.values, _HALF, out=high)
        elif isinstance(piece, Reference):
            self._reference(index, piece)
        else:
            self._fixed(index, piece.data if isinstance(piece, FixedCell) else _table(piece, self._rows), piece.lengths)

    def _part(self, index: int, at: int, kind: str) -> npt.NDArray[Any]:
        """Return a part of each view of one column: a value of *kind*, *at* bytes behind the start of the view."""
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
            self._point_to(data, starts, np.asarray(width), np.asarray(True), index)

    def _reference(self, index: int, piece: Reference) -> None:
        """Fill the column *index*; the buffer is cut to the bytes from the first to the last one that is used."""
        low, high = int(piece.starts.min()), int((piece.starts + piece.lengths).max())
        starts, data = piece.starts - low, piece.data[low:]
        short = piece.lengths <= _INLINE
        if short.any():
            if len(data) < high - low + _INLINE:  # twelve bytes are copied, also from the last start on
                data = np.concatenate([data[: high - low], np.zeros(_INLINE, np.uint8)])
            every: npt.NDArray[Any] = np.ndarray(len(data) - _INLINE + 1, f"V{_INLINE}", data, strides=(1,))
            self._part(index, _LENGTH_SIZE, f"V{_INLINE}")[:] = every[starts]
        if short.all():
            self._part(index, 0, "<u4")[:] = piece.lengths
        else:
            self._point_to(data[: high - low], starts, piece.lengths, ~short, index)

    def _point_to(self, data: Bytes, starts: Longs, lengths: Longs, where: Mask, index: int) -> None:
        """Let the views of the column *index* refer to *data* in the rows *where*; lengths are set in all rows.

        Raises:
            EncodeError: *data* has more than 2 GiB.
        """
        if len(data) > INT32_MAX:
            raise EncodeError(
                f"{len(data)} bytes of one column in few rows: expected less than 2 GiB; write fewer rows"
            )
        high = (starts << 32) | len(self._buffers)
        self._part(index, 0, "<u4")[:] = lengths
        np.copyto(self._table[:, index, 1], high.view(np.uint64), where=where)
        self._buffers.append(pa.py_buffer(data))


def _table(run: Run, rows: int) -> Bytes:
    """Return the bytes of a run, row after row.

    Two rows of Constant(02) and the word [0x0a, 0x0b] of length 1: the pattern 02 00 is repeated to 02 00 02 00, then
    the word's column of this table is filled: 02 0a 02 0b.
    """
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


def _length(cell: Constant | Word | FixedCell) -> int:
    return int(cell.lengths)
