"""Hand the rows of one partition of a write to the handles of its file groups.

Rows are buffered until there are many, or until no more come.  Two decisions need the new rows together: the plan that
spreads new rows over file groups counts them, and an update rewrites a base file only if new rows go into it, too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from hudiformat.codec.log.block import LogBlock
from hudiformat.errors import UnsupportedFeatureError
from hudiformat.file_group.slices import FileSlice
from hudiformat.naming.file_names import new_file_id, new_group_uuid
from hudiformat.sizing.flink_tasks import FlinkTasks
from hudiformat.sizing.small_files import GroupVerdict, Kind, Verdict
from hudiformat.sizing.spark import PartitionPlan
from hudiformat.table.options.values import REPLACING, Operation
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.timeline.table_config import TableType
from hudiformat.write.commit.files import GroupTarget
from hudiformat.write.commit.partitions import enter_partition
from hudiformat.write.commit.plan import SizingProfile
from hudiformat.write.handles.append import AppendHandle
from hudiformat.write.handles.append_new import AppendNewHandle
from hudiformat.write.handles.create import CreateHandle
from hudiformat.write.handles.logged_entries import LoggedEntries
from hudiformat.write.handles.merge import MergeHandle
from hudiformat.write.index.rows import (
    Integers,
    KeyedRows,
    LocatedRows,
    SortedRows,
    by_group,
    rows_by_code,
    sorted_by_group,
)
from hudiformat.write.index.tagging import PartitionIndex
from hudiformat.write.placement import new_group
from hudiformat.write.rows import deleted_rows, ordering_of_deletes, without_deletes

_ENCODED_TOGETHER = 256
"""File groups whose small blocks are encoded together."""
_MOST_THREADS = 8
_PARTS_OF_A_BLOCK = 1024
"""The rows of a file group are few if a block has room for this many times their bytes."""

Handle = AppendHandle | AppendNewHandle | CreateHandle | MergeHandle

_INSERTS = (Operation.INSERT, Operation.BULK_INSERT, *REPLACING)


class PartitionWriter:
    """Writes the rows of one partition.

    *count* takes a number of rows and returns the sequence number of the first, counted over all partitions of a task.
    *target* does not name a file group yet.
    """

    def __init__(self, target: GroupTarget, index: PartitionIndex, count: Callable[[int], int]) -> None:
        self._target = target
        self._index = index
        self._plan = target.plan
        self._path = target.partition_path
        self._count = count
        self._handles = GroupHandles(target, index)
        self._new_rows = NewRows(target, index, self._handles)
        self._new: list[KeyedRows] = []
        self._placed: list[tuple[str, KeyedRows]] = []
        self._known: list[LocatedRows] = []
        self._moved: list[tuple[str, pa.Array]] = []
        self._waiting_bytes = 0

    @property
    def buffered_bytes(self) -> int:
        """The bytes of the rows that are in memory."""
        return self._waiting_bytes + self._handles.buffered_bytes

    def write(self, located: LocatedRows) -> None:
        """Buffer rows, which have the table's own columns; in a delete, the columns that keys are made of.

        Raises:
            UnsupportedFeatureError: an update of a file group in a pending clustering.
        """
        rows = located.rows
        if located.is_new:
            rows = without_deletes(rows, self._plan.schema.delete_column)
            if self._plan.partial is not None:  # a new row needs all columns: those that the write lacks are null
                rows = replace(rows, rows=self._plan.schema.fit(rows.rows))
        if not len(rows):  # all of a bucket may have moved to other partitions, for instance
            return
        if not located.is_new:
            self._refuse_in_clustering(*located.present)
            self._known.append(located)
        elif located.groups:
            (group,) = located.groups
            self._placed.append((group, rows))
        else:
            self._new.append(rows)
        self._waiting_bytes += rows.rows.nbytes

    def remove(self, file_id: str, record_keys: pa.Array) -> None:
        """Delete the rows with *record_keys* from *file_id*, because they move to another partition.

        Raises:
            UnsupportedFeatureError: the file group is in a pending clustering.
        """
        self._refuse_in_clustering(file_id)
        self._moved.append((file_id, record_keys))

    def settle(self) -> None:
        """Hand the buffered rows to the handles of their file groups."""
        new, known, planned = self._new, self._known, self._placed
        self._new, self._known, self._placed, self._waiting_bytes = [], [], [], 0
        # Plan the new rows first: the plan says which base files are rewritten, and with it which handle updates need.
        placed = self._new_rows.placed(new) if new else []
        if known:
            self._hand_over_known(known)
        for file_id, keys in self._moved:
            self._handle_of_known(file_id).delete(keys)
        self._moved = []
        for handle, rows in placed:
            handle.insert(rows, first_counter=self._count(len(rows)))
        for group, rows in planned:
            name = new_group(group)
            handle = self._handles.of(group) if name is None else self._handles.of_new(name)
            handle.insert(rows, first_counter=self._count(len(rows)))

    def _hand_over_known(self, known: Sequence[LocatedRows]) -> None:
        """Hand rows to existing file groups: sorted and together if each group gets few rows, else part by part."""
        pieces, rows = by_group(known), sorted_by_group(known, small=self._most_bytes_together)
        if rows is not None:
            handles = [self._handle_of_known(file_id) for file_id in rows.groups]
            appending = [handle for handle in handles if isinstance(handle, AppendHandle)]
            if len(appending) == len(handles) and self._are_updates(rows.rows.rows):
                _append_together(appending, rows, first_counter=self._count(len(rows.rows)))
                return
            pieces = ((file_id, rows.rows.slice(start, count)) for file_id, start, count in rows.slices())
        for file_id, piece in pieces:
            self._update(file_id, piece)

    def _are_updates(self, rows: pa.RecordBatch) -> bool:
        """Return whether no row is a delete and no new row joins them in a block, which new rows might fill."""
        plan = self._plan
        has_deletes = plan.operation is Operation.DELETE or deleted_rows(rows, plan.schema.delete_column).any()
        return plan.uses_buckets and not has_deletes

    def flush(self) -> None:
        """Hand over the buffered rows, and write whatever the handles can write before the end."""
        self._enter()
        self.settle()
        self._handles.flush()

    def closing(self) -> Collection[Handle]:
        """Return the handles, which have all of their rows and must be closed now.

        A group that gets rows later has a new handle.
        """
        if self.is_empty:
            return ()
        self._enter()
        self.settle()
        return self._handles.closing()

    def abandon(self) -> None:
        """Stop writing; the rollback of the write deletes the files."""
        self._handles.abandon()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write."""
        return not (self._new or self._known or self._placed or self._moved or self._handles)

    def _enter(self) -> None:
        """Make the folder a partition, unless the listing has shown that it is one."""
        if not self._index.is_listed_as_partition:
            enter_partition(self._target.storage, self._plan, self._path)

    @property
    def _most_bytes_together(self) -> int:
        """The most bytes of rows of one file group that may be handed over together without changing the files.

        So few rows are far from filling a block.  It is 0 if a base file copies the rows without comparing them: handed
        over together, they would be in other pages.
        """
        operation, kind = self._plan.operation, self._plan.config.table_type
        is_copied = operation in REPLACING or (operation in _INSERTS and kind is TableType.COPY_ON_WRITE)
        return 0 if is_copied else self._plan.options.block_max_size // _PARTS_OF_A_BLOCK

    def _refuse_in_clustering(self, *file_ids: str) -> None:
        found = next((one for one in file_ids if (self._path, one) in self._plan.in_clustering), None)
        if found is not None:
            raise UnsupportedFeatureError(
                f"cannot update the file group {found} in partition {self._path!r}: it is in a pending clustering, "
                "which would lose the update; run the clustering or roll it back first",
                feature="updates during a clustering",
            )

    def _handle_of_known(self, file_id: str) -> AppendHandle | MergeHandle:
        handle = self._handles.of(file_id)
        assert not isinstance(handle, AppendNewHandle | CreateHandle)  # noqa: S101 - a group that existed is not new
        return handle

    def _update(self, file_id: str, rows: KeyedRows) -> None:
        handle = self._handle_of_known(file_id)
        if self._plan.operation is Operation.DELETE:
            handle.delete(rows.keys, positions=rows.positions)
            return
        if isinstance(handle, MergeHandle) and self._plan.operation in _INSERTS:  # an insert into an existing bucket
            rows = without_deletes(rows, self._plan.schema.delete_column)
            if len(rows):
                handle.insert(rows, first_counter=self._count(len(rows)))
            return
        deleted = deleted_rows(rows.rows, self._plan.schema.delete_column)
        if deleted.any() and isinstance(handle, AppendHandle):
            deletes = rows.where(deleted)
            ordering = ordering_of_deletes(deletes.rows, self._plan.config.ordering_fields)
            handle.delete(deletes.keys, ordering, positions=deletes.positions)
            rows = rows.where(~deleted)
        if len(rows):
            handle.update(rows, first_counter=self._count(len(rows)))


