"""Reading many records at once: a position per record, and what is read at all of them.

Every step checks that no position leaves its record before anything is made of what was read.  Memory is bounded by
the bytes there: a length or a count is compared with them first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hudiformat.avro import varint
from hudiformat.avro.buffers import Bytes, Longs, Mask
from hudiformat.avro.varint import U64, Words
from hudiformat.errors import CorruptBlockError
from hudiformat.wire import INT32_MAX

PADDING = 16  # a word may be read at any position up to the end, and the word after it

_HIGH_BIT = U64(0x80)
_SEVEN = U64(0x7F)


class Cursors:
    """Positions in ``data``, each with the end of its record; ``data`` has :data:`PADDING` bytes after the last end.

    ``present`` marks the positions at which there is a value; None stands for all.  At the others nothing is read.
    """

    __slots__ = ("base", "data", "end", "pos", "words")

    def __init__(self, data: Bytes, words: Words, pos: Longs, end: Longs, base: int) -> None:
        self.data = data
        self.words = words
        self.pos = pos
        self.end = end
        self.base = base

    @classmethod
    def over(cls, data: Bytes, pos: Longs, end: Longs, base: int = 0) -> Cursors:
        """Cursors over padded bytes; *base* is what the first byte counts as in error messages."""
        # one number per byte, overlapping: a gather at any position, aligned or not
        words: Words = np.ndarray((len(data) - 7,), "<u8", data, strides=(1,))
        return cls(data, words, pos, end, base)

    def __len__(self) -> int:
        return len(self.pos)

    def at(self, pos: Longs, end: Longs) -> Cursors:
        """Cursors at other positions of the same bytes."""
        return Cursors(self.data, self.words, pos, end, self.base)

    def refuse(self, bad: Mask, present: Mask | None, what: str) -> None:
        """Raise for the first bad position at which there is a value."""
        if present is not None:
            bad = bad & present
        if bad.any():
            raise CorruptBlockError(what, offset=self.base + int(self.pos[bad.argmax()]))

    def advance(self, sizes: Longs | int, present: Mask | None) -> None:
        """Move on, but not past the end of a record."""
        after = self.pos + (sizes if present is None else sizes * present)
        if (bad := after > self.end).any():
            self.refuse(bad, None, "a value runs past the end of its record")
        self.pos = after

    def byte(self, present: Mask | None) -> Bytes:
        """The next byte of each record."""
        value = self.data[self.pos]
        self.advance(1, present)
        return value

    def varint(self, present: Mask | None) -> Longs:
        """The next variable-length integer of each record; 0 where there is none."""
        words = self.words[self.pos]
        if not (words & _HIGH_BIT).any():
            values = words & _SEVEN
            self._absent(values, present)
            self.advance(1, present)
            return varint.unzigzag(values)
        values, sizes = varint.decode(words)
        long = sizes == 0
        if present is not None:
            long &= present
        if long.any():
            self._long_varints(words, long, values, sizes)
        self._absent(values, present)
        self.advance(sizes.view(np.int64), present)
        return varint.unzigzag(values)

    def _long_varints(self, words: Words, long: Mask, values: Words, sizes: Words) -> None:
        """Nine and ten bytes: the word read so far is full, one or two bytes follow."""
        after = self.words[self.pos[long] + 8]
        ninth, tenth = after & U64(0xFF), (after >> U64(8)) & U64(0xFF)
        two = ninth >= _HIGH_BIT
        bad = np.zeros(len(long), np.bool_)
        bad[long] = two & (tenth > 1)
        self.refuse(bad, None, "an integer of over 64 bits")
        values[long] = varint.groups(words[long]) | ((ninth & _SEVEN) << U64(56)) | (two * tenth << U64(63))
        sizes[long] = U64(9) + two

    @staticmethod
    def _absent(values: Words, present: Mask | None) -> None:
        if present is not None:
            values *= present

    def int32(self, present: Mask | None) -> Longs:
        """Like :meth:`varint`, refusing what does not fit into 32 bits."""
        start = self.pos
        values = self.varint(present)
        bad = (values > INT32_MAX) | (values < -INT32_MAX - 1)
        if bad.any():
            self.pos = start
            self.refuse(bad, present, "an int of over 32 bits")
        return values

    def span(self, present: Mask | None) -> tuple[Longs, Longs]:
        """Where the next string or bytes of each record begin and end; nothing where there is none."""
        lengths = self.varint(present)
        bad = (lengths < 0) | (lengths > self.end - self.pos)
        if bad.any():
            self.refuse(bad, present, "a string is longer than the rest of its record, or of negative length")
        starts = self.pos
        self.pos = starts + lengths
        return starts, self.pos

    def gather(self, dtype: npt.DTypeLike, present: Mask | None) -> npt.NDArray[Any]:
        """The next value of a fixed width of each record; zero bytes where there is none."""
        kind = np.dtype(dtype)
        start = self.pos
        self.advance(kind.itemsize, present)
        if present is None or present.all():
            return self._take(kind, start)
        values = np.zeros(len(self), kind)
        values[present] = self._take(kind, start[present])
        return values

    def _take(self, kind: np.dtype[Any], start: Longs) -> npt.NDArray[Any]:
        count = max(len(self.data) - kind.itemsize + 1, 0)
        values: npt.NDArray[Any] = np.ndarray((count,), kind, self.data, strides=(1,))[start]
        return values
