"""Convert Arrow arrays to numpy arrays and back, without a copy of the values, and Avro's varints in numpy arrays.

The length and the offset of a sliced Arrow array are respected everywhere.

A varint holds seven bits of a number per byte, the lowest bits first; the high bit is set in every byte but the last.
One unsigned 64-bit number holds up to eight bytes of a varint in the order in which they lie in memory (little-endian):

    number   varint bytes   as a 64-bit word
         5   05             0x05
       300   ac 02          0x02ac               300 = 2 * 128 + 44, and 0xac = 44 | 0x80
     16384   80 80 01       0x018080
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pat

Bytes: TypeAlias = npt.NDArray[np.uint8]
Mask: TypeAlias = npt.NDArray[np.bool_]
Longs: TypeAlias = npt.NDArray[np.int64]
Words: TypeAlias = npt.NDArray[np.uint64]
Narrow: TypeAlias = npt.NDArray[np.unsignedinteger[Any]]
"""Unsigned integers of any width.  The narrower they are, the faster numpy is."""

U64 = np.uint64

_MUCH = 32 << 20  # bytes: larger memory comes from Arrow, see _allocate
_NO_ROWS = np.zeros(0, np.int64)


class Parts(NamedTuple):
    """The rows in which the parts of an output begin, ascending.

    ``heads`` are the eight bytes before each part, if there are any.
    """

    firsts: Longs = _NO_ROWS
    heads: Words | None = None

    def in_rows(self, first: int, end: int) -> Parts:
        """Return the parts that begin in the rows from *first* to *end*; their rows are counted from *first*."""
        if not len(self.firsts):
            return self
        here = slice(*np.searchsorted(self.firsts, (first, end)))
        return Parts(self.firsts[here] - first, None if self.heads is None else self.heads[here])


def estimate_nbytes(batch: pa.RecordBatch | pa.Table) -> int:
    """Return about how many bytes the values have."""
    try:
        return int(batch.nbytes)
    except pa.ArrowTypeError:  # pyarrow before 24 cannot compute it for views
        return int(batch.get_total_buffer_size())


def _allocate(size: int) -> Bytes:
    """Return memory from numpy or, for large sizes, from Arrow, which keeps freed memory for a while.

    Memory beyond 32 MB that the C library frees goes back to the system at once, which has to clear its pages before it
    hands them out again: a third of the time of encoding long texts.
    """
    if size <= _MUCH:
        return np.empty(size, np.uint8)
    memory: Any = pa.allocate_buffer(size)  # NumPy's types take Arrow's buffers from Python 3.12 on
    return np.frombuffer(memory, np.uint8)


class Output:
    """Bytes that grow at the end; at first there is room for *size* bytes behind *head*."""

    def __init__(self, size: int = 0, head: bytes = b"") -> None:
        self._room = _allocate(size + len(head))
        self.used = 0
        self.append(content(head))

    def reserve(self, size: int) -> Bytes:
        """Return the next *size* bytes, to be written by the caller, which adds the bytes written to ``used``."""
        end = self.used + size
        if end > len(self._room):
            room = _allocate(max(end, 2 * self.used))
            room[: self.used] = self._room[: self.used]
            self._room = room
        return self._room[self.used : end]

    def append(self, part: Bytes) -> None:
        """Write *part* at the end."""
        self.reserve(len(part))[:] = part
        self.used += len(part)

    def written_bytes(self) -> memoryview:
        """Return all bytes that were written."""
        return self._room[: self.used].data.toreadonly()


def validity(array: pa.Array) -> Mask | None:
    """Return which entries are not null; None if no entry is null."""
    if not array.null_count:
        return None
    valid: Mask = array.is_valid().to_numpy(zero_copy_only=False)
    return valid


def bitmap(valid: Mask | None) -> pa.Buffer | None:
    """Return the Arrow validity buffer of *valid*: the inverse of :func:`validity`."""
    return None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))


def one_batch(rows: pa.RecordBatch | pa.Table) -> pa.RecordBatch:
    """Return *rows* as one batch; a table is copied if it has several chunks."""
    if isinstance(rows, pa.RecordBatch):
        return rows
    columns = [_one_array(column) for column in rows.columns]
    return pa.RecordBatch.from_struct_array(pa.StructArray.from_arrays(columns, fields=list(rows.schema)))


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.chunks else pa.array([], column.type)


def rows_within(rows: pa.RecordBatch | pa.Table, size: float, *, extra: float = 0.0) -> int:
    """Return how many of the first *rows* take at most *size* bytes: their bytes in memory and *extra* for each row.

    A few slices are measured, not each row.

    Rows of 8, 8, 100 and 8 bytes and a size of 120 bytes: the first two rows take 16 bytes, the first three 116 and all
    four 124, so the answer is 3.
    """
    if rows.nbytes + rows.num_rows * extra <= size:
        return int(rows.num_rows)
    fits, too_many = 0, rows.num_rows
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if rows.slice(0, middle).nbytes + middle * extra <= size:
            fits = middle
        else:
            too_many = middle
    return fits


def numbers(array: pa.Array, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return the values of a fixed-width array; the value of a null entry is arbitrary."""
    return _values(array.buffers()[1], dtype, array.offset, len(array))