class NewRows:
    """Assigns new rows to file groups, once or more often: each plan starts from the groups as the last left them."""

    def __init__(self, target: GroupTarget, index: PartitionIndex, handles: GroupHandles) -> None:
        self._plan = target.plan
        self._path = target.partition_path
        self._index = index
        self._handles = handles
        self._groups: tuple[GroupVerdict, ...] | None = None
        self._opened = 0
        self._tasks: FlinkTasks | None = None

    def placed(self, parts: Sequence[KeyedRows]) -> Iterator[tuple[Handle, KeyedRows]]:
        """Return the rows with the handle that each part goes to.

        ``GroupHandles.rewritten`` is complete when this returns, before the iterator is read.
        """
        if self._plan.sizing is None:
            handle = self._handles.of_new("0")
            return iter([(handle, part) for part in parts])
        rows = pa.Table.from_batches([part.rows for part in parts]).combine_chunks()
        keys = pa.chunked_array([part.keys for part in parts]).combine_chunks()
        looked_up = all(part.positions is not None for part in parts)
        plan = self._plan_for(self._plan.sizing, keys)
        self._handles.rewritten |= plan.candidates
        handles = self._handles_of(plan)
        placed = self._split_by_bucket(handles, rows, keys, plan.assign(keys))
        return ((handle, part.not_in_base_file() if looked_up else part) for handle, part in placed)

    def _plan_for(self, sizing: SizingProfile, keys: pa.Array) -> PartitionPlan:
        # Flink's tasks remember their groups from one plan to the next; Spark starts from the groups as they are.
        if sizing.parallelism is None:
            return sizing.plan(self._path, len(keys), self._fillable())
        if self._tasks is None:
            self._tasks = sizing.tasks(self._plan.instant, self._path, self._fillable)
        return self._tasks.plan(sizing.parallelism.counts(keys))

    @staticmethod
    def _split_by_bucket(
        handles: list[Handle], rows: pa.Table, keys: pa.Array, buckets: Integers
    ) -> Iterator[tuple[Handle, KeyedRows]]:
        for bucket, chosen in rows_by_code(buckets):
            indices = pa.array(chosen)
            taken_keys = keys.take(indices)
            taken = rows.take(indices) if len(handles) > 1 else rows
            start = 0
            for batch in taken.combine_chunks().to_batches():
                yield handles[bucket], KeyedRows(batch, taken_keys.slice(start, batch.num_rows))
                start += batch.num_rows

    def _fillable(self) -> tuple[GroupVerdict, ...]:
        """Return the file groups as sizing sees them.

        A group to which this write has added a log file is no longer small.
        """
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
        """Return a handle for each bucket, and remember the groups as this plan leaves them, in case more rows come."""
        handles: list[Handle] = []
        opened: list[GroupVerdict] = []
        for bucket in plan.buckets:
            if bucket.file_id is not None:
                handles.append(self._handles.of(bucket.file_id))
                continue
            if bucket.new_id is not None:  # its Flink task goes on filling it, and does not look at self._groups
                handles.append(self._handles.of_new(bucket.new_id))
                continue
            size = bucket.records * plan.record_size.size
            opened.append(GroupVerdict(str(self._opened), size, Verdict.SMALL))
            handles.append(self._handles.of_new(str(self._opened)))
            self._opened += 1
        grown = [
            replace(group, size=group.size + group.records * plan.record_size.size, records=0, room=None)
            for group in plan.groups
        ]
        self._groups = (*grown, *opened)
        return handles


