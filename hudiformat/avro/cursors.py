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
from hudiformat.avro.varint import U64, Narrow
from hudiformat.errors import CorruptBlockError
from hudiformat.wire import INT32_MAX

_STRIP = 32
_STRIPS = np.dtype(f"V{_STRIP}")
PADDING = _STRIP + 8  # a strip may be read at any position up to the end, and a word eight bytes after it

_SEVEN = U64(0x7F)
_MOST_OF_A_BYTE = 0x7F
_LONGEST = 8  # bytes of the widest word
_WIDTHS = {np.dtype(f"<u{size}"): int.from_bytes(b"\x80" * size, "little") for size in (2, 4, _LONGEST)}


class Cursors:
    """Positions in bytes that have :data:`PADDING` bytes after the last end, each with the end of its record.

    ``present`` marks the positions at which there is a value; None stands for all.  At the others nothing is read.
    ``base`` is what the first byte counts as in error messages.
    """

    __slots__ = ("_pair", "_pair_at", "_pos", "_room", "_shift", "_strip", "_strip_at", "base", "data", "end")

    def __init__(self, data: Bytes, pos: Longs, end: Longs, base: int = 0) -> None:
        self.data = data
        self.end = end
        self.base = base
        self._strip: npt.NDArray[Any] | None = None
        self._strip_at = 0
        self._pair: npt.NDArray[np.uint16] | None = None
        self._pair_at = 0
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
        self._pair = None

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

    def peek(self, dtype: npt.DTypeLike, ahead: int = 0) -> npt.NDArray[Any]:
        """What stands *ahead* of each position, whether it belongs to the record or not; a view, not contiguous."""
        kind = np.dtype(dtype)
        start = self._shift - self._strip_at + ahead
        if self._strip is None or start + kind.itemsize > _STRIP:
            if kind.itemsize > _STRIP:
                return self._gather(kind, self.pos)
            self._strip, self._strip_at, start = self._gather(_STRIPS, self.pos), self._shift, ahead
        column: npt.NDArray[Any] = np.ndarray((len(self),), kind, self._strip, offset=start, strides=(_STRIP,))
        return column

    def next_byte(self) -> Bytes:
        """The byte at each position; those of two neighbouring positions are fetched together."""
        if self._pair is None or not 0 <= self._shift - self._pair_at <= 1:
            self._pair, self._pair_at = self.peek("<u2").copy(), self._shift
        pair = self._pair >> np.uint16(8) if self._shift > self._pair_at else self._pair
        return pair.astype(np.uint8)

    def _gather(self, kind: np.dtype[Any], places: Longs) -> npt.NDArray[Any]:
        # One value per byte, overlapping, so that places need no alignment; numpy is fastest with plain bytes.
        count = max(len(self.data) - kind.itemsize + 1, 0)
        raw: npt.NDArray[Any] = np.ndarray((count,), f"V{kind.itemsize}", self.data, strides=(1,))[places]
        return raw.view(kind)

    def byte(self, present: Mask | None) -> Bytes:
        """The next byte of each record."""
        value = self.next_byte()
        self.advance(1, present)
        return value

    def uniform(self) -> int | None:
        """The next integer, when it is one byte long and the same in all records; else None, and nothing moves."""
        column = self.next_byte()
        first = int(column[0]) if len(column) else 0x80
        if first & 0x80 or (column != first).any():
            return None
        self.advance(1, None)
        return (first >> 1) ^ -(first & 1)

    def varint(self, present: Mask | None) -> Longs:
        """The next variable-length integer of each record; 0 where there is none."""
        return self._varint(present).astype(np.int64, copy=False)

    def skip_varint(self, present: Mask | None) -> None:
        """Move behind the next integers, whatever they are."""
        if self._single_bytes(present) is not None:
            self.advance(1, present)
            return
        _, stops = self._words(present)
        sizes = varint.sizes(stops)
        if stops.itemsize == _LONGEST and not stops.all():
            self._long_varints(stops == 0, stops, sizes)  # the values are lost
        self._advance_each(sizes, present)

    def _varint(self, present: Mask | None) -> Longs:
        """As :meth:`varint`, as narrow as the longest allows."""
        if (column := self._single_bytes(present)) is not None:
            self.advance(1, present)
            return varint.unzigzag(column)
        words, stops = self._words(present)
        values, sizes = varint.decode(words, stops)
        if words.itemsize == _LONGEST and not stops.all():
            self._long_varints(stops == 0, values, sizes)
        self._advance_each(sizes, present)
        return varint.unzigzag(values)

    def _single_bytes(self, present: Mask | None) -> Bytes | None:
        """The next integers if each is one byte long; 0 where there is none."""
        column = self.next_byte()
        if present is not None:
            column &= np.negative(present.view(np.uint8))
        return None if (column > _MOST_OF_A_BYTE).any() else column

    def _words(self, present: Mask | None) -> tuple[Narrow, Narrow]:
        """Narrow that begin with the next integers, as narrow as hold them all, and where in them those may end.

        Where there is no integer, the word is 0.
        """
        first = int(self.peek("<u8")[0]) if len(self) else 0
        for kind, carry in _WIDTHS.items():
            if first & carry == carry and kind.itemsize < _LONGEST:
                continue  # the first of them alone is longer
            words: Narrow = self.peek(kind).copy()
            if present is not None:
                words &= np.negative(present.astype(kind))
            stops = varint.stops(words)
            if kind.itemsize == _LONGEST or stops.all():
                break
        return words, stops

    def _advance_each(self, sizes: Narrow, present: Mask | None) -> None:
        if present is not None:
            self.move(self.pos + (sizes * present).astype(np.int64))
            return
        size = int(sizes[0]) if len(sizes) else 0
        self.advance(size if (sizes == size).all() else sizes.astype(np.int64), None)

    def _long_varints(self, long: Mask, values: Narrow, sizes: Narrow) -> None:
        """Nine and ten bytes: the word read so far is full, one or two bytes follow."""
        after = self.peek("<u2", _LONGEST).astype(np.uint64)
        two = (after >> U64(7)) & U64(1)
        tenth = (after >> U64(8)) * two
        self.refuse(long & (tenth > 1), None, "an integer of over 64 bits")
        every = np.negative(long.astype(np.uint64))
        values |= ((after & _SEVEN) << U64(56) | tenth << U64(63)) & every
        sizes |= (two + U64(9)) & every

    def int32(self, present: Mask | None) -> Longs:
        """Like :meth:`varint`, refusing what does not fit into 32 bits."""
        before = self.pos
        values = self._varint(present)
        if values.itemsize == _LONGEST:
            bad = (values > INT32_MAX) | (values < -INT32_MAX - 1)
            self.refuse(bad, present, "an int of over 32 bits", at=before)
        return values.astype(np.int32)

    def length(self, present: Mask | None) -> Longs | int:
        """How long the next string or bytes of each record are, which begin here; a number where all are the same."""
        lengths = self.uniform() if present is None else None
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
        self.refuse(bad, present, "a string is longer than the rest of its record, or of negative length")

    def gather(self, dtype: npt.DTypeLike, present: Mask | None) -> npt.NDArray[Any]:
        """The next value of a fixed width of each record; zero bytes where there is none."""
        kind = np.dtype(dtype)
        if present is None or present.all():
            if self._shift + kind.itemsize > self._room:
                self.move(self.pos + kind.itemsize)  # which says where there is none
            values: npt.NDArray[Any] = self.peek(kind).copy()  # also of a single one: Arrow complains of odd addresses
            self.advance(kind.itemsize, None)
            return values
        if kind.itemsize == _LONGEST:
            values = self.peek(np.uint64) & np.negative(present.astype(np.uint64))
            self.advance(kind.itemsize, present)
            return values.view(kind)
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
