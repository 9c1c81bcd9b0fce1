"""Read many records at once: there is one cursor per record, and each step reads at all cursors together.

Most records begin alike: the same branches of unions, keys of one length.  As long as they do, one number (``_shift``)
tells how far all cursors have moved, and values come from a strip: the next 32 bytes of each record, gathered side by
side.  A gather costs as much as five reads from a strip, whatever its width.

Three records of one nullable string and one int, and the cursors as they are read:

    records         02 02 61 08 | 02 02 62 0a | 02 04 63 64 0c
    at the start    _pos = [0, 4, 8]    _shift = 0                  pos = [0, 4, 8]
    branch          next_byte() = [2, 2, 2], all strings; advance(1) only adds to _shift
                    _pos = [0, 4, 8]    _shift = 1                  pos = [1, 5, 9]
    lengths         length() = [1, 1, 2]; one byte each, so again only _shift grows
                    _pos = [0, 4, 8]    _shift = 2                  pos = [2, 6, 10]
    text            advance([1, 1, 2]): the cursors move by different sizes, and the next strip is gathered there
                    _pos = [3, 7, 12]   _shift = 0                  pos = [3, 7, 12]
    int             varint() = [4, 5, 6]

Every step checks that no cursor leaves its record before the bytes are used.  Memory is bounded by the size of the
data: a length or a count is compared with the bytes that are left before anything is allocated.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hudiformat.codec.avro.arrays import (
    U64,
    Bytes,
    Longs,
    Mask,
    Narrow,
    decode_varints,
    unzigzag,
    varint_sizes,
    varint_stops,
)
from hudiformat.errors import CorruptBlockError
from hudiformat.wire import INT32_MAX

_STRIP = 32  # bytes
PADDING = _STRIP + 8  # a strip may be read at any position up to the end, and a word eight bytes after it

_SEVEN = U64(0x7F)
_MOST_OF_A_BYTE = 0x7F
_LONGEST = 8  # bytes of the widest word
_WIDTHS = {np.dtype(f"<u{size}"): int.from_bytes(b"\x80" * size, "little") for size in (2, 4, _LONGEST)}


class Cursors:
    """Positions in bytes that have :data:`PADDING` bytes after the last end, each with the end of its record.

    ``present`` marks the cursors at which there is a value; None means all.  At the other cursors nothing is read.
    ``base`` is the offset of the first byte of ``data``, for error messages.
    """

    __slots__ = ("_pair", "_pair_at", "_pos", "_room", "_shift", "_strip", "_strip_at", "base", "data", "end")

    def __init__(self, data: Bytes, pos: Longs, end: Longs, base: int = 0) -> None:
        self.data = data
        self.end = end
        self.base = base
        self._pos = pos
        self._shift = 0
        self._room = int((end - pos).min(initial=INT32_MAX))  # how far all cursors may move together
        self._strip: npt.NDArray[Any] | None = None
        self._strip_at = 0  # the shift at which the strip was gathered
        self._pair: npt.NDArray[np.uint16] | None = None
        self._pair_at = 0

    def __len__(self) -> int:
        return len(self._pos)

    def at(self, pos: Longs, end: Longs) -> Cursors:
        """Return cursors at other positions in the same bytes."""
        return Cursors(self.data, pos, end, self.base)

    def copy(self) -> Cursors:
        """Return new cursors at the current positions."""
        return self.at(self.pos, self.end)

    @property
    def pos(self) -> Longs:
        """The position of each cursor."""
        return self._pos + self._shift if self._shift else self._pos

    def move(self, after: Longs) -> None:
        """Move each cursor to its position in *after*.

        Raises:
            CorruptBlockError: a position is past the end of its record.
        """
        room = int((self.end - after).min(initial=INT32_MAX))
        if room < 0:
            self.raise_if(after > self.end, None, "a value runs past the end of its record")
        self._pos = after
        self._shift = 0
        self._room = room
        self._strip = self._pair = None

    def raise_if(self, bad: Mask, present: Mask | None, what: str, *, at: Longs | None = None) -> None:
        """Raise for the first bad value that is present; *at* is where the values begin, by default at the cursors.

        Raises:
            CorruptBlockError: a value is bad; *what* is the message.
        """
        if present is not None:
            bad = bad & present
        if bad.any():
            raise CorruptBlockError(what, offset=self.base + int((self.pos if at is None else at)[bad.argmax()]))

    def advance(self, sizes: Longs | Narrow | int, present: Mask | None) -> None:
        """Move each cursor by its size, which is not negative.

        Raises:
            CorruptBlockError: a position is past the end of its record.
        """
        if present is not None:
            self.move(self.pos + (sizes * present).astype(np.int64, copy=False))
            return
        if not isinstance(sizes, int):
            size = int(sizes[0]) if len(sizes) else 0
            sizes = size if (sizes == size).all() else sizes.astype(np.int64, copy=False)
        if isinstance(sizes, int) and self._shift + sizes <= self._room:
            self._shift += sizes
        else:
            self.move(self.pos + sizes)

    def peek(self, dtype: npt.DTypeLike, ahead: int = 0) -> npt.NDArray[Any]:
        """Return the value *ahead* bytes after each cursor, inside the record or not; a view that is not contiguous."""
        kind = np.dtype(dtype)
        start = self._shift - self._strip_at + ahead
        if self._strip is None or start + kind.itemsize > _STRIP:
            # One value for each byte of the data, overlapping, so that positions need no alignment; numpy gathers
            # plain bytes fastest.
            width = max(kind.itemsize, _STRIP)
            every = np.ndarray((max(len(self.data) - width + 1, 0),), f"V{width}", self.data, strides=(1,))
            gathered: npt.NDArray[Any] = every[self._pos + self._shift if self._shift else self._pos]
            if width > _STRIP:  # too wide to be kept as a strip
                return gathered.view(kind)
            self._strip, self._strip_at, start = gathered, self._shift, ahead
        column: npt.NDArray[Any] = np.ndarray((len(self._pos),), kind, self._strip, offset=start, strides=(_STRIP,))
        return column

    def next_byte(self) -> Bytes:
        """Return the byte at each cursor, without moving; two neighbouring bytes are fetched together."""
        if self._pair is None or not 0 <= self._shift - self._pair_at <= 1:
            self._pair, self._pair_at = self.peek("<u2").copy(), self._shift
        pair = self._pair >> np.uint16(8) if self._shift > self._pair_at else self._pair
        return pair.astype(np.uint8)

    def byte(self, present: Mask | None) -> Bytes:
        """Read the next byte of each record."""
        value = self.next_byte()
        self.advance(1, present)
        return value

    def branch_of_two(self, null_branch: int, present: Mask | None) -> Mask | None:
        """Read the branch of a union with null, and return where there is a value; None stands for everywhere."""
        branch = self.next_byte()
        full, empty = (2, 0) if null_branch == 0 else (0, 2)
        there: Mask = branch == full
        if there.all():
            self.advance(1, present)
            return present
        self.raise_if(~there & (branch != empty), present, "a union has 2 branches")
        self.advance(1, present)
        return there if present is None else there & present

    def read_if_equal(self) -> int | None:
        """Read the next integer if it is one byte long and equal in all records; else None, and no cursor moves."""
        column = self.next_byte()
        first = int(column[0]) if len(column) else 0x80
        if first & 0x80 or (column != first).any():
            return None
        self.advance(1, None)
        return (first >> 1) ^ -(first & 1)

    def varint(self, present: Mask | None) -> Longs:
        """Read the next variable-length integer of each record; 0 where no value is present."""
        return self._varint(present).astype(np.int64, copy=False)

    def skip_varint(self, present: Mask | None) -> None:
        """Move behind the next variable-length integers."""
        column = self.next_byte()
        if present is not None:
            column &= np.negative(present.view(np.uint8))
        if not (column > _MOST_OF_A_BYTE).any():
            self.advance(1, present)
            return
        _, stops = self._words(present)
        sizes = varint_sizes(stops)
        if stops.itemsize == _LONGEST and not stops.all():
            self._long_varints(stops == 0, stops, sizes)  # the values are lost
        self.advance(sizes, present)

    def _varint(self, present: Mask | None) -> Longs:
        """Read the integers of :meth:`varint`; the result is as narrow as the longest of them allows."""
        column = self.next_byte()
        if present is not None:
            column &= np.negative(present.view(np.uint8))
        if not (column > _MOST_OF_A_BYTE).any():  # each integer is one byte long
            self.advance(1, present)
            return unzigzag(column)
        words, stops = self._words(present)
        values, sizes = decode_varints(words, stops)
        if words.itemsize == _LONGEST and not stops.all():
            self._long_varints(stops == 0, values, sizes)
        self.advance(sizes, present)
        return unzigzag(values)

    def _words(self, present: Mask | None) -> tuple[Narrow, Narrow]:
        """Return the bytes at the cursors as words of the least width that holds all integers, and their stops.

        Where no value is present, the word is 0.
        """
        first = int(self.peek("<u8")[0]) if len(self) else 0
        for kind, carry in _WIDTHS.items():
            if first & carry == carry and kind.itemsize < _LONGEST:
                continue  # the first integer alone is longer
            words: Narrow = self.peek(kind).copy()
            if present is not None:
                words &= np.negative(present.astype(kind))
            stops = varint_stops(words)
            if kind.itemsize == _LONGEST or stops.all():
                break
        return words, stops

    def _long_varints(self, long: Mask, values: Narrow, sizes: Narrow) -> None:
        """Complete the values and sizes of integers of nine and ten bytes, whose first eight bytes were decoded."""
        after = self.peek("<u2", _LONGEST).astype(np.uint64)
        two = (after >> U64(7)) & U64(1)
        tenth = (after >> U64(8)) * two
        self.raise_if(long & (tenth > 1), None, "an integer of over 64 bits")
        every = np.negative(long.astype(np.uint64))
        values |= ((after & _SEVEN) << U64(56) | tenth << U64(63)) & every
        sizes |= (two + U64(9)) & every

    def int32(self, present: Mask | None) -> Longs:
        """Read integers as :meth:`varint` does, and refuse those that do not fit into 32 bits."""
        before = self.pos
        values = self._varint(present)
        if values.itemsize == _LONGEST:
            bad = (values > INT32_MAX) | (values < -INT32_MAX - 1)
            self.raise_if(bad, present, "an int of over 32 bits", at=before)
        return values.astype(np.int32)

    def length(self, present: Mask | None) -> Longs | int:
        """Read the length of the string or bytes that begin at each cursor; one number if all are equal."""
        lengths = self.read_if_equal() if present is None else None
        if lengths is None:
            values = self._varint(present)
            longest, shortest = (int(values.max()), int(values.min())) if len(values) else (0, 0)
            if present is not None or longest != shortest:
                if shortest < 0 or longest > self._room - self._shift:
                    self._check_lengths(values, present)
                return values.astype(np.int64, copy=False)
            lengths = shortest
        if not 0 <= lengths <= self._room - self._shift:
            self._check_lengths(np.full(len(self), lengths), present)
        return lengths

    def _check_lengths(self, lengths: Longs, present: Mask | None) -> None:
        bad = (lengths < 0) | (lengths > self.end - self.pos)
        self.raise_if(bad, present, "a string is longer than the rest of its record, or of negative length")

    def gather(self, dtype: npt.DTypeLike, present: Mask | None) -> npt.NDArray[Any]:
        """Read the next value of a fixed width of each record; zero bytes where no value is present."""
        kind = np.dtype(dtype)
        if present is None or present.all():
            if self._shift + kind.itemsize > self._room:
                self.move(self.pos + kind.itemsize)  # raises, and names the record
            values: npt.NDArray[Any] = self.peek(kind).copy()  # of a single record too: Arrow warns of odd addresses
            self.advance(kind.itemsize, None)
            return values
        if kind.itemsize == _LONGEST:
            # The negative of 1 is all ones and keeps a value; the negative of 0 is 0 and clears it.
            values = self.peek(np.uint64) & np.negative(present.astype(np.uint64))
            self.advance(kind.itemsize, present)
            return values.view(kind)
        start = self.pos[present]  # before the cursors move
        self.advance(kind.itemsize, present)
        values = np.zeros(len(self), kind)
        every = np.ndarray((max(len(self.data) - kind.itemsize + 1, 0),), f"V{kind.itemsize}", self.data, strides=(1,))
        values[present] = every[start].view(kind)
        return values


class SpeculativeCursors(Cursors):
    """Cursors at positions where a value may or may not begin: a cursor without a value goes to the end, silently."""

    __slots__ = ()

    def move(self, after: Longs) -> None:
        """Move each cursor to its position in *after*, or to the end if that lies past the end or behind the cursor."""
        super().move(np.where((after > self.end) | (after < self.pos), self.end, after))

    def raise_if(self, bad: Mask, present: Mask | None, what: str, *, at: Longs | None = None) -> None:  # noqa: ARG002 - as Cursors has it
        """Send the cursors of bad values to the end."""
        if present is not None:
            bad = bad & present
        if bad.any():
            super().move(np.where(bad, self.end, self.pos))

    def length(self, present: Mask | None) -> Longs:
        """Read lengths as :meth:`Cursors.length` does; 0 where no such length is possible."""
        lengths = self.varint(present)
        bad = (lengths < 0) | (lengths > self.end - self.pos)
        self.raise_if(bad, present, "")
        lengths[bad] = 0
        return lengths
