"""The rows of one partition of a write -> handles of its file groups.

Rows are gathered until there are many, or all: where new rows go is planned over their number, and whether an update
rewrites a base file depends on there being new rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.errors import DataError, UnsupportedFeatureError
from hudiformat.index import NEW, Tags
from hudiformat.naming import WriteToken, new_file_id
from hudiformat.sizing import GroupVerdict, Kind, PartitionPlan, Verdict
from hudiformat.storage import Storage
from hudiformat.table.append import AppendHandle
from hudiformat.table.create_handle import CreateHandle, new_group_uuid
from hudiformat.table.merge_handle import MergeHandle
from hudiformat.table.partition import PartitionIndex
from hudiformat.table.placement import new_group_number
from hudiformat.table.places import Integers, groups_of_codes, taken
from hudiformat.table.plan import REPLACING, Operation, WritePlan
from hudiformat.timeline import TableType, WriteStat

Handle = AppendHandle | CreateHandle | MergeHandle
_INSERTS = (Operation.INSERT, Operation.BULK_INSERT, *REPLACING)


class PartitionWriter:
    """Writes rows of one partition.  ``count`` hands out the numbers of rows, over all of a task's partitions."""

    def __init__(
        self, storage: Storage, plan: WritePlan, token: WriteToken, partition_path: str, count: Callable[[int], int]
    ) -> None:
        self._storage = storage
        self._plan = plan
        self._token = token
        self._path = partition_path
        self._count = count
        self._index = PartitionIndex(storage, plan, partition_path)
        self._new: list[tuple[pa.RecordBatch, pa.Array]] = []
        self._known: dict[str, list[tuple[pa.RecordBatch, pa.Array]]] = {}
        self._moved: list[tuple[str, pa.Array]] = []
        self._handles: dict[str, Handle] = {}
        self._groups: tuple[GroupVerdict, ...] | None = None
        placed = plan.placements.get(partition_path)
        self._rewritten: frozenset[str] = placed.candidates if placed else frozenset()
        self._opened = 0
        self._waiting_bytes = 0

    @property
    def buffered_bytes(self) -> int:
        """Bytes of rows that are in memory."""
        return self._waiting_bytes + sum(handle.buffered_bytes for handle in self._handles.values())

    def write(self, rows: pa.RecordBatch, record_keys: pa.Array) -> None:
        """Take *rows* (the table's own columns; for a delete, those that keys are made of).

        Raises:
            DataError: an insert of a key that is there, where ``hoodie.datasource.insert.dup.policy`` says fail.
            UnsupportedFeatureError: an update of a file group in a pending clustering.
        """
        if self._plan.operation in _INSERTS and not self._plan.uses_buckets and not self._looks_for_duplicates:
            self._add_new(rows, record_keys)
            return
        tags = self._index.tag(record_keys)
        if self._looks_for_duplicates:
            self._add_unless_there(rows, record_keys, tags)
            return
        for code, chosen in groups_of_codes(tags.codes):
            places = tags.rows[chosen]
            if code == NEW:
                self._add_new(taken(rows, places), taken(record_keys, places))
            elif self._plan.operation is not Operation.DELETE or tags.existing[code]:
                self._add_known(tags.file_ids[code], taken(rows, places), taken(record_keys, places))

    def write_placed(self, group: str, rows: pa.RecordBatch, record_keys: pa.Array, *, is_new: bool) -> None:
        """Take rows whose file group the plan's placement has named.

        Raises:
            UnsupportedFeatureError: an update of a file group in a pending clustering.
        """
        if not is_new:
            self._refuse_in_clustering(group)
            self._update(group, rows, record_keys)
            return
        rows, record_keys = _without_deleted(rows, record_keys, self._plan.schema.delete_column)
        if rows.num_rows:
            number = new_group_number(group)
            handle = self._handle_of(group) if number is None else self._create(number)
            handle.insert(rows, record_keys, first_counter=self._count(rows.num_rows))

    def write_found(self, file_id: str | None, rows: pa.RecordBatch, record_keys: pa.Array) -> None:
        """As :meth:`write`, for rows that a look-up in all partitions has found in *file_id*, or nowhere.

        Raises:
            UnsupportedFeatureError: an update of a file group in a pending clustering.
        """
        if file_id is None:
            self._add_new(rows, record_keys)
        else:
            self._add_known(file_id, rows, record_keys)

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
        placed = self._placed(new) if new else []
        for file_id, parts in known.items():
            for rows, keys in parts:
                self._update(file_id, rows, keys)
        for file_id, keys in self._moved:
            handle = self._handle_of(file_id)
            assert not isinstance(handle, CreateHandle)  # noqa: S101 - as in _update
            handle.delete(keys)
        self._moved = []
        for handle, rows, keys in placed:
            handle.insert(rows, keys, first_counter=self._count(rows.num_rows))

    def flush(self) -> None:
        """Settle, and write what the handles can write before the end."""
        self.settle()
        for handle in self._handles.values():
            handle.flush()

    def close(self) -> list[WriteStat]:
        """Write what is left; a statistic for every file."""
        self.settle()
        stats = [stat for handle in self._handles.values() for stat in handle.close()]
        self._handles = {}
        return stats

    def abandon(self) -> None:
        """Leave everything for the write's rollback to take away."""
        for handle in self._handles.values():
            handle.abandon()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write."""
        return not (self._new or self._known or self._moved or self._handles)

    @property
    def _looks_for_duplicates(self) -> bool:
        return self._plan.operation is Operation.INSERT and self._plan.options.insert_duplicates != "none"

    def _add_new(self, rows: pa.RecordBatch, keys: pa.Array) -> None:
        if self._plan.operation is Operation.DELETE:
            return  # there is nothing to delete
        rows, keys = _without_deleted(rows, keys, self._plan.schema.delete_column)
        if rows.num_rows:
            self._new.append((rows, keys))
            self._waiting_bytes += rows.nbytes

    def _add_known(self, file_id: str, rows: pa.RecordBatch, keys: pa.Array) -> None:
        self._refuse_in_clustering(file_id)
        self._known.setdefault(file_id, []).append((rows, keys))
        self._waiting_bytes += rows.nbytes

    def _refuse_in_clustering(self, file_id: str) -> None:
        if (self._path, file_id) in self._plan.in_clustering:
            raise UnsupportedFeatureError(
                f"the file group {file_id} in partition {self._path!r} is in a pending clustering, which would lose "
                "updates: carry it out or roll it back first",
                feature="updates during a clustering",
            )

    def _add_unless_there(self, rows: pa.RecordBatch, keys: pa.Array, tags: Tags) -> None:
        """Source: HoodieSparkSqlWriter, DataSourceUtils.resolveDuplicates."""
        new = tags.rows[tags.codes == NEW]
        if len(new) < len(keys) and self._plan.options.insert_duplicates == "fail":
            there = keys[int(tags.rows[tags.codes != NEW][0])].as_py()
            raise DataError(f"the record key {there!r} is in partition {self._path!r} already")
        self._add_new(rows.take(pa.array(new)), keys.take(pa.array(new)))

    def _placed(
        self, parts: list[tuple[pa.RecordBatch, pa.Array]]
    ) -> Iterator[tuple[Handle, pa.RecordBatch, pa.Array]]:
        """The new rows with the handles that they go to; which groups are rewritten is known when this returns."""
        if self._plan.sizing is None:
            handle = self._create(0)
            return iter([(handle, rows, keys) for rows, keys in parts])
        rows = pa.Table.from_batches([part[0] for part in parts]).combine_chunks()
        keys = pa.chunked_array([part[1] for part in parts]).combine_chunks()
        plan = self._plan.sizing.plan(self._path, len(keys), self._fillable())
        self._rewritten |= plan.candidates
        handles = self._handles_of(plan)
        return self._by_bucket(handles, rows, keys, plan.assign(keys))

    @staticmethod
    def _by_bucket(
        handles: list[Handle], rows: pa.Table, keys: pa.Array, buckets: Integers
    ) -> Iterator[tuple[Handle, pa.RecordBatch, pa.Array]]:
        for bucket, chosen in groups_of_codes(buckets):
            places = pa.array(chosen)
            taken_keys = keys.take(places)
            taken = rows.take(places) if len(handles) > 1 else rows
            start = 0
            for batch in taken.combine_chunks().to_batches():
                yield handles[bucket], batch, taken_keys.slice(start, batch.num_rows)
                start += batch.num_rows

    def _fillable(self) -> tuple[GroupVerdict, ...]:
        """The file groups as sizing sees them; a group that this write has given a log file is small no more."""
        assert self._plan.sizing is not None  # noqa: S101 - whoever asks has looked
        if self._groups is None:
            self._groups = self._plan.sizing.small_files(self._path, self._index.slices)
        if self._plan.sizing.kind is not Kind.MOR_BLIND:
            return self._groups
        return tuple(
            replace(group, verdict=Verdict.HAS_LOGS)
            if isinstance(self._handles.get(group.file_id), AppendHandle)
            else group
            for group in self._groups
        )

    def _handles_of(self, plan: PartitionPlan) -> list[Handle]:
        """A handle for each bucket; the groups are remembered as they are after this plan, in case more rows come."""
        handles: list[Handle] = []
        opened: list[GroupVerdict] = []
        for bucket in plan.buckets:
            if bucket.file_id is not None:
                handles.append(self._handle_of(bucket.file_id))
                continue
            size = bucket.records * plan.record_size.size
            opened.append(GroupVerdict(str(self._opened), size, Verdict.SMALL))
            handles.append(self._create(self._opened))
            self._opened += 1
        grown = [
            replace(group, size=group.size + group.records * plan.record_size.size, records=0, room=None)
            for group in plan.groups
        ]
        self._groups = (*grown, *opened)
        return handles

    def _handle_of(self, file_id: str) -> Handle:
        """The handle of a file group: one that was there, or a bucket, or one that this write has opened."""
        if file_id not in self._handles:
            self._handles[file_id] = self._open(file_id)
        return self._handles[file_id]

    def _open(self, file_id: str) -> Handle:
        is_cow = self._plan.config.table_type is TableType.COPY_ON_WRITE
        is_replacing = self._plan.operation in REPLACING  # which opens buckets anew
        if is_cow or is_replacing or (file_id in self._rewritten and self._kind is Kind.MOR_BLIND):
            base = next((item.base_file for item in self._index.slices if item.file_id == file_id), None)
            return MergeHandle(self._storage, self._plan, self._token, self._path, file_id=file_id, base=base)
        below = None
        if self._plan.config.cdc_enabled or self._plan.logs_name_slices:
            below = next((item for item in self._index.slices if item.file_id == file_id), None)
        return AppendHandle(self._storage, self._plan, self._token, self._path, file_id, below=below)

    @property
    def _kind(self) -> Kind | None:
        return self._plan.sizing.kind if self._plan.sizing else None

    def _create(self, number: int) -> Handle:
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

    def _update(self, file_id: str, rows: pa.RecordBatch, keys: pa.Array) -> None:
        handle = self._handle_of(file_id)
        assert not isinstance(handle, CreateHandle)  # noqa: S101 - a group that was there is never created
        if self._plan.operation is Operation.DELETE:
            handle.delete(keys)
            return
        if isinstance(handle, MergeHandle) and self._plan.operation in _INSERTS:  # into a bucket
            rows, keys = _without_deleted(rows, keys, self._plan.schema.delete_column)
            if rows.num_rows:
                handle.insert(rows, keys, first_counter=self._count(rows.num_rows))
            return
        deleted = _deleted(rows, self._plan.schema.delete_column)
        if deleted is not None and isinstance(handle, AppendHandle):
            handle.delete(keys.filter(deleted), self._ordering(rows.filter(deleted)))
            kept = pc.invert(deleted)
            rows, keys = rows.filter(kept), keys.filter(kept)
        if rows.num_rows:
            handle.update(rows, keys, first_counter=self._count(rows.num_rows))

    def _ordering(self, rows: pa.RecordBatch) -> pa.Array | None:
        fields = self._plan.config.ordering_fields
        if not fields:
            return None
        return delete_ordering([rows[name] for name in fields], fields)


def _without_deleted(rows: pa.RecordBatch, keys: pa.Array, column: str | None) -> tuple[pa.RecordBatch, pa.Array]:
    deleted = _deleted(rows, column)
    if deleted is None:
        return rows, keys
    kept = pc.invert(deleted)
    return rows.filter(kept), keys.filter(kept)


def _deleted(rows: pa.RecordBatch, column: str | None) -> pa.Array | None:
    """Which rows are deletes by their own column; None when none is."""
    if column is None:
        return None
    flags = pc.fill_null(rows[column], False)
    return flags if pc.any(flags).as_py() else None


def delete_ordering(values: Sequence[pa.Array], fields: Sequence[str]) -> pa.Array:
    """The ordering values of deletes as a delete block takes them."""
    held = [_as_spark_holds(array) for array in values]
    return held[0] if len(held) == 1 else pa.StructArray.from_arrays(held, names=list(fields))


def _as_spark_holds(values: pa.Array) -> pa.Array:
    """Ordering values of deletes: moments and dates as the numbers that Spark's rows hold.

    Hudi on Spark cannot compare a java.sql.Timestamp or Date with those, and lets the delete win.  It writes longs.
    """
    if pa.types.is_timestamp(values.type):
        return values.cast(pa.int64())
    return values.cast(pa.int32()) if pa.types.is_date32(values.type) else values
