"""Find rows by record key, and take rows by index.  Pure.

:class:`KeyIndex` numbers the distinct keys of a column and finds other keys among them.  It searches by 64-bit hashes,
which are computed for whole columns.  A hash match is never trusted: the keys themselves are compared, and if two
different keys share a hash, Arrow's hash tables do the search instead.

:class:`RowSource` takes rows by index faster than Arrow does.  Arrow needs ten times as long for a text as for a
number, and three times as long for a number that may be null.  So texts of one length are taken as numbers of that
width, and other texts as 16-byte views, which Arrow's cast then copies one after the other.  Validity bits are taken
apart from the values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from hudiformat.file_group.merging.rule import Booleans, Integers

Hashes = npt.NDArray[np.uint64]

_KEY = "key"
_ROWS_AT_ONCE = 1 << 14  # their hashes stay in the processor's cache
_WORD = 8
# Behind the first _LONG bytes, up to _FEW longer keys of a slice are hashed one by one: short arrays are slow.
_LONG, _FEW = 1 << 10, 32
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_ALL_BITS = np.uint64(0xFFFFFFFFFFFFFFFF)


def all_differ(keys: pa.ChunkedArray) -> bool:
    """Return True if all hashes of *keys* differ, so that all keys do; False means that some keys may be equal."""
    hashes = np.sort(key_hashes(keys))
    return bool((hashes[1:] != hashes[:-1]).all())


class KeyIndex:
    """The distinct keys of a column, numbered from 0 on; made by :meth:`of`.

    ``rows`` has an item per distinct key: a row of *keys* in which the key occurs.  *hashes* are the hashes of the
    distinct keys in ascending order, or None if two of them share a hash.  *numbering* returns the number of each of
    *keys*.
    """

    def __init__(
        self, keys: pa.ChunkedArray, rows: Integers, hashes: Hashes | None, numbering: Callable[[], Integers]
    ) -> None:
        self._keys = keys
        self.rows = rows
        self._hashes = hashes
        self._numbering = numbering

    @classmethod
    def of(cls, keys: pa.ChunkedArray) -> KeyIndex:
        """Return the index of *keys*, in which a key may occur more than once.

        The keys "b", "a", "b"; the hash of "b" is lower than that of "a"::

            order     = [0, 2, 1]               rows by ascending hash
            ascending = [hash b, hash b, hash a]
            new       = [T, F, T]               whether the hash differs from the one before it
            repeated  = [1]                     keys[order[1]] == keys[order[0]]: the same key, not just the same hash
            rows      = order[new] = [0, 1]     key 0 is "b", key 1 is "a"
            numbers() = [0, 1, 0]
        """
        hashes = key_hashes(keys)
        order = _sort_hashes(hashes)
        ascending = hashes[order]
        new = np.ones(len(order), np.bool_)
        new[1:] = ascending[1:] != ascending[:-1]
        repeated = np.flatnonzero(~new)
        if not len(repeated):
            return cls(keys, order, ascending, partial(_number_keys, order, None))
        if _all_equal(keys.take(pa.array(order[repeated])), keys.take(pa.array(order[repeated - 1]))):
            return cls(keys, order[new], ascending[new], partial(_number_keys, order, new))
        numbers = np.asarray(keys.combine_chunks().dictionary_encode().indices).astype(np.int64)
        rows = np.unique(numbers, return_index=True)[1].astype(np.int64)
        return cls(keys, rows, None, lambda: numbers)

    @cached_property
    def _source(self) -> RowSource:
        return RowSource(pa.table([self._keys], [_KEY]))

    def __len__(self) -> int:
        return len(self.rows)

    def numbers(self) -> Integers:
        """Return the number of each indexed key; computed by this call."""
        return self._numbering()

    def keys_of(self, numbers: Integers) -> pa.ChunkedArray:
        """Return the keys with these numbers."""
        return self._source.take(self.rows[numbers])[_KEY]

    def find(self, keys: pa.ChunkedArray) -> tuple[Integers, Integers]:
        """Return the rows of *keys* whose key is in the index, ascending, and the key number of each.

        The keys "a", "x", "b" in an index of "b" (number 0) and "a" (number 1); the hash of "x" is the lowest::

            ascending = [1, 2, 0]                   rows of *keys* by ascending hash
            nearest   = [1, 0, 0]                   number of the first indexed hash that is not lower
            matches   = [0, 2]                      rows for which that hash is the same
            numbers   = nearest[matches] = [1, 0]
        """
        if not len(self):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        if self._hashes is None:
            return self._find_by_table(keys)
        hashes = key_hashes(keys)
        ascending = _sort_hashes(hashes)  # neighbours are looked up together, which spares the cache
        nearest = np.empty(len(hashes), np.int64)
        nearest[ascending] = np.searchsorted(self._hashes, hashes[ascending])
        nearest = np.minimum(nearest, len(self) - 1)
        matches = np.flatnonzero(self._hashes[nearest] == hashes)
        numbers = nearest[matches]
        matching_keys = keys if len(matches) == len(keys) else keys.take(pa.array(matches))
        if not _all_equal(matching_keys, self.keys_of(numbers)):
            return self._find_by_table(keys)
        return matches, numbers

    def _find_by_table(self, keys: pa.ChunkedArray) -> tuple[Integers, Integers]:
        """Return what :meth:`find` returns, by Arrow's hash table; for keys that share a hash with another key."""
        indexed = self._keys.take(pa.array(self.rows)).combine_chunks()
        numbers = np.asarray(pc.fill_null(pc.index_in(keys, value_set=indexed), -1)).astype(np.int64)
        matches = np.flatnonzero(numbers >= 0)
        return matches, numbers[matches]