class GroupHandles:
    """Opens the handle of each file group when it is first asked for.

    ``rewritten`` are the groups whose base file is rewritten to take new rows, although the table has log files.
    """

    def __init__(self, target: GroupTarget, index: PartitionIndex) -> None:
        self._target = target
        self._plan = target.plan
        self._index = index
        self._handles: dict[str, Handle] = {}
        placed = self._plan.placements.get(target.partition_path)
        self.rewritten: frozenset[str] = placed.candidates if placed else frozenset()

    def __bool__(self) -> bool:
        return bool(self._handles)

    @property
    def buffered_bytes(self) -> int:
        """The bytes of the rows that are in memory."""
        return sum(handle.buffered_bytes for handle in self._handles.values())

    def of(self, file_id: str) -> Handle:
        """Return the handle of a file group: one that existed before, a bucket, or one that this write has opened."""
        if file_id not in self._handles:
            self._handles[file_id] = self._open(file_id)
        return self._handles[file_id]

    def of_new(self, name: str) -> Handle:
        """Return the handle of a new file group; *name* is its file id, or its number among those of this task."""
        if name not in self._handles:
            target = self._target.of_group(self._new_id(int(name)) if name.isdecimal() else name)
            is_logged = self._kind is Kind.MOR
            entries = partial(self._entries, below=None)
            self._handles[name] = AppendNewHandle(target, entries=entries) if is_logged else CreateHandle(target)
        return self._handles[name]

    def _new_id(self, number: int) -> str:
        path, token = self._target.partition_path, self._target.token
        return new_file_id(new_group_uuid(self._plan.instant, path, token.partition, number))

    def appends(self, file_id: str) -> bool:
        """Return whether this write adds a log file to a file group."""
        return isinstance(self._handles.get(file_id), AppendHandle)

    def flush(self) -> None:
        """Write whatever the handles can write before the end."""
        for handle in self._handles.values():
            handle.flush()

    def closing(self) -> Collection[Handle]:
        """Return all handles and forget them: a file group that gets rows later has a new handle."""
        handles, self._handles = self._handles, {}
        return handles.values()

    def abandon(self) -> None:
        """Stop writing; the rollback of the write deletes the files."""
        for handle in self._handles.values():
            handle.abandon()

    @property
    def _kind(self) -> Kind | None:
        return self._plan.sizing.kind if self._plan.sizing else None

    def _open(self, file_id: str) -> Handle:
        is_cow = self._plan.config.table_type is TableType.COPY_ON_WRITE
        is_replacing = self._plan.operation in REPLACING  # an overwrite begins buckets with a new base file
        if is_cow or is_replacing or (file_id in self.rewritten and self._kind is Kind.MOR_BLIND):
            return MergeHandle(self._target.of_group(file_id), self._index.slice_of.get(file_id))
        target, below = self._target.of_group(file_id), self._index.slice_of.get(file_id)
        return AppendHandle(
            target,
            below=below if self._plan.config.cdc_enabled or self._plan.logs_name_slices else None,
            base_instant=self._index.base_instants.get(file_id) if self._plan.writes_positions else None,
            partial=self._plan.partial,
            entries=self._entries(target, below),
        )

    def _entries(self, target: GroupTarget, below: FileSlice | None) -> LoggedEntries | None:
        """Return what finds the changes of indexes of single records; None if the table has no such index."""
        plan, index = self._plan, self._index
        if plan.indexes is None or not (plan.indexes.keys or plan.indexes.values):
            return None
        of_rows = not plan.uses_buckets and not plan.schema.keeps_operations  # each update is of a row that exists
        finds_live = of_rows and (plan.looks_everywhere or plan.record_index is not None)  # the row is not deleted
        return LoggedEntries(
            target, below, deleted=lambda: index.deleted_keys(None if finds_live else below), in_index=of_rows
        )


