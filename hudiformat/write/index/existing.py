"""The rows of a table that have the keys of a write, whatever their partitions: where they are, and what orders them.

They are found by reading all file slices that may hold one, or by the record index, which names a key's file group.
What the index says is checked in the rows of the file group where it matters:

- a row belongs to another partition than the one that the index names: whether it moves depends on the row there;
- an insert must know whether the key is there;
- a log file has deleted the key: the index keeps a key whose delete may have lost against the row.

A key of the index that is in no row any more and in none of these cases leads to an update that is an insert.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.file_group.merging.keys import KeyIndex
from hudiformat.file_group.partitions import list_partitions
from hudiformat.file_group.slices import FileSlice
from hudiformat.metadata_table.record_lookup import NOWHERE, RecordIndex
from hudiformat.schema.meta_fields import RECORD_KEY
from hudiformat.storage.protocol import Storage
from hudiformat.table.options.values import Operation
from hudiformat.write.commit.plan import WritePlan
from hudiformat.write.index.rows import Booleans, Integers, rows_by_code
from hudiformat.write.index.tagging import PartitionIndex

NUMBER, PATH, GROUP = "_hudiformat_number", "_hudiformat_path", "_hudiformat_group"


class NamedKeys(NamedTuple):
    """Keys that the record index says are in a file slice, and their numbers; where ``doubtful``, its rows decide."""

    file_slice: FileSlice
    numbers: Integers
    keys: pa.Array
    doubtful: Booleans


@dataclass(frozen=True, slots=True)
class ExistingRows:
    """Finds the rows of the table that have one of *record_keys*, whose numbers are those of *index*.

    *paths* are the partition paths of the rows of the write, *fields* the columns of which values are wanted.
    """

    plan: WritePlan
    storage: Storage
    record_keys: pa.Array
    paths: pa.Array
    index: KeyIndex
    fields: tuple[str, ...]
    _partitions: dict[str, PartitionIndex] = field(default_factory=dict)

    def found(self) -> Iterator[pa.Table]:
        """For each row the number of its key, where it is, and its values, which are null where they do not matter."""
        if self.plan.record_index is not None:
            yield from self._by_index(self.plan.record_index)
            return
        for path, _ in list_partitions(self.storage):
            for one in self._partition(path).slices:
                if self._partition(path).may_hold(one, self.record_keys):
                    yield from self._rows_of(one)

    def named(self, record_index: RecordIndex) -> Iterator[NamedKeys]:
        """The keys that *record_index* has, by the file slice that it names."""
        distinct = self.record_keys.take(pa.array(self.index.rows))
        codes, places = record_index.find(self.storage, distinct)
        doubtful = self._are_elsewhere(codes, [place.partition_path for place in places])
        for code, numbers in rows_by_code(codes):
            file_slice = None if code == NOWHERE else self._slice(*places[code])
            if file_slice is not None:  # else the index knows of a later commit, with which this write will conflict
                keys = distinct.take(pa.array(numbers))
                yield NamedKeys(file_slice, numbers, keys, doubtful[numbers] | self._are_deleted(file_slice, keys))

    def _by_index(self, record_index: RecordIndex) -> Iterator[pa.Table]:
        for file_slice, numbers, _, doubtful in self.named(record_index):
            if not doubtful.all():
                yield self._trusted(numbers[~doubtful], file_slice)
            if doubtful.any():
                yield from self._rows_of(file_slice, numbers[doubtful])

    def _are_elsewhere(self, codes: Integers, paths: list[str]) -> Booleans:
        """Which keys have a row of another partition than that of their place; all keys of an insert."""
        result = np.full(len(codes), self.plan.operation is Operation.INSERT)
        if self.plan.operation is Operation.UPSERT and paths:
            numbers = self.index.numbers()
            rows = np.flatnonzero(codes[numbers] != NOWHERE)
            there = pa.array(paths, pa.string()).take(pa.array(codes[numbers[rows]]))
            differ = np.asarray(pc.not_equal(self.paths.take(pa.array(rows)), there))
            result[numbers[rows[differ]]] = True
        return result

    def _are_deleted(self, file_slice: FileSlice, keys: pa.Array) -> Booleans:
        """Which of *keys* a log file of the slice may have deleted."""
        if self.plan.operation is not Operation.UPSERT or not file_slice.log_files:
            return np.zeros(len(keys), np.bool_)
        if self.plan.schema.keeps_operations:  # a record may be a delete by its operation
            return np.ones(len(keys), np.bool_)
        return np.asarray(pc.is_in(keys, value_set=self._partition(file_slice.partition_path).deleted_keys(file_slice)))

    def _trusted(self, numbers: Integers, file_slice: FileSlice) -> pa.Table:
        kinds = self.plan.schema.arrow
        values = {name: pa.nulls(len(numbers), kinds.field(name).type) for name in self.fields}
        return _located(numbers, file_slice, values)

    def _rows_of(self, file_slice: FileSlice, numbers: Integers | None = None) -> Iterator[pa.Table]:
        """The rows of a slice with one of the keys, or with one of those with *numbers*."""
        wanted = np.ones(len(self.index), np.bool_)
        if numbers is not None:
            wanted[:] = False
            wanted[numbers] = True
        for batch in self.plan.slice_reader().scan(self.storage, file_slice, columns=[RECORD_KEY, *self.fields]):
            table = pa.Table.from_batches([batch])
            rows, found = self.index.find(table[RECORD_KEY])
            rows, found = rows[wanted[found]], found[wanted[found]]
            yield _located(found, file_slice, {name: table[name].take(pa.array(rows)) for name in self.fields})

    def _slice(self, path: str, file_id: str) -> FileSlice | None:
        return next((one for one in self._partition(path).slices if one.file_id == file_id), None)

    def _partition(self, path: str) -> PartitionIndex:
        if path not in self._partitions:
            self._partitions[path] = PartitionIndex(self.storage, self.plan, path)
        return self._partitions[path]


def _located(numbers: Integers, file_slice: FileSlice, values: Mapping[str, pa.Array | pa.ChunkedArray]) -> pa.Table:
    where = {
        name: pa.repeat(pa.scalar(text, pa.string()), len(numbers))
        for name, text in ((PATH, file_slice.partition_path), (GROUP, file_slice.file_id))
    }
    return pa.table({NUMBER: pa.array(numbers, pa.int64()), **where, **values})
