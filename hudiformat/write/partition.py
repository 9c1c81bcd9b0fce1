"""The handles of one partition's file groups in a write: which kind each group has, and what all of them hold.

The new rows of a partition -> the handles that they go to, as sizing plans it over their number.

The rows of one partition of a write -> handles of its file groups.

Rows are gathered until there are many, or all: where new rows go is planned over their number, and whether an update
rewrites a base file depends on there being new rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from hudiformat.errors import DataError, UnsupportedFeatureError
from hudiformat.index.lookup import NEW, PartitionIndex, Tags
from hudiformat.naming import WriteToken, new_file_id
from hudiformat.naming.file_names import new_group_uuid
from hudiformat.options.enums import REPLACING, DuplicatePolicy, Operation
from hudiformat.sizing import GroupVerdict, Kind, PartitionPlan, Verdict
from hudiformat.storage import Storage
from hudiformat.timeline import TableType, WriteStat
from hudiformat.transaction.plan import WritePlan
from hudiformat.write.handles.append import AppendHandle
from hudiformat.write.handles.create import CreateHandle
from hudiformat.write.handles.merge import MergeHandle
from hudiformat.write.placement import new_group_number
from hudiformat.write.rows import (
    Integers,
    KeyedRows,
    deleted_rows,
    groups_of_codes,
    ordering_of_deletes,
    without_deletes,
)

Handle = AppendHandle | CreateHandle | MergeHandle


class GroupHandles:
    """Opens the handle of each file group when it is first asked for.

    ``rewritten`` are the groups whose base file is rewritten though the table has log files: new rows fill them.
    """

    def __init__(
        self, storage: Storage, plan: WritePlan, token: WriteToken, partition_path: str, index: PartitionIndex
    ) -> None:
        self._storage = storage
        self._plan = plan
        self._token = token
        self._path = partition_path
        self._index = index
        self._handles: dict[str, Handle] = {}
        placed = plan.placements.get(partition_path)
        self.rewritten: frozenset[str] = placed.candidates if placed else frozenset()

    def __bool__(self) -> bool:
        return bool(self._handles)

    @property
    def buffered_bytes(self) -> int:
        """Bytes of rows that are in memory."""
        return sum(handle.buffered_bytes for handle in self._handles.values())

    def of(self, file_id: str) -> Handle:
        """The handle of a file group: one that was there, or a bucket, or one that this write has opened."""
        if file_id not in self._handles:
            self._handles[file_id] = self._open(file_id)
        return self._handles[file_id]

    def of_new(self, number: int) -> Handle:
        """The handle of a new file group: its number is its name among the handles."""
        name = str(number)
        if name not in self._handles:
            group = new_group_uuid(self._plan.instant, self._path, self._token.partition, number)
            if self._kind is Kind.MOR:
                self._handles[name] = AppendHandle(
                    self._storage, self._plan, self._token, self._path, new_file_id(group)
                )
            else:
                self._handles[name] = CreateHandle(self._storage, self._plan, self._token, self._path, group)
        return self._handles[name]

    def appends(self, file_id: str) -> bool:
        """Whether a file group has been given a log file."""
        return isinstance(self._handles.get(file_id), AppendHandle)

    def flush(self) -> None:
        """Write what the handles can write before the end."""
        for handle in self._handles.values():
            handle.flush()

    def close(self) -> list[WriteStat]:
        """Write what is left; a statistic for every file."""
        stats = [stat for handle in self._handles.values() for stat in handle.close()]
        self._handles = {}
        return stats

    def abandon(self) -> None:
        """Leave everything for the write's rollback to take away."""
        for handle in self._handles.values():
            handle.abandon()

    @property
    def _kind(self) -> Kind | None:
        return self._plan.sizing.kind if self._plan.sizing else None

    def _open(self, file_id: str) -> Handle:
        is_cow = self._plan.config.table_type is TableType.COPY_ON_WRITE
        is_replacing = self._plan.operation in REPLACING  # which opens buckets anew
        if is_cow or is_replacing or (file_id in self.rewritten and self._kind is Kind.MOR_BLIND):
            base = next((item.base_file for item in self._index.slices if item.file_id == file_id), None)
            return MergeHandle(self._storage, self._plan, self._token, self._path, file_id=file_id, base=base)
        below = None
        if self._plan.config.cdc_enabled or self._plan.logs_name_slices:
            below = next((item for item in self._index.slices if item.file_id == file_id), None)
        return AppendHandle(
            self._storage,
            self._plan,
            self._token,
            self._path,
            file_id,
            below=below,
            base_instant=self._index.base_instants.get(file_id) if self._plan.writes_positions else None,
            partial=self._plan.partial,
        )


