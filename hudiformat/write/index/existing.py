"""Find the rows of a table that have the keys of a write, in all partitions: their file groups and ordering values.

The rows are found by reading all file slices that may hold one, or by the record index, which names the file group of a
key.  What the index says is checked against the rows of the file group in three cases:

- A row belongs to another partition than the index names: whether it moves depends on the existing row.
- An insert must know whether the key exists.
- A log file has deleted the key: the index keeps a key whose delete may have lost against the row.

In all other cases, a key of the index that no row has any more leads to an update that is an insert.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.file_group.merging.keys import KeyIndex
from hudiformat.file_group.slices import FileSlice
from hudiformat.metadata_table.record_locations import RecordLocation
from hudiformat.metadata_table.record_lookup import NOWHERE, RecordIndex
from hudiformat.schema.meta_fields import RECORD_KEY
from hudiformat.storage.protocol import Storage
from hudiformat.storage.threads import FILE_GROUPS, for_each, side_by_side
from hudiformat.table.options.values import Operation
from hudiformat.write.commit.plan import WritePlan
from hudiformat.write.index.tagging import PartitionIndex
from hudiformat.write.rows import Booleans, Integers, group_by_code

NUMBER, PATH, GROUP = "_hudiformat_number", "_hudiformat_path", "_hudiformat_group"


class IndexedKeys(NamedTuple):
    """Keys that the record index finds in a file slice, and their numbers; if ``doubtful``, its rows decide."""

    file_slice: FileSlice
    numbers: Integers
    keys: pa.Array
    doubtful: Booleans


@dataclass(frozen=True, slots=True)
class ExistingRows:
    """Finds the rows of the table that have one of *record_keys*; *index* numbers these keys.

    *paths* are the partition paths of the rows of the write; *fields* are the columns whose values are wanted.
    """

    plan: WritePlan
    storage: Storage
    record_keys: pa.Array
    paths: pa.Array
    index: KeyIndex
    fields: tuple[str, ...]
    _partitions: dict[str, PartitionIndex] = field(default_factory=dict)

    def find(self) -> Iterator[pa.Table]:
        """Yield each row as the number of its key, its partition and file group, and its values.

        The values are null if they do not matter.
        """
        if self.plan.record_index is not None:
            yield from self._by_index(self.plan.record_index)
            return
        paths = self.plan.partitions(self.storage)
        self._list(paths)
        slices = [one for path in paths for one in self._partition(path).slices]
        yield from chain.from_iterable(side_by_side(self.storage, self._rows_in, slices, at_once=FILE_GROUPS))

    def find_in_index(self, record_index: RecordIndex) -> Iterator[IndexedKeys]:
        """Return the keys that *record_index* has, by the file slice that it names."""
        distinct = self.record_keys.take(pa.array(self.index.rows))
        codes, places = record_index.find(self.storage, distinct)
        doubtful = self._are_elsewhere(codes, [place.partition_path for place in places])
        groups = [(places[code], numbers) for code, numbers in group_by_code(codes) if code != NOWHERE]
        self._list(dict.fromkeys(place.partition_path for place, _ in groups))

        def look(group: tuple[RecordLocation, Integers]) -> IndexedKeys | None:
            place, numbers = group
            file_slice = self._slice(*place)
            if file_slice is None:  # a later commit has made the entry, and this write will conflict with it
                return None
            keys = distinct.take(pa.array(numbers))
            return IndexedKeys(file_slice, numbers, keys, doubtful[numbers] | self._are_deleted(file_slice, keys))

        found = side_by_side(self.storage, look, groups, at_once=FILE_GROUPS)
        return (one for one in found if one is not None)

    def _by_index(self, record_index: RecordIndex) -> Iterator[pa.Table]:
        found = self.find_in_index(record_index)
        yield from chain.from_iterable(side_by_side(self.storage, self._rows_found, found, at_once=FILE_GROUPS))

    def _rows_found(self, found: IndexedKeys) -> list[pa.Table]:
        file_slice, numbers, _, doubtful = found
        known = [] if doubtful.all() else [self._rows_by_index(numbers[~doubtful], file_slice)]
        return [*known, *(self._rows_of(file_slice, numbers[doubtful]) if doubtful.any() else ())]

    def _rows_in(self, file_slice: FileSlice) -> list[pa.Table]:
        """Return the rows of a slice with one of the keys; none without reading rows if its footer says so."""
        may_hold = self._partition(file_slice.partition_path).may_hold(file_slice, self.record_keys)
        return list(self._rows_of(file_slice)) if may_hold else []

    def _list(self, paths: Iterable[str]) -> None:
        """List partitions, those of a remote storage side by side."""
        for_each(self.storage, PartitionIndex.list_files, list(map(self._partition, paths)))

    def _are_elsewhere(self, codes: Integers, paths: list[str]) -> Booleans:
        """Return which keys have a row in the write for another partition than the index names; all in an insert."""
        result = np.full(len(codes), self.plan.operation is Operation.INSERT)
        if self.plan.operation is Operation.UPSERT and paths:
            numbers = self.index.numbers()
            rows = np.flatnonzero(codes[numbers] != NOWHERE)
            there = pa.array(paths, pa.string()).take(pa.array(codes[numbers[rows]]))
            differ = np.asarray(pc.not_equal(self.paths.take(pa.array(rows)), there))
            result[numbers[rows[differ]]] = True
        return result

    def _are_deleted(self, file_slice: FileSlice, keys: pa.Array) -> Booleans:
        """Return which of *keys* a log file of the slice may have deleted."""
        if self.plan.operation is not Operation.UPSERT or not file_slice.log_files:
            return np.zeros(len(keys), np.bool_)
        if self.plan.schema.keeps_operations:  # a record may be a delete by its operation
            return np.ones(len(keys), np.bool_)
        return np.asarray(pc.is_in(keys, value_set=self._partition(file_slice.partition_path).deleted_keys(file_slice)))

    def _rows_by_index(self, numbers: Integers, file_slice: FileSlice) -> pa.Table:
        kinds = self.plan.schema.arrow
        values = {name: pa.nulls(len(numbers), kinds.field(name).type) for name in self.fields}
        return _location_table(numbers, file_slice, values)

    def _rows_of(self, file_slice: FileSlice, numbers: Integers | None = None) -> Iterator[pa.Table]:
        """Yield the rows of a slice with one of the keys, or with one of the keys with *numbers*."""
        wanted = np.ones(len(self.index), np.bool_)
        if numbers is not None:
            wanted[:] = False
            wanted[numbers] = True
        for batch in self.plan.slice_reader().scan(self.storage, file_slice, columns=[RECORD_KEY, *self.fields]):
            table = pa.Table.from_batches([batch])
            rows, found = self.index.find(table[RECORD_KEY])
            rows, found = rows[wanted[found]], found[wanted[found]]
            yield _location_table(found, file_slice, {name: table[name].take(pa.array(rows)) for name in self.fields})

    def _slice(self, path: str, file_id: str) -> FileSlice | None:
        return next((one for one in self._partition(path).slices if one.file_id == file_id), None)

    def _partition(self, path: str) -> PartitionIndex:
        if path not in self._partitions:
            self._partitions[path] = PartitionIndex(self.storage, self.plan, path)
        return self._partitions[path]


def _location_table(
    numbers: Integers, file_slice: FileSlice, values: Mapping[str, pa.Array | pa.ChunkedArray]
) -> pa.Table:
    where = {
        name: pa.repeat(pa.scalar(text, pa.string()), len(numbers))
        for name, text in ((PATH, file_slice.partition_path), (GROUP, file_slice.file_id))
    }
    return pa.table({NUMBER: pa.array(numbers, pa.int64()), **where, **values})
