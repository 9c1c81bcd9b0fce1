"""Rows taken by their numbers, in no order, from where what makes that cheap has been prepared once.  Pure.

Arrow takes a text in ten times the time of a number, and a number that may be null in three times that of one that may
not.  So texts of one length are taken as numbers of that width, other texts as views of 16 bytes, which Arrow's cast
then copies one after the other, and nulls apart from values.

Record keys, told apart by 64-bit hashes that are made column by column.  Pure.

Hashes only say where to look: keys are compared wherever theirs are alike, and where two keys share a hash Arrow's own
tables do the work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from hudiformat.merge.rule import Integers

Take: TypeAlias = Callable[[pa.Array], pa.Array | pa.ChunkedArray]
"""The values at some places, which have to be inside."""

_VIEW_SIZE = 16


class RowSource:
    """Rows that others are taken from; columns of one chunk are taken the fast way."""

    def __init__(self, rows: pa.Table) -> None:
        self.rows = rows
        self._takes = [
            taking_from(column.chunk(0)) if column.num_chunks == 1 else column.take for column in rows.columns
        ]

    def at(self, places: Integers, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows at *places*, in that order, or some of their columns; not copied where they follow each other.

        Raises:
            IndexError: one of *places* is outside.
        """
        rows = self.rows if columns is None else self.rows.select(list(columns))
        if not len(places) or (np.diff(places) == 1).all():
            return rows.slice(int(places[0]) if len(places) else 0, len(places))
        if int(places.min()) < 0 or int(places.max()) >= rows.num_rows:
            raise IndexError(f"places from {places.min()} to {places.max()}, of {rows.num_rows} rows")
        chosen = pa.array(places)
        takes = [self._takes[self.rows.schema.get_field_index(name)] for name in rows.column_names]
        return pa.Table.from_arrays([take(chosen) for take in takes], schema=rows.schema)


def taking_from(array: pa.Array) -> Take:
    """What takes values out of *array*."""
    kind = array.type
    is_text = pat.is_string(kind) or pat.is_binary(kind)
    if array.null_count and (is_text or pat.is_primitive(kind)) and not pat.is_boolean(kind):
        return _taking_nulls(array)
    if is_text and len(array):
        return _taking_texts(array)
    return partial(pc.take, array, boundscheck=False)


def _taking_nulls(array: pa.Array) -> Take:
    buffers = array.buffers()
    values = taking_from(pa.Array.from_buffers(array.type, len(array), [None, *buffers[1:]], offset=array.offset))
    valid = array.is_valid()

    def take(places: pa.Array) -> pa.Array:
        some = values(places)
        bits = pc.take(valid, places, boundscheck=False).buffers()[1]
        return pa.Array.from_buffers(array.type, len(places), [bits, *some.buffers()[1:]])

    return take


def _taking_texts(array: pa.Array) -> Take:
    _, places, data = array.buffers()
    offsets = np.frombuffer(places, np.int32)[array.offset : array.offset + len(array) + 1]
    lengths = np.diff(offsets)
    width = int(lengths[0])
    if width and (lengths == width).all():
        return _taking_alike(array.type, data.slice(int(offsets[0])), len(array), width)
    binary = pa.Array.from_buffers(pa.binary(), len(array), [None, places, data], offset=array.offset)
    return _taking_views(array.type, binary.cast(pa.binary_view()))


def _taking_alike(kind: pa.DataType, data: pa.Buffer, rows: int, width: int) -> Take:
    """Texts that all have *width* bytes."""
    values = pa.Array.from_buffers(pa.binary(width), rows, [None, data])

    def take(places: pa.Array) -> pa.Array:
        taken = pc.take(values, places, boundscheck=False).buffers()[1]
        offsets = np.arange(0, (len(places) + 1) * width, width, dtype=np.int32)
        return pa.Array.from_buffers(kind, len(places), [None, pa.py_buffer(offsets), taken])

    return take


def _taking_views(kind: pa.DataType, views: pa.Array) -> Take:
    _, table, *contents = views.buffers()
    heads = pa.Array.from_buffers(pa.binary(_VIEW_SIZE), len(views), [None, table], offset=views.offset)

    def take(places: pa.Array) -> pa.Array:
        taken = pc.take(heads, places, boundscheck=False).buffers()[1]
        texts = pa.Array.from_buffers(pa.binary_view(), len(places), [None, taken, *contents]).cast(pa.binary())
        return pa.Array.from_buffers(kind, len(places), texts.buffers())

    return take


Hashes = npt.NDArray[np.uint64]

