"""Bytes that grow at their end, and the parts that they are cut into."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from hudiformat.avro.arrays import Bytes, Longs, Words, content

_MUCH = 32 << 20
_NO_ROWS = np.zeros(0, np.int64)


class Parts(NamedTuple):
    """In which rows parts begin, in ascending order; ``heads`` are the eight bytes before each part, if there are."""

    firsts: Longs = _NO_ROWS
    heads: Words | None = None

    def within(self, first: int, end: int) -> Parts:
        """Those that begin in the rows from *first* to *end*, which are then counted from *first*."""
        if not len(self.firsts):
            return self
        here = slice(*np.searchsorted(self.firsts, (first, end)))
        return Parts(self.firsts[here] - first, None if self.heads is None else self.heads[here])


def size_of(batch: pa.RecordBatch | pa.Table) -> int:
    """About how many bytes the values have."""
    try:
        return int(batch.nbytes)
    except pa.ArrowTypeError:  # pyarrow before 24 does not know it of views
        return int(batch.get_total_buffer_size())


def _allocated(size: int) -> Bytes:
    """Memory from numpy, and if it is much from Arrow, which keeps what is freed for a while.

    What the C library allocates beyond 32 MB goes back to the system at once, which has to clear the pages that it
    gives out again: a third of the time of encoding long texts.
    """
    return np.empty(size, np.uint8) if size <= _MUCH else np.frombuffer(pa.allocate_buffer(size), np.uint8)


class Output:
    """Bytes that grow at the end; at first there is room for *size*."""

    def __init__(self, size: int = 0, head: bytes = b"") -> None:
        self._room = _allocated(size + len(head))
        self.used = 0
        self.append(content(head))

    def room(self, size: int) -> Bytes:
        """Where the next *size* bytes may be written; add those that are to ``used``."""
        end = self.used + size
        if end > len(self._room):
            room = _allocated(max(end, 2 * self.used))
            room[: self.used] = self._room[: self.used]
            self._room = room
        return self._room[self.used : end]

    def append(self, part: Bytes) -> None:
        """Write *part* at the end."""
        self.room(len(part))[:] = part
        self.used += len(part)

    def written(self) -> memoryview:
        """All bytes."""
        return self._room[: self.used].data.toreadonly()