def _number_keys(order: Integers, new: Booleans | None) -> Integers:
    """Return the number of each key; *order* and *new* as in :meth:`KeyIndex.of`, *new* None if all keys differ.

    ::

        order = [0, 2, 1]   new = [T, F, T]   cumsum(new) - 1 = [0, 0, 1]   numbers = [0, 1, 0]
    """
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.arange(len(order)) if new is None else np.cumsum(new) - 1
    return numbers


def _sort_hashes(hashes: Hashes) -> Integers:
    """Return the rows of *hashes* by ascending hash.

    The row number replaces the lowest bits of each hash, and the sums are sorted: a fraction of the time of argsort.
    With the hashes 0x50, 0x30, 0x40 and 2 bits for the row numbers::

        sorted      = [0x30 | 1, 0x40 | 2, 0x50 | 0]
        & 0b11      = [1, 2, 0]

    Hashes that differ in the lowest bits alone may come out in the wrong order; then argsort is used after all.
    """
    low = np.uint64((1 << len(hashes).bit_length()) - 1)
    order = (np.sort(hashes & ~low | np.arange(len(hashes), dtype=np.uint64)) & low).astype(np.int64)
    ascending = hashes[order]
    return order if (ascending[1:] >= ascending[:-1]).all() else np.argsort(hashes)


def _all_equal(keys: pa.ChunkedArray, others: pa.ChunkedArray) -> bool:
    return bool(pc.all(pc.equal(keys, others)).as_py() is not False)


def key_hashes(keys: pa.ChunkedArray) -> Hashes:
    """Return a 64-bit hash per key, which depends on nothing but the text of the key."""
    parts = [
        _hash_slice(chunk.slice(start, _ROWS_AT_ONCE))
        for chunk in keys.chunks
        for start in range(0, len(chunk), _ROWS_AT_ONCE)
    ]
    return np.concatenate([np.empty(0, np.uint64), *parts])


def _hash_slice(keys: pa.Array) -> Hashes:
    """Hash the keys 8 bytes at a time: the first word of every key, then the second word, and so on.

    The keys "ab", "" and "0123456789"::

        data     = b"ab0123456789" and 8 zero bytes;  words[i] = the 8 bytes from data[i] on
        starts   = [0, 2, 2]   lengths = [2, 0, 10]   shortest = 0   longest = 10
        begin 0:  left = [2, 0, 8]   word = "ab", nothing, "01234567"; bytes behind a key are masked
        begin 8:  left = [0, 0, 2]   word = nothing, nothing, "89"; the first two keys keep their hash
    """
    offsets = np.frombuffer(keys.buffers()[1], np.int32)[keys.offset : keys.offset + len(keys) + 1].astype(np.int64)
    first, last = int(offsets[0]), int(offsets[-1])
    data = np.zeros(last - first + _WORD, np.uint8)
    if last > first:
        data[:-_WORD] = np.frombuffer(keys.buffers()[2], np.uint8)[first:last]
    words = np.ndarray(len(data) - _WORD + 1, "<u8", data, strides=(1,))
    starts, lengths = offsets[:-1] - first, np.diff(offsets)
    hashes: Hashes = lengths.astype(np.uint64) * _FACTOR  # spread over all bits, or it would cancel against the text
    shortest, longest = int(lengths.min(initial=last)), int(lengths.max(initial=0))
    if shortest == longest:
        lengths = lengths[:1]
    few = np.flatnonzero(np.broadcast_to(lengths, starts.shape) > _LONG)
    alone = few if len(few) <= _FEW else few[:0]
    for begin in range(0, min(longest, _LONG) if len(alone) else longest, _WORD):
        word = words[np.minimum(starts + begin, len(words) - 1)]
        left = np.clip(lengths - begin, 0, _WORD)
        if begin + _WORD > shortest:
            mask = np.where(left > 0, _ALL_BITS >> ((_WORD - left) * 8).astype(np.uint64) % np.uint64(64), 0)
            word &= mask.astype(np.uint64)
        word ^= hashes
        word *= _FACTOR
        word ^= word >> _HALF
        # A key that has ended keeps its hash, however long the others of the array are.
        hashes = word if begin < shortest else np.where(left > 0, word, hashes)
    for key in alone.tolist():
        end = int(offsets[key + 1]) - first
        hashes[key] = _finish_hash(int(hashes[key]), data[int(starts[key]) + _LONG : end].tobytes())
    return hashes


