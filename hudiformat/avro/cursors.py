"""Reading many records at once: a position per record, and what is read at all of them.

Records mostly begin alike: the same branches, keys of one length.  As long as they do, one number tells how far all
have moved, and what is read comes from a strip: the next bytes of each record, gathered side by side.  A gather costs
as much as five reads of a strip, whatever its width.

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

_STRIP = 64
_STRIPS = np.dtype(f"V{_STRIP}")
PADDING = _STRIP + 8  # a strip may be read at any position up to the end, and a word eight bytes after it

_HIGH_BIT = U64(0x80)
_SEVEN = U64(0x7F)


class Cursors:
    """Positions in bytes that have :data:`PADDING` bytes after the last end, each with the end of its record.

    ``present`` marks the positions at which there is a value; None stands for all.  At the others nothing is read.
    ``base`` is what the first byte counts as in error messages.
    """

    __slots__ = ("_pos", "_room", "_shift", "_strip", "_strip_at", "base", "data", "end")

    def __init__(self, data: Bytes, pos: Longs, end: Longs, base: int = 0) -> None:
        self.data = data
        self.end = end
        self.base = base
        self._strip: npt.NDArray[Any] | None = None
        self._strip_at = 0
        self._place(pos, int((end - pos).min(initial=INT32_MAX)))

    def __len__(self) -> int:
        return len(self._pos)

    def at(self, pos: Longs, end: Longs) -> Cursors:
        """Cursors at other positions of the same bytes."""
        return Cursors(self.data, pos, end, self.base)

    def copy(self) -> Cursors:
        """Cursors that stay where these are now."""
        return self.at(self.pos, self.end)

    @property
    def pos(self) -> Longs:
        """Where each cursor stands."""
        return self._pos + self._shift if self._shift else self._pos

    def move(self, after: Longs) -> None:
        """Go to these positions, none of which may be past the end of its record."""
        room = int((self.end - after).min(initial=INT32_MAX))
        if room < 0:
            self.refuse(after > self.end, None, "a value runs past the end of its record")
        self._place(after, room)

    def _place(self, pos: Longs, room: int) -> None:
        self._pos = pos
        self._shift = 0
        self._room = room  # how far all may go
        self._strip = None

    def refuse(self, bad: Mask, present: Mask | None, what: str, *, at: Longs | None = None) -> None:
        """Raise for the first bad one at which there is a value; *at* is where the values began, if not here."""
        if present is not None:
            bad = bad & present
        if bad.any():
            raise CorruptBlockError(what, offset=self.base + int((self.pos if at is None else at)[bad.argmax()]))

    def advance(self, sizes: Longs | int, present: Mask | None) -> None:
        """Move on, but not past the end of a record."""
        if present is not None:
            self.move(self.pos + sizes * present)
        elif isinstance(sizes, int) and self._shift + sizes <= self._room:
            self._shift += sizes
        else:
            self.move(self.pos + sizes)

    def peek(self, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """What stands at each position, whether it belongs to the record or not; a view that is not contiguous."""
        kind = np.dtype(dtype)
        start = self._shift - self._strip_at
        if self._strip is None or start + kind.itemsize > _STRIP:
            if kind.itemsize > _STRIP:
                return self._gather(kind, self.pos)
            self._strip, self._strip_at, start = self._gather(_STRIPS, self.pos), self._shift, 0
        column: npt.NDArray[Any] = np.ndarray((len(self),), kind, self._strip, offset=start, strides=(_STRIP,))
        return column

    def _gather(self, kind: np.dtype[Any], places: Longs) -> npt.NDArray[Any]:
        # One value per byte, overlapping, so that places need no alignment; numpy is fastest with plain bytes.
        count = max(len(self.data) - kind.itemsize + 1, 0)
        raw: npt.NDArray[Any] = np.ndarray((count,), f"V{kind.itemsize}", self.data, strides=(1,))[places]
        return raw.view(kind)

    def byte(self, present: Mask | None) -> Bytes:
        """The next byte of each record."""
        value: Bytes = self.peek(np.uint8).copy()
        self.advance(1, present)
        return value

    def uniform(self) -> int | None:
        """The next integer, when it is one byte long and the same in all records; else None, and nothing moves."""
        column = self.peek(np.uint8)
        first = int(column[0]) if len(column) else 0x80
        if first & 0x80 or (column != first).any():
            return None
        self.advance(1, None)
        return (first >> 1) ^ -(first & 1)

    def varint(self, present: Mask | None) -> Longs:
        """The next variable-length integer of each record; 0 where there is none."""
        words = self.peek("<u8").copy()
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
        same = present is None and int(sizes.min()) == int(sizes.max())
        self.advance(int(sizes[0]) if same else sizes.view(np.int64), present)
        return varint.unzigzag(values)

    def _long_varints(self, words: Words, long: Mask, values: Words, sizes: Words) -> None:
        """Nine and ten bytes: the word read so far is full, one or two bytes follow."""
        after = self._gather(np.dtype("<u2"), self.pos[long] + 8)
        ninth, tenth = (after & 0xFF).astype(np.uint64), (after >> 8).astype(np.uint64)
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
        before = self.pos
        values = self.varint(present)
        if int(values.max(initial=0)) > INT32_MAX or int(values.min(initial=0)) < -INT32_MAX - 1:
            bad = (values > INT32_MAX) | (values < -INT32_MAX - 1)
            self.refuse(bad, present, "an int of over 32 bits", at=before)
        return values

    def length(self, present: Mask | None) -> Longs | int:
        """How long the next string or bytes of each record are, which begin here; a number where all are the same."""
        lengths = self.uniform() if present is None else None
        if lengths is None:
            values = self.varint(present)
            longest, shortest = int(values.max(initial=0)), int(values.min(initial=INT32_MAX))
            if present is not None or longest != shortest:
                if shortest < 0 or longest > self._room - self._shift:
                    self._check_lengths(values, present)
                return values
            lengths = shortest
        if not 0 <= lengths <= self._room - self._shift:
            self._check_lengths(np.full(len(self), lengths), present)
        return lengths

    def _check_lengths(self, lengths: Longs, present: Mask | None) -> None:
        bad = (lengths < 0) | (lengths > self.end - self.pos)
        self.refuse(bad, present, "a string is longer than the rest of its record, or of negative length")

    def gather(self, dtype: npt.DTypeLike, present: Mask | None) -> npt.NDArray[Any]:
        """The next value of a fixed width of each record; zero bytes where there is none."""
        kind = np.dtype(dtype)
        if present is None or present.all():
            if self._shift + kind.itemsize > self._room:
                self.move(self.pos + kind.itemsize)  # which says where there is none
            values = np.ascontiguousarray(self.peek(kind))
            self.advance(kind.itemsize, None)
            return values
        start = self.pos
        self.advance(kind.itemsize, present)
        values = np.zeros(len(self), kind)
        values[present] = self._gather(kind, start[present])
        return values


class Guesses(Cursors):
    """Cursors at places where values may stand or not: those where none does go to the end, and nothing is raised."""

    __slots__ = ()

    def move(self, after: Longs) -> None:
        """Go to these positions, but not past the end, nor back."""
        self._go(np.where((after > self.end) | (after < self.pos), self.end, after))

    def refuse(self, bad: Mask, present: Mask | None, what: str, *, at: Longs | None = None) -> None:  # noqa: ARG002
        """Send the bad ones to the end."""
        if present is not None:
            bad = bad & present
        if bad.any():
            self._go(np.where(bad, self.end, self.pos))

    def _go(self, pos: Longs) -> None:
        self._place(pos, int((self.end - pos).min(initial=INT32_MAX)))

    def length(self, present: Mask | None) -> Longs:
        """As of cursors; 0 where no such length can stand."""
        lengths = self.varint(present)
        bad = (lengths < 0) | (lengths > self.end - self.pos)
        self.refuse(bad, present, "")
        lengths[bad] = 0
        return lengths