class NewRows:
    """Places new rows, as often as there are some: the groups are remembered as each plan leaves them."""

    def __init__(self, plan: WritePlan, partition_path: str, index: PartitionIndex, handles: GroupHandles) -> None:
        self._plan = plan
        self._path = partition_path
        self._index = index
        self._handles = handles
        self._groups: tuple[GroupVerdict, ...] | None = None
        self._opened = 0

    def placed(self, parts: Sequence[KeyedRows]) -> Iterator[tuple[Handle, KeyedRows]]:
        """The rows with the handles that they go to; which groups are rewritten is known when this returns."""
        if self._plan.sizing is None:
            handle = self._handles.of_new(0)
            return iter([(handle, part) for part in parts])
        rows = pa.Table.from_batches([part.rows for part in parts]).combine_chunks()
        keys = pa.chunked_array([part.keys for part in parts]).combine_chunks()
        looked_up = all(part.positions is not None for part in parts)
        plan = self._plan.sizing.plan(self._path, len(keys), self._fillable())
        self._handles.rewritten |= plan.candidates
        handles = self._handles_of(plan)
        placed = self._by_bucket(handles, rows, keys, plan.assign(keys))
        return ((handle, part.nowhere() if looked_up else part) for handle, part in placed)

    @staticmethod
    def _by_bucket(
        handles: list[Handle], rows: pa.Table, keys: pa.Array, buckets: Integers
    ) -> Iterator[tuple[Handle, KeyedRows]]:
        for bucket, chosen in groups_of_codes(buckets):
            places = pa.array(chosen)
            taken_keys = keys.take(places)
            taken = rows.take(places) if len(handles) > 1 else rows
            start = 0
            for batch in taken.combine_chunks().to_batches():
                yield handles[bucket], KeyedRows(batch, taken_keys.slice(start, batch.num_rows))
                start += batch.num_rows

    def _fillable(self) -> tuple[GroupVerdict, ...]:
        """The file groups as sizing sees them; a group that this write has given a log file is small no more."""
        assert self._plan.sizing is not None  # noqa: S101 - whoever asks has looked
        if self._groups is None:
            self._groups = self._plan.sizing.small_files(self._path, self._index.slices)
        if self._plan.sizing.kind is not Kind.MOR_BLIND:
            return self._groups
        return tuple(
            replace(group, verdict=Verdict.HAS_LOGS) if self._handles.appends(group.file_id) else group
            for group in self._groups
        )

    def _handles_of(self, plan: PartitionPlan) -> list[Handle]:
        """A handle for each bucket; the groups are remembered as they are after this plan, in case more rows come."""
        handles: list[Handle] = []
        opened: list[GroupVerdict] = []
        for bucket in plan.buckets:
            if bucket.file_id is not None:
                handles.append(self._handles.of(bucket.file_id))
                continue
            size = bucket.records * plan.record_size.size
            opened.append(GroupVerdict(str(self._opened), size, Verdict.SMALL))
            handles.append(self._handles.of_new(self._opened))
            self._opened += 1
        grown = [
            replace(group, size=group.size + group.records * plan.record_size.size, records=0, room=None)
            for group in plan.groups
        ]
        self._groups = (*grown, *opened)
        return handles


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
        return (
            self._plan.operation is Operation.INSERT
            and self._plan.options.insert_duplicates is not DuplicatePolicy.NONE
        )

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
        if len(new) < len(rows) and self._plan.options.insert_duplicates is DuplicatePolicy.FAIL:
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
