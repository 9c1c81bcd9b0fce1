"""Encoded cells, column by column: what each column of the schema puts into every row.

Neighbours whose lengths are the same in all rows go side by side into a run; neighbouring small ones are fused with
shifts.  What is left are pieces for ``joining`` to put together row by row.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from hudiformat.avro.buffers import Bytes, Longs
from hudiformat.avro.varint import U64, Words

WORD_SIZE = 8


@dataclass(frozen=True, slots=True)
class Constant:
    """The same bytes in every row."""

    content: bytes

    @property
    def lengths(self) -> int:
        """That of every row."""
        return len(self.content)


@dataclass(frozen=True, slots=True)
class Word:
    """At most eight bytes a row, as a little-endian number that is zero beyond its length.

    ``lengths`` is a number where it is the same in every row; ``longest`` bounds it.
    """

    values: Words
    lengths: Longs | int
    longest: int


@dataclass(frozen=True, slots=True)
class Fixed:
    """Bytes that lie in a buffer, row after row, the same number for each."""

    data: Bytes
    lengths: int


@dataclass(frozen=True, slots=True)
class Reference:
    """Bytes that lie anywhere in a buffer."""

    data: Bytes
    starts: Longs
    lengths: Longs


@dataclass(frozen=True, slots=True)
class Run:
    """Cells side by side whose lengths are the same in every row."""

    cells: tuple[Constant | Word | Fixed, ...]
    lengths: int


Cell: TypeAlias = Constant | Word | Fixed | Reference
Piece: TypeAlias = Cell | Run


def size(cells: Iterable[Cell], rows: int) -> Longs:
    """How many bytes the cells of each row take together."""
    same, total = 0, np.zeros(rows, np.int64)
    for cell in cells:
        if isinstance(cell.lengths, int):
            same += cell.lengths
        else:
            total += cell.lengths
    total += same
    return total


def fuse(cells: Iterable[Cell]) -> list[Piece]:
    """The same bytes in fewer pieces."""
    pieces: list[Piece] = []
    for cell in cells:
        merged = _merge(pieces[-1], cell) if pieces else None
        if merged is None:
            pieces.append(cell)
        else:
            pieces[-1] = merged
    return pieces


def _merge(left: Piece, right: Cell) -> Piece | None:
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
    if isinstance(piece, Constant) and piece.lengths <= WORD_SIZE:
        return Word(np.array([int.from_bytes(piece.content, "little")], np.uint64), piece.lengths, piece.lengths)
    if not isinstance(piece, Run):
        return piece if isinstance(piece, Word) else None
    if piece.lengths > WORD_SIZE:
        return None
    values, length = np.zeros(1, np.uint64), 0
    for cell in piece.cells:
        if (word := _as_word(cell)) is None:
            return None
        values = values | (word.values << U64(8 * length))
        length += word.longest
    return Word(values, length, length)