def offsets(array: pa.Array) -> Longs:
    """Return where each entry of a string, binary, list or map array begins, and where the last entry ends.

    For ``["a", "bcd", ""]`` that is ``[0, 1, 4, 4]``.
    """
    if pat.is_fixed_size_list(array.type):
        width = array.type.list_size
        counted: Longs = np.arange(array.offset, array.offset + len(array) + 1, dtype=np.int64) * width
        return counted
    wide = pat.is_large_string(array.type) or pat.is_large_binary(array.type) or pat.is_large_list(array.type)
    buffer = array.buffers()[1]
    if buffer is None or not buffer.size:  # an empty array may come without its one offset
        return np.zeros(1, np.int64)
    return _values(buffer, np.int64 if wide else np.int32, array.offset, len(array) + 1).astype(np.int64)


def content(buffer: Any) -> Bytes:
    """Return the bytes of a buffer."""
    return np.zeros(0, np.uint8) if buffer is None else np.frombuffer(buffer, np.uint8)


def _values(buffer: Any, dtype: npt.DTypeLike, start: int, count: int) -> npt.NDArray[Any]:
    kind = np.dtype(dtype)
    if buffer is None or not count:
        return np.zeros(count, kind)
    return np.frombuffer(buffer, kind, count, start * kind.itemsize)


_CONTINUE = U64(0x8080808080808080)
_SEVEN = U64(0x7F)
_MASK56 = (1 << 56) - 1
# 1 << 8k times this has k + 1 in its top byte: the index of a byte without a loop or a logarithm.
_POSITION = U64(0x0102030405060708)
# Each step halves the distance between a group of seven bits and its final position: (low mask, high mask, shift).
_STEPS = (
    (U64(0x000000000FFFFFFF), U64(0x00FFFFFFF0000000), U64(4)),
    (U64(0x00003FFF00003FFF), U64(0x0FFFC0000FFFC000), U64(2)),
    (U64(0x007F007F007F007F), U64(0x3F803F803F803F80), U64(1)),
)


class _Constants(NamedTuple):
    """The constants above for words of one width."""

    carry: np.unsignedinteger[Any]
    position: np.unsignedinteger[Any]
    seven: np.unsignedinteger[Any]
    top: np.unsignedinteger[Any]
    steps: list[tuple[np.unsignedinteger[Any], ...]]


def _constants_for(kind: type[np.unsignedinteger[Any]]) -> _Constants:
    """Return the constants above for words of the width of *kind*."""
    size = kind().itemsize
    every, spare = (1 << 8 * size) - 1, 64 - 8 * size
    steps = [tuple(kind(int(part) & every) for part in step) for step in _STEPS[::-1][: size.bit_length() - 1]]
    return _Constants(kind(int(_CONTINUE) & every), kind(int(_POSITION) >> spare), kind(7), kind(8 * size - 8), steps)


_CONSTANTS = {kind().itemsize: _constants_for(kind) for kind in (np.uint16, np.uint32, np.uint64)}


def zigzag(values: Longs) -> Words:
    """Return signed numbers as unsigned ones, small magnitudes first: 0, -1, 1, -2 become 0, 1, 2, 3."""
    result: Words = ((values << 1) ^ (values >> 63)).view(np.uint64)
    return result


def unzigzag(values: Narrow) -> Longs:
    """Return unsigned numbers as signed ones of the same width: the inverse of :func:`zigzag`."""
    # The negative of 1 is all ones; unsigned arithmetic wraps without a warning.
    one = values.dtype.type(1)
    odd = values & one
    values = values >> one
    values ^= np.negative(odd, out=odd)
    result: Longs = values.view(values.dtype.name[1:])  # signed
    return result