def _finish_hash(begun: int, rest: bytes) -> int:
    """Return the hash of one long key: *begun* is the hash of its first words, *rest* are the bytes behind them.

    It does with Python's integers what :func:`_hash_slice` does with arrays, which are slow for a few keys.
    """
    factor, mask = int(_FACTOR), int(_ALL_BITS)
    for word in np.frombuffer(rest.ljust(-(-len(rest) // _WORD) * _WORD, b"\0"), "<u8").tolist():
        begun = (begun ^ word) * factor & mask
        begun ^= begun >> int(_HALF)
    return begun


Take: TypeAlias = Callable[[pa.Array], pa.Array | pa.ChunkedArray]
"""A function that returns the values at some indices, all of which have to be inside the array."""

_VIEW_SIZE = 16


class RowSource:
    """Rows of a table to take by index; only columns of one chunk are taken the fast way."""

    def __init__(self, rows: pa.Table) -> None:
        self.rows = rows
        self._takes = [
            _take_function(column.chunk(0)) if column.num_chunks == 1 else column.take for column in rows.columns
        ]

    def take(self, indices: Integers, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the rows at *indices*, in that order, with all or some columns; consecutive rows are not copied.

        Raises:
            IndexError: an index is not within the table.
        """
        rows = self.rows if columns is None else self.rows.select(list(columns))
        if not len(indices) or (np.diff(indices) == 1).all():
            return rows.slice(int(indices[0]) if len(indices) else 0, len(indices))
        if int(indices.min()) < 0 or int(indices.max()) >= rows.num_rows:
            raise IndexError(f"row indices from {indices.min()} to {indices.max()}, but there are {rows.num_rows} rows")
        index_array = pa.array(indices)
        takes = [self._takes[self.rows.schema.get_field_index(name)] for name in rows.column_names]
        return pa.Table.from_arrays([take(index_array) for take in takes], schema=rows.schema)


def _take_function(array: pa.Array) -> Take:
    """Return the fastest function that takes values of *array*."""
    kind = array.type
    is_text = pat.is_string(kind) or pat.is_binary(kind)
    if array.null_count and (is_text or pat.is_primitive(kind)) and not pat.is_boolean(kind):
        return _take_nulls_apart(array)
    if is_text and len(array):
        return _take_texts(array)
    return partial(pc.take, array, boundscheck=False)


def _take_nulls_apart(array: pa.Array) -> Take:
    """Return a function that takes values as if none were null, and the validity bits as a boolean column."""
    buffers = array.buffers()
    take_values = _take_function(
        pa.Array.from_buffers(array.type, len(array), [None, *buffers[1:]], offset=array.offset)
    )
    valid = array.is_valid()

    def take(indices: pa.Array) -> pa.Array:
        values = cast("pa.Array", take_values(indices))
        bits = pc.take(valid, indices, boundscheck=False).buffers()[1]
        return pa.Array.from_buffers(array.type, len(indices), [bits, *values.buffers()[1:]])

    return take


def _take_texts(array: pa.Array) -> Take:
    """Return a function that takes texts of *array*, which has no nulls."""
    _, offset_buffer, data = array.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32)[array.offset : array.offset + len(array) + 1]
    lengths = np.diff(offsets)
    width = int(lengths[0])
    if width and (lengths == width).all():
        return _take_fixed_width(array.type, data.slice(int(offsets[0])), len(array), width)
    binary = pa.Array.from_buffers(pa.binary(), len(array), [None, offset_buffer, data], offset=array.offset)
    return _take_views(array.type, binary.cast(pa.binary_view()))


def _take_fixed_width(kind: pa.DataType, data: pa.Buffer, rows: int, width: int) -> Take:
    """Return a function that takes texts which all have *width* bytes, as fixed-size binary values.

    The offsets of what was taken are 0, width, 2 * width, ...
    """
    values = pa.Array.from_buffers(pa.binary(width), rows, [None, data])

    def take(indices: pa.Array) -> pa.Array:
        taken = pc.take(values, indices, boundscheck=False).buffers()[1]
        offsets = np.arange(0, (len(indices) + 1) * width, width, dtype=np.int32)
        return pa.Array.from_buffers(kind, len(indices), [None, pa.py_buffer(offsets), taken])

    return take


def _take_views(kind: pa.DataType, views: pa.Array) -> Take:
    """Return a function that takes the 16-byte views of texts as fixed-size values, and casts them back to texts."""
    _, view_buffer, *contents = views.buffers()
    fixed = pa.Array.from_buffers(pa.binary(_VIEW_SIZE), len(views), [None, view_buffer], offset=views.offset)

    def take(indices: pa.Array) -> pa.Array:
        taken = pc.take(fixed, indices, boundscheck=False).buffers()[1]
        texts = pa.Array.from_buffers(pa.binary_view(), len(indices), [None, taken, *contents]).cast(pa.binary())
        return pa.Array.from_buffers(kind, len(indices), texts.buffers())

    return take