def _append_together(handles: Sequence[AppendHandle], rows: SortedRows, *, first_counter: int) -> None:
    """Give each of *handles* the rows of its group; most of the work is done once for all of them."""
    numbers = np.repeat(np.arange(len(handles), dtype=np.int32), rows.counts)
    file_ids = pa.DictionaryArray.from_arrays(numbers, pa.array(rows.groups))
    stored = handles[0].stored(rows.rows, file_ids, first_counter, is_update=True)
    for handle, (_, start, count) in zip(handles, rows.slices(), strict=True):
        handle.take(stored.share(start, count))


def close_handles(handles: Sequence[Handle], *, threads: int) -> list[WriteStat]:
    """Write what *handles* have left, and return the statistics of their files in the order of the handles.

    Base files are written by up to *threads* threads: most of the time goes into compression, which releases the
    interpreter's lock.
    """
    base_files = [handle for handle in handles if isinstance(handle, CreateHandle | MergeHandle)]
    at_once = min(threads, len(base_files), _MOST_THREADS)
    stats: list[WriteStat] = []
    with ThreadPoolExecutor(at_once) if at_once > 1 else nullcontext() as pool:
        written = {} if pool is None else {handle: pool.submit(handle.close) for handle in base_files}
        for start in range(0, len(handles), _ENCODED_TOGETHER):
            some = handles[start : start + _ENCODED_TOGETHER]
            blocks = _encode_together(some)
            for handle in some:
                if isinstance(handle, AppendHandle):
                    stats += handle.close(blocks.get(handle))
                else:
                    stats += written[handle].result() if handle in written else handle.close()
    return stats


def _encode_together(handles: Sequence[Handle]) -> dict[Handle, LogBlock]:
    """Encode the blocks of the *handles* that have one small block each: all together take hardly longer than one."""
    logged = [handle for handle in handles if isinstance(handle, AppendHandle)]
    small = [(handle, rows) for handle in logged if (rows := handle.one_block()) is not None]
    if len(small) <= 1:
        return {}
    encoded = small[0][0].encode([rows for _, rows in small])
    return {handle: block for (handle, _), block in zip(small, encoded, strict=True)}
