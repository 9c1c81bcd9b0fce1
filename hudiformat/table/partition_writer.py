"""The rows of one partition of a write -> handles of its file groups.

Rows are gathered until there are many, or all: where new rows go is planned over their number, and whether an update
rewrites a base file depends on there being new rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa

from hudiformat.errors import DataError, UnsupportedFeatureError
from hudiformat.index import NEW, Tags
from hudiformat.naming import WriteToken
from hudiformat.storage import Storage
from hudiformat.table.append import AppendHandle
from hudiformat.table.create_handle import CreateHandle
from hudiformat.table.deletes import deleted_rows, ordering_of_deletes, without_deletes
from hudiformat.table.group_handles import GroupHandles
from hudiformat.table.keyed_rows import KeyedRows
from hudiformat.table.merge_handle import MergeHandle
from hudiformat.table.new_rows import NewRows
from hudiformat.table.partition import PartitionIndex
from hudiformat.table.placement import new_group_number
from hudiformat.table.places import groups_of_codes
from hudiformat.table.plan import REPLACING, Operation, WritePlan
from hudiformat.timeline import WriteStat

_INSERTS = (Operation.INSERT, Operation.BULK_INSERT, *REPLACING)


class PartitionWriter:
    """Writes rows of one partition.  ``count`` hands out the numbers of rows, over all of a task's partitions."""

    def __init__(
        self, storage: Storage, plan: WritePlan, token: WriteToken, partition_path: str, count: Callable[[int], int]
    ) -> None:
        self._plan = plan
        self._path = partition_path
        self._count = count
        self._index = PartitionIndex(storage, plan, partition_path)
        self._handles = GroupHandles(storage, plan, token, partition_path, self._index)
        self._placing = NewRows(plan, partition_path, self._index, self._handles)
        self._new: list[KeyedRows] = []
        self._known: dict[str, list[KeyedRows]] = {}
        self._moved: list[tuple[str, pa.Array]] = []
        self._waiting_bytes = 0

    @property
    def buffered_bytes(self) -> int:
        """Bytes of rows that are in memory."""
        return self._waiting_bytes + self._handles.buffered_bytes

    def write(self, rows: KeyedRows) -> None:
        """Take *rows* (the table's own columns; for a delete, those that keys are made of).

        Raises:
            DataError: an insert of a key that is there, where ``hoodie.datasource.insert.dup.policy`` says fail.
            UnsupportedFeatureError: an update of a file group in a pending clustering.
        """
        if self._plan.operation in _INSERTS and not self._plan.uses_buckets and not self._looks_for_duplicates:
            self._add_new(rows)
            return
        tags = self._index.tag(rows.keys)
        if self._looks_for_duplicates:
            self._add_unless_there(rows, tags)
            return
        for code, chosen in groups_of_codes(tags.codes):
            found = rows.at(tags.rows[chosen])
            if tags.positions is not None:
                found = replace(found, positions=tags.positions[chosen])
            if code == NEW:
                self._add_new(found)
            elif self._plan.operation is not Operation.DELETE or tags.existing[code]:
                self._add_known(tags.file_ids[code], found)

    def write_placed(self, group: str, rows: KeyedRows, *, is_new: bool) -> None:
        """Take rows whose file group the plan's placement has named.

        Raises:
            UnsupportedFeatureError: an update of a file group in a pending clustering.
        """
        if not is_new:
            self._refuse_in_clustering(group)
            self._update(group, rows)
            return
        rows = self._whole(without_deletes(rows, self._plan.schema.delete_column))
        if len(rows):
            number = new_group_number(group)
            handle = self._handles.of(group) if number is None else self._handles.of_new(number)
            handle.insert(rows, first_counter=self._count(len(rows)))

    def write_bucket(self, bucket: int, rows: KeyedRows) -> None:
        """Take rows that the hash of their keys puts into *bucket*.

        Raises:
            OptionError: the table's buckets contradict the options.
            UnsupportedFeatureError: an update of a file group in a pending clustering.
        """
        file_id, existing = self._index.bucket(bucket)
        if self._plan.operation is not Operation.DELETE or existing:
            self._add_known(file_id, rows)

    def write_found(self, file_id: str | None, rows: KeyedRows) -> None:
        """As :meth:`write`, for rows that a look-up in all partitions has found in *file_id*, or nowhere.

        Raises:
            UnsupportedFeatureError: an update of a file group in a pending clustering.
        """
        if file_id is None:
            self._add_new(rows)
        else:
            self._add_known(file_id, rows)

    def take_out(self, file_id: str, record_keys: pa.Array) -> None:
        """Delete the rows of *record_keys* from *file_id*: they move to another partition.

        Raises:
            UnsupportedFeatureError: they are in a file group in a pending clustering.
        """
        self._refuse_in_clustering(file_id)
        self._moved.append((file_id, record_keys))

    def settle(self) -> None:
        """Hand the rows that are waiting to the handles of their file groups."""
        new, known = self._new, self._known
        self._new, self._known, self._waiting_bytes = [], {}, 0
        placed = self._placing.placed(new) if new else []
        for file_id, parts in known.items():
            for rows in parts:
                self._update(file_id, rows)
        for file_id, keys in self._moved:
            self._handle_of_known(file_id).delete(keys)
        self._moved = []
        for handle, rows in placed:
            handle.insert(rows, first_counter=self._count(len(rows)))

    def flush(self) -> None:
        """Settle, and write what the handles can write before the end."""
        self.settle()
        self._handles.flush()

    def close(self) -> list[WriteStat]:
        """Write what is left; a statistic for every file."""
        self.settle()
        return self._handles.close()

    def abandon(self) -> None:
        """Leave everything for the write's rollback to take away."""
        self._handles.abandon()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write."""
        return not (self._new or self._known or self._moved or self._handles)

    @property
    def _looks_for_duplicates(self) -> bool:
        return self._plan.operation is Operation.INSERT and self._plan.options.insert_duplicates != "none"

    def _add_new(self, rows: KeyedRows) -> None:
        if self._plan.operation is Operation.DELETE:
            return  # there is nothing to delete
        rows = self._whole(without_deletes(rows, self._plan.schema.delete_column))
        if len(rows):
            self._new.append(rows)
            self._waiting_bytes += rows.rows.nbytes

    def _add_known(self, file_id: str, rows: KeyedRows) -> None:
        self._refuse_in_clustering(file_id)
        self._known.setdefault(file_id, []).append(rows)
        self._waiting_bytes += rows.rows.nbytes

    def _whole(self, rows: KeyedRows) -> KeyedRows:
        """*rows*, which are new: with all columns of the table, those that a partial update does not bring null."""
        return rows if self._plan.partial is None else replace(rows, rows=self._plan.schema.fit(rows.rows))

    def _refuse_in_clustering(self, file_id: str) -> None:
        if (self._path, file_id) in self._plan.in_clustering:
            raise UnsupportedFeatureError(
                f"the file group {file_id} in partition {self._path!r} is in a pending clustering, which would lose "
                "updates: carry it out or roll it back first",
                feature="updates during a clustering",
            )

    def _add_unless_there(self, rows: KeyedRows, tags: Tags) -> None:
        """Source: HoodieSparkSqlWriter, DataSourceUtils.resolveDuplicates."""
        new = tags.rows[tags.codes == NEW]
        if len(new) < len(rows) and self._plan.options.insert_duplicates == "fail":
            there = rows.keys[int(tags.rows[tags.codes != NEW][0])].as_py()
            raise DataError(f"the record key {there!r} is in partition {self._path!r} already")
        self._add_new(rows.at(new))

    def _handle_of_known(self, file_id: str) -> AppendHandle | MergeHandle:
        handle = self._handles.of(file_id)
        assert not isinstance(handle, CreateHandle)  # noqa: S101 - a group that was there is never created
        return handle

    def _update(self, file_id: str, rows: KeyedRows) -> None:
        handle = self._handle_of_known(file_id)
        if self._plan.operation is Operation.DELETE:
            handle.delete(rows.keys, positions=rows.positions)
            return
        if isinstance(handle, MergeHandle) and self._plan.operation in _INSERTS:  # into a bucket
            rows = without_deletes(rows, self._plan.schema.delete_column)
            if len(rows):
                handle.insert(rows, first_counter=self._count(len(rows)))
            return
        deleted = deleted_rows(rows.rows, self._plan.schema.delete_column)
        if deleted.any() and isinstance(handle, AppendHandle):
            gone = rows.where(deleted)
            ordering = ordering_of_deletes(gone.rows, self._plan.config.ordering_fields)
            handle.delete(gone.keys, ordering, positions=gone.positions)
            rows = rows.where(~deleted)
        if len(rows):
            handle.update(rows, first_counter=self._count(len(rows)))
