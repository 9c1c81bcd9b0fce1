"""Encoded cells, column by column, and putting them together row by row.

Every column gives one or more cells per row.  Neighbouring small cells are fused with shifts; what is left are pieces
of memory, which Arrow's ``take`` copies in C++ into rows.  No byte is touched by Python code.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.avro.buffers import Bytes, Longs
from hudiformat.avro.varint import U64, Words
from hudiformat.wire import INT32_MAX

LIMB_SIZE = 8
_MAX_LIMBS = 3  # more cost as much to fuse as to copy one by one
_CACHED = 1 << 20
_BOTH = U64((1 << 32) + 1)  # times this, a number stands in both halves
_HALF = U64(32)


@dataclass(frozen=True, slots=True)
class Word:
    """A few bytes a row: little-endian numbers of eight bytes each, the first ones first.

    They are zero beyond the length, which fusing relies on.  ``lengths`` has no dimension where it is the same in every
    row; ``shortest`` and ``longest`` bound it.
    """

    limbs: tuple[Words, ...]
    lengths: Words
    shortest: int
    longest: int


@dataclass(frozen=True, slots=True)
class Reference:
    """Bytes that lie in a buffer already."""

    data: Bytes
    starts: Longs
    lengths: Longs


@dataclass(frozen=True, slots=True)
class Constant:
    """The same bytes in every row."""

    content: bytes


Cell: TypeAlias = Word | Reference | Constant


def word(values: Words, lengths: Words, longest: int) -> Word:
    """A cell of at most eight bytes."""
    return Word((values,), lengths, 0 if lengths.ndim else longest, longest)


def size(cells: Iterable[Cell], rows: int) -> Longs:
    """How many bytes the cells of each row take together."""
    same = sum(len(cell.content) for cell in cells if isinstance(cell, Constant))
    total = np.full(rows, same, np.int64)
    for cell in cells:
        if not isinstance(cell, Constant):
            total += cell.lengths.view(np.int64)
    return total


def fuse(cells: Iterable[Cell]) -> list[Cell]:
    """The same bytes in fewer cells."""
    result: list[Cell] = []
    for cell in cells:
        merged = _merge(result[-1], cell) if result else None
        if merged is None:
            result.append(cell)
        else:
            result[-1] = merged
    return result


def _merge(left: Cell, right: Cell) -> Cell | None:
    if isinstance(left, Constant) and isinstance(right, Constant):
        return Constant(left.content + right.content)
    first, second = _as_word(left), _as_word(right)
    if first is None or second is None:
        return None
    shortest, longest = first.shortest + second.shortest, first.longest + second.longest
    count = -(-longest // LIMB_SIZE)
    if count > _MAX_LIMBS:
        return None
    limbs: list[Words | None] = [*first.limbs, *[None] * (count - len(first.limbs))]
    for index, limb in enumerate(second.limbs):
        _add_limb(limbs, limb, first, index * LIMB_SIZE)
    lengths: Words = first.lengths + second.lengths
    return Word(tuple(limb for limb in limbs if limb is not None), lengths, shortest, longest)


def _add_limb(limbs: list[Words | None], limb: Words, before: Word, offset: int) -> None:
    """Put a limb behind what comes before it, which may end in other limbs in other rows."""
    first = (before.shortest + offset) // LIMB_SIZE
    last = (before.longest + offset + LIMB_SIZE - 1) // LIMB_SIZE
    for index in range(first, min(last + 1, len(limbs))):
        # Numbers wrap around, and a shift by 64 or more gives 0: of the two shifts, one applies.
        # (Arrays, not scalars: those warn.)
        shift = np.atleast_1d(before.lengths) * U64(8) + U64(8 * (offset - index * LIMB_SIZE) % (1 << 64))
        part = (limb << shift) | (limb >> (U64(0) - shift))
        old = limbs[index]
        limbs[index] = part if old is None else old | part


def _as_word(cell: Cell) -> Word | None:
    if not isinstance(cell, Constant):
        return cell if isinstance(cell, Word) else None
    length = len(cell.content)
    if length > LIMB_SIZE:
        return None
    value = np.asarray(int.from_bytes(cell.content, "little"), np.uint64)
    return word(value, np.asarray(length, np.uint64), length)


def join(cells: Sequence[Cell], rows: int) -> tuple[Bytes, Longs]:
    """All rows' bytes, one row after the other, and the offset of each row and of the end."""
    pieces = fuse(cells)
    if not pieces or not rows:
        return np.zeros(0, np.uint8), np.zeros(rows + 1, np.int64)
    memory = [_memory(piece, rows) for piece in pieces]
    data = np.concatenate([part for part, _, _ in memory])
    # take counts the result's bytes in the offsets' type: 2 GiB need the long form.
    wide = max(len(data), int(size(pieces, rows).sum())) > INT32_MAX
    offsets = _offsets(memory, rows, wide=wide)
    offsets[-1] = len(data)  # take reserves memory by the distance of the last offset from the first
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    array = pa.Array.from_buffers(pa.large_binary() if wide else pa.binary(), len(offsets) - 1, buffers)
    order = _cached_order if len(offsets) < _CACHED else _order
    taken = pc.take(array, order(rows, len(pieces)), boundscheck=False)
    _, ends, content = taken.buffers()
    starts = np.frombuffer(ends, offsets.dtype, len(taken) + 1)[:: len(pieces)].astype(np.int64)
    return np.frombuffer(content, np.uint8, int(starts[-1])), starts


_Memory: TypeAlias = tuple[Bytes, Words, Words]


def _memory(piece: Cell, rows: int) -> _Memory:
    """Bytes that hold a piece of every row, and where each row's begins and how long it is."""
    if isinstance(piece, Constant):
        length = np.asarray(len(piece.content), np.uint64)
        return np.frombuffer(piece.content, np.uint8), np.zeros((), np.uint64), length
    if isinstance(piece, Reference):
        low, high = int(piece.starts.min()), int((piece.starts + piece.lengths).max())
        return piece.data[low:high], (piece.starts - low).view(np.uint64), piece.lengths.view(np.uint64)
    width = LIMB_SIZE * len(piece.limbs)
    block = np.empty((rows, len(piece.limbs)), np.uint64)
    for index, limb in enumerate(piece.limbs):
        block[:, index] = limb
    starts = np.arange(0, rows * width, width, dtype=np.uint64)
    return block.view(np.uint8).ravel(), starts, piece.lengths


def _offsets(memory: Sequence[_Memory], rows: int, *, wide: bool) -> npt.NDArray[np.signedinteger[Any]]:
    """Start and end of each piece of each row by column, and room for one more."""
    offsets = np.empty(2 * rows * len(memory) + 1, np.int64 if wide else np.int32)
    spans = offsets[:-1].reshape(len(memory), rows, 2)
    base = 0
    for span, (part, starts, lengths) in zip(spans, memory, strict=True):
        begins = starts + U64(base)
        if wide:
            span[:, 0] = begins
            span[:, 1] = begins + lengths
        else:  # both halves at once
            span.view(np.uint64)[:, 0] = begins * _BOTH + (lengths << _HALF)
        base += len(part)
    return offsets


def _order(rows: int, pieces: int) -> pa.Array:
    """Indices that turn pieces by column into pieces by row; every second element is what lies between two pieces."""
    kind = np.int32 if 2 * rows * pieces <= INT32_MAX else np.int64
    return pa.array((2 * np.arange(rows * pieces, dtype=kind)).reshape(pieces, rows).T.ravel())


_cached_order = lru_cache(maxsize=8)(_order)