_KEY = "key"
_ROWS_AT_ONCE = 1 << 14  # their hashes stay in the processor's cache
_WORD = 8
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_ALL_BITS = np.uint64(0xFFFFFFFFFFFFFFFF)


def key_hashes(keys: pa.ChunkedArray) -> Hashes:
    """A hash per key: the same for the same text, whatever array it is in."""
    parts = [
        _hash_slice(chunk.slice(start, _ROWS_AT_ONCE))
        for chunk in keys.chunks
        for start in range(0, len(chunk), _ROWS_AT_ONCE)
    ]
    return np.concatenate([np.empty(0, np.uint64), *parts])


def _hash_slice(keys: pa.Array) -> Hashes:
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
    for begin in range(0, longest, _WORD):
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
    return hashes


def _order(hashes: Hashes) -> Integers:
    """The rows of *hashes* in ascending order of these."""
    # The rows, in place of the lowest bits, are sorted along: that takes a fraction of the time of argsort.
    low = np.uint64((1 << len(hashes).bit_length()) - 1)
    order = (np.sort(hashes & ~low | np.arange(len(hashes), dtype=np.uint64)) & low).astype(np.int64)
    ascending = hashes[order]
    return order if (ascending[1:] >= ascending[:-1]).all() else np.argsort(hashes)


def all_differ(keys: pa.ChunkedArray) -> bool:
    """Whether it is certain that no two of *keys* are the same."""
    hashes = np.sort(key_hashes(keys))
    return bool((hashes[1:] != hashes[:-1]).all())


class KeyIndex:
    """Finds keys by their numbers among the different ones; ``rows`` says in which row of *keys* each one is first.

    *hashes* are theirs, ascending, if all differ.  *numbering* gives the number of each of *keys*.
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
        """The index of *keys*, some of which may be the same."""
        hashes = key_hashes(keys)
        order = _order(hashes)
        ascending = hashes[order]
        new = np.ones(len(order), np.bool_)
        new[1:] = ascending[1:] != ascending[:-1]
        again = np.flatnonzero(~new)
        if not len(again):
            return cls(keys, order, ascending, partial(_numbers, order, None))
        if _equal(keys.take(pa.array(order[again])), keys.take(pa.array(order[again - 1]))):
            return cls(keys, order[new], ascending[new], partial(_numbers, order, new))
        numbers = np.asarray(keys.combine_chunks().dictionary_encode().indices).astype(np.int64)
        rows = np.unique(numbers, return_index=True)[1].astype(np.int64)
        return cls(keys, rows, None, lambda: numbers)

    @cached_property
    def _source(self) -> RowSource:
        return RowSource(pa.table([self._keys], [_KEY]))

    def __len__(self) -> int:
        return len(self.rows)

    def numbers(self) -> Integers:
        """The number of each of the keys that the index is of; made when it is asked for."""
        return self._numbering()

    def texts(self, numbers: Integers) -> pa.ChunkedArray:
        """The keys with these numbers."""
        return self._source.at(self.rows[numbers])[_KEY]

    def find(self, keys: pa.ChunkedArray) -> tuple[Integers, Integers]:
        """The rows of *keys* that are there, in ascending order, and the number of each."""
        if not len(self):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        if self._hashes is None:
            return self._find_by_table(keys)
        hashes = key_hashes(keys)
        ascending = _order(hashes)  # neighbours are looked up together, which spares the cache
        places = np.empty(len(hashes), np.int64)
        places[ascending] = np.searchsorted(self._hashes, hashes[ascending])
        places = np.minimum(places, len(self) - 1)
        found = np.flatnonzero(self._hashes[places] == hashes)
        numbers = places[found]
        asked = keys if len(found) == len(keys) else keys.take(pa.array(found))
        if not _equal(asked, self.texts(numbers)):
            return self._find_by_table(keys)
        return found, numbers

    def _find_by_table(self, keys: pa.ChunkedArray) -> tuple[Integers, Integers]:
        known = self._keys.take(pa.array(self.rows)).combine_chunks()
        every = np.asarray(pc.fill_null(pc.index_in(keys, value_set=known), -1)).astype(np.int64)
        found = np.flatnonzero(every >= 0)
        return found, every[found]


def _numbers(order: Integers, new: npt.NDArray[np.bool_] | None) -> Integers:
    """The number of each key, out of the keys in ascending *order*; *new* says which differ from those before them."""
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.arange(len(order)) if new is None else np.cumsum(new) - 1
    return numbers


def _equal(keys: pa.ChunkedArray, others: pa.ChunkedArray) -> bool:
    return bool(pc.all(pc.equal(keys, others)).as_py() is not False)