def encode_varints(values: Words) -> list[tuple[Words, Longs | int, int]]:
    """Return the varint of each value as (words, lengths, longest): up to eight bytes a word, and how many are used.

    ``lengths`` is one number if all are equal.  If a value needs nine or ten bytes, there are two such triples: the
    first eight bytes of every value, and the rest.

    For the values 5, 300 and 16384:

        lengths           [1, 2, 3]
        groups apart      [0x05, 0x022c, 0x010000]       each group of seven bits in a byte of its own
        high bits         [0x00, 0x0080, 0x8080]         in every byte but the last
        words             [0x05, 0x02ac, 0x018080]

    For the values 5, 300 and 2 ** 60, the lengths are [1, 2, 8] and, in the second triple, [0, 0, 1].
    """
    top = int(values.max(initial=0))
    if top < 1 << 7:
        return [(values, 1, 1)]
    if top < 1 << 14:
        words, lengths = _two_bytes(values)
        return [(words, _same_or_each(lengths), 2)]
    lengths = _group_counts(values, min(top, _MASK56))
    spread = _spread(values if top <= _MASK56 else values & U64(_MASK56), top)
    spread |= _CONTINUE & ((U64(1) << (lengths * U64(8) - U64(8))) - U64(1))
    if top <= _MASK56:
        return [(spread, _same_or_each(lengths), -(-top.bit_length() // 7))]
    high = values >> U64(56)
    spread |= np.where(high != 0, _CONTINUE, U64(0))
    rest, more = _two_bytes(high)
    return [(spread, _same_or_each(lengths), 8), (rest, more.view(np.int64) - (high == 0), 2)]


def _two_bytes(values: Words) -> tuple[Words, Words]:
    """Return the varints of values below 2**14, and how many bytes each has."""
    long = (values > _SEVEN).view(np.uint8).astype(np.uint64)
    spread: Words = (values & _SEVEN) | (values >> U64(7) << U64(8)) | (long << U64(7))
    return spread, long + U64(1)


def _same_or_each(lengths: Words) -> Longs | int:
    shortest = int(lengths.min())
    return shortest if shortest == int(lengths.max()) else lengths.view(np.int64)


def _spread(values: Words, top: int) -> Words:
    """Put each group of seven bits into a byte of its own; *top* is the largest value.

    For 300 = 0b10_0101100 that is 0x022c: the groups 0b10 and 0b0101100.
    """
    for low, high, shift in _STEPS[top < 1 << 28 :]:  # below 2**28 the first step moves nothing
        values = (values & low) | ((values & high) << shift)
    return values


def _group_counts(values: Words, top: int) -> Words:
    """Return how many groups of seven bits each value has, at most eight; *top* is the largest value."""
    lengths = np.ones(len(values), np.uint8)
    for bits in range(7, top.bit_length(), 7):
        lengths += values >= U64(1 << bits)
    return lengths.astype(np.uint64)


def varint_stops(words: Narrow) -> Narrow:
    """Return the high bits that are not set in each word: the lowest one ends the varint; 0 if the varint is longer."""
    stops: Narrow = ~words & _CONSTANTS[words.itemsize].carry
    return stops


def decode_varints(words: Narrow, stops: Narrow) -> tuple[Narrow, Narrow]:
    """Return the unsigned value of the varint at the start of each word, and its size in bytes; size 0 if it is longer.

    For three 32-bit words that begin with the varints 05, ac 02 and 80 80 01 (further bytes follow the first two):

        words          [0x77777705, 0x777702ac, 0x77018080]
        stops          [0x80808080, 0x80808000, 0x80800000]     from varint_stops
        lowest stop    [0x80,       0x8000,     0x800000]
        used bits      [0xff,       0xffff,     0xffffff]
        words & used   [0x05,       0x02ac,     0x018080]
        values         [5,          300,        16384]
        sizes          [1,          2,          3]
    """
    lowest = stops & np.negative(stops)
    used = lowest << lowest.dtype.type(1)
    used -= lowest.dtype.type(1)
    used &= words
    return _join_groups(used), _sizes(lowest)


def varint_sizes(stops: Narrow) -> Narrow:
    """Return the size of each varint in bytes, from its :func:`varint_stops`; 0 if it is longer than a word."""
    return _sizes(stops & np.negative(stops))


def _sizes(lowest: Narrow) -> Narrow:
    """Return the index of the byte in which the only set bit of each number is, counted from 1; 0 for the number 0.

    For the stop 0x8000 of a 32-bit word: 0x8000 >> 7 = 0x100, times 0x01020304 is 0x02030400 in 32 bits, and 0x02030400
    >> 24 = 2.
    """
    constants = _CONSTANTS[lowest.itemsize]
    lowest >>= constants.seven
    lowest *= constants.position
    lowest >>= constants.top
    return lowest


def _join_groups(words: Narrow) -> Narrow:
    """Join the groups of seven bits of each word to one number: the inverse of :func:`_spread`."""
    values: Narrow = words & ~_CONSTANTS[words.itemsize].carry
    for low, high, shift in _CONSTANTS[words.itemsize].steps:
        upper = values >> shift
        upper &= high
        values &= low
        values |= upper
    return values


def map_leaf_types(kind: pa.DataType, leaf: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """Return *kind* with each type in it that has no fields replaced by the result of *leaf*, at any depth."""

    def mapped(field: pa.Field) -> pa.Field:
        return field.with_type(map_leaf_types(field.type, leaf))

    if pat.is_struct(kind):
        return pa.struct(list(map(mapped, kind)))
    if pat.is_map(kind):
        return pa.map_(mapped(kind.key_field), mapped(kind.item_field), keys_sorted=kind.keys_sorted)
    if pat.is_fixed_size_list(kind):
        return pa.list_(mapped(kind.value_field), kind.list_size)
    if pat.is_list(kind) or pat.is_large_list(kind):
        return (pa.list_ if pat.is_list(kind) else pa.large_list)(mapped(kind.value_field))
    return leaf(kind)
