"""Route the rows of one partition of a write to the handles of its file groups.

Rows are buffered until there are many, or until no more come.  Two decisions need the new rows together: the plan that
spreads new rows over file groups counts them, and an update rewrites a base file only if new rows go into it, too.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

import pyarrow as pa

from hudiformat.errors import UnsupportedFeatureError
from hudiformat.file_group.slices import FileSlice
from hudiformat.naming.file_names import new_file_id, new_group_uuid
from hudiformat.sizing.small_files import Kind
from hudiformat.table.options.values import REPLACING, Operation
from hudiformat.timeline.table_config import TableType
from hudiformat.write.commit.files import GroupTarget
from hudiformat.write.commit.partitions import enter_partition
from hudiformat.write.handles.append import AppendHandle
from hudiformat.write.handles.append_new import AppendNewHandle
from hudiformat.write.handles.base_files import CreateHandle
from hudiformat.write.handles.logged_entries import LoggedEntries
from hudiformat.write.handles.merge import MergeHandle
from hudiformat.write.index.tagging import PartitionIndex
from hudiformat.write.new_rows import NewRows, new_group
from hudiformat.write.rows import LocatedRows, find_deletes, sort_by_group, split_by_group

PARTS_OF_A_BLOCK = 1024
"""The rows of a file group are few if a block has room for this many times their bytes."""

Handle = AppendHandle | AppendNewHandle | CreateHandle | MergeHandle

_INSERTS = (Operation.INSERT, Operation.BULK_INSERT, *REPLACING)


class PartitionWriter:
    """Writes the rows of one partition.

    *count* takes a number of rows and returns the sequence number of the first, counted over all partitions of a task.
    *target* does not name a file group yet.
    """

    def __init__(
        self,
        target: GroupTarget,
        index: PartitionIndex,
        count: Callable[[int], int],
        *,
        parts_of_a_block: int = PARTS_OF_A_BLOCK,
    ) -> None:
        self._target = target
        self._parts_of_a_block = parts_of_a_block
        self._index = index
        self._plan = target.plan
        self._path = target.partition_path
        self._count = count
        self._handles = GroupHandles(target, index)
        self._new_rows = NewRows(target.plan, self._path, index)
        self._new: list[LocatedRows] = []
        self._planned: list[LocatedRows] = []
        self._known: list[LocatedRows] = []
        self._moved: list[tuple[str, pa.Array]] = []
        self._waiting_bytes = 0
        self._entering = threading.Lock()
        self._syncs_entry = target.plan.options.sync
        self._is_entered = False

    @property
    def path(self) -> str:
        """The path of the partition below the table."""
        return self._path

    @property
    def buffered_bytes(self) -> int:
        """The bytes of the rows that are in memory."""
        return self._waiting_bytes + self._handles.buffered_bytes

    def write(self, rows: LocatedRows) -> None:
        """Buffer rows, which have the table's own columns; in a delete, the columns that keys are made of.

        Raises:
            UnsupportedFeatureError: an update of a file group in a pending clustering.
        """
        if rows.is_new:
            rows = self._as_inserts(rows)
        if not len(rows):  # all of a bucket may have moved to other partitions, for instance
            return
        if not rows.is_new:
            self._refuse_in_clustering(*rows.groups_with_rows)
            self._known.append(rows)
        elif rows.groups:
            self._planned.append(rows)
        else:
            self._new.append(rows)
        self._waiting_bytes += rows.nbytes

    def remove(self, file_id: str, record_keys: pa.Array) -> None:
        """Delete the rows with *record_keys* from *file_id*, because they move to another partition.

        Raises:
            UnsupportedFeatureError: the file group is in a pending clustering.
        """
        self._refuse_in_clustering(file_id)
        self._moved.append((file_id, record_keys))

    def open_handles(self) -> Collection[Handle]:
        """Hand over the buffered rows, and return the handles, which may write what they have before the end."""
        self.enter()
        self._hand_over()
        return self._handles.opened

    def take_handles(self) -> Collection[Handle]:
        """Return the handles, which have all of their rows and must be closed now, after :meth:`enter`.

        A group that gets rows later has a new handle.
        """
        if self.is_empty:
            return ()
        if self._known or self._planned or self._moved or self._handles.appends_new:
            self.enter()  # a handle of a log file may write as soon as it has rows
        self._hand_over()
        return self._handles.take_all()

    @property
    def is_new(self) -> bool:
        """Whether the folder may not be a partition yet."""
        return not (self._is_entered or self._index.is_listed_as_partition)

    @property
    def changes_groups(self) -> bool:
        """Whether rows wait for file groups that exist, so that their files have to be known."""
        return bool(self._known or self._moved)

    def leave_sync(self) -> None:
        """Have :meth:`enter` not sync what it writes: the task syncs everything in the end."""
        self._syncs_entry = False

    def enter(self) -> None:
        """Make the folder a partition, unless it is one; any thread may call this, and the others wait.

        Raises:
            DataError: as for :func:`~hudiformat.write.commit.partitions.enter_partition`.
        """
        with self._entering:
            if self.is_new:
                enter_partition(self._target.storage, self._plan, self._path, sync=self._syncs_entry)
            self._is_entered = True

    def abandon(self) -> None:
        """Stop writing; the rollback of the write deletes the files."""
        self._handles.abandon()

    @property
    def groups_with_rows(self) -> int:
        """How many file groups the buffered rows are known to go to, and one for all new rows."""
        known = {name for part in (*self._known, *self._planned) for name in part.groups_with_rows}
        return len(known) + len(self._moved) + bool(self._new)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write."""
        return not (self._new or self._known or self._planned or self._moved or self._handles)

    def _as_inserts(self, rows: LocatedRows) -> LocatedRows:
        """Return new rows without deletes and with all columns: those that a partial update lacks are null."""
        rows = rows.drop_deletes(self._plan.rule)
        return rows if self._plan.partial is None else replace(rows, rows=self._plan.schema.fit(rows.rows))

    def _hand_over(self) -> None:
        """Hand the buffered rows to the handles of their file groups."""
        new, known, moved, planned = self._new, self._known, self._moved, self._planned
        self._new, self._known, self._moved, self._planned, self._waiting_bytes = [], [], [], [], 0
        # Sizing first: it says which base files are rewritten, and with it which handle the updates of a group need.
        assigned = self._new_rows.assign(new, self._handles.gets_log)
        handle_of = partial(self._handles.of, rewritten=assigned.rewritten)
        for group in assigned.groups:  # files are reported in the order of their handles: those of the plan come first
            handle_of(group)
        if known:
            self._hand_over_known(known, assigned.rewritten)
        for file_id, keys in moved:
            self._handles.of_known(file_id, assigned.rewritten).delete(keys)
        for part in chain(assigned.parts, planned):
            handle_of(part.group).insert(part, first_counter=self._count(len(part)))

    def _hand_over_known(self, known: Sequence[LocatedRows], rewritten: frozenset[str]) -> None:
        """Hand rows to existing file groups: sorted and together if each group gets few rows, else part by part."""
        rows = sort_by_group(known, small=self._most_bytes_together)
        if rows is None:
            for part in split_by_group(known):
                self._update(part, self._handles.of_known(part.group, rewritten))
            return
        handles = [self._handles.of_known(file_id, rewritten) for file_id in rows.groups]
        appending = [handle for handle in handles if isinstance(handle, AppendHandle)]
        if len(appending) == len(handles) and self._are_updates(rows.rows):
            _append_together(appending, rows, first_counter=self._count(len(rows)))
            return
        for handle, (_, start, count) in zip(handles, rows.runs(), strict=True):
            self._update(rows.slice(start, count), handle)

    def _are_updates(self, rows: pa.RecordBatch) -> bool:
        """Return whether no row is a delete and no new row joins them in a block, which new rows might fill."""
        plan = self._plan
        has_deletes = plan.operation is Operation.DELETE or find_deletes(rows, plan.rule).any()
        return plan.uses_buckets and not has_deletes

    @property
    def _most_bytes_together(self) -> int:
        """The most bytes of rows of one file group that may be handed over together without changing the files.

        So few rows are far from filling a block.  It is 0 if a base file copies the rows without comparing them: handed
        over together, they would be in other pages.
        """
        operation, kind = self._plan.operation, self._plan.config.table_type
        is_copied = operation in REPLACING or (operation in _INSERTS and kind is TableType.COPY_ON_WRITE)
        return 0 if is_copied else self._plan.options.block_max_size // self._parts_of_a_block

    def _refuse_in_clustering(self, *file_ids: str) -> None:
        found = next((one for one in file_ids if (self._path, one) in self._plan.in_clustering), None)
        if found is not None:
            raise UnsupportedFeatureError(
                f"cannot update the file group {found} in partition {self._path!r}: expected none "
                "in a pending clustering, which would lose the update, found one; run the "
                "clustering or roll it back first",
                feature="updates during a clustering",
            )

    def _update(self, rows: LocatedRows, handle: AppendHandle | MergeHandle) -> None:
        """Hand the rows of one existing file group to its handle, by what the operation makes of them."""
        if self._plan.operation is Operation.DELETE:
            handle.delete(rows.keys, positions=rows.positions)
            return
        if isinstance(handle, MergeHandle) and self._plan.operation in _INSERTS:  # an insert into an existing bucket
            rows = rows.drop_deletes(self._plan.rule)
            if len(rows):
                handle.insert(rows, first_counter=self._count(len(rows)))
            return
        deleted = find_deletes(rows.rows, self._plan.rule)
        if deleted.any() and isinstance(handle, AppendHandle):
            handle.delete_rows(rows.where(deleted))
            rows = rows.where(~deleted)
        if len(rows):
            handle.update(rows, first_counter=self._count(len(rows)))


class GroupHandles:
    """Opens the handle of each file group when it is first asked for.

    *rewritten*, an argument of the methods that open handles, are the groups whose base file is rewritten to take new
    rows, although the table has log files.
    """

    def __init__(self, target: GroupTarget, index: PartitionIndex) -> None:
        self._target = target
        self._plan = target.plan
        self._index = index
        self._handles: dict[str, Handle] = {}

    def __bool__(self) -> bool:
        return bool(self._handles)

    @property
    def buffered_bytes(self) -> int:
        """The bytes of the rows that are in memory."""
        return sum(handle.buffered_bytes for handle in self._handles.values())

    def of(self, group: str, rewritten: frozenset[str]) -> Handle:
        """Return the handle of a file group: one that existed before, a bucket, or one that this write opens."""
        if group not in self._handles:
            name = new_group(group)
            self._handles[group] = self._open_known(group, rewritten) if name is None else self._open_new(name)
        return self._handles[group]

    def of_known(self, file_id: str, rewritten: frozenset[str]) -> AppendHandle | MergeHandle:
        """Return the handle of a file group that existed before, or of a bucket."""
        handle = self.of(file_id, rewritten)
        assert not isinstance(handle, AppendNewHandle | CreateHandle)  # noqa: S101 - a group that existed is not new
        return handle

    def gets_log(self, file_id: str) -> bool:
        """Return whether this write adds a log file to a file group that existed before."""
        return isinstance(self._handles.get(file_id), AppendHandle)

    @property
    def appends_new(self) -> bool:
        """Whether new rows go to log files."""
        return self._kind is Kind.MOR

    @property
    def opened(self) -> Collection[Handle]:
        """The handles that are open."""
        return self._handles.values()

    def take_all(self) -> Collection[Handle]:
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

    def _open_new(self, name: str) -> AppendNewHandle | CreateHandle:
        """Open a new file group; *name* is its file id, or its number among those of this task."""
        target = self._target.of_group(self._new_id(int(name)) if name.isdecimal() else name)
        if self._kind is Kind.MOR:
            return AppendNewHandle(target, entries=partial(self._entries, below=None))
        return CreateHandle(target)

    def _new_id(self, number: int) -> str:
        path, token = self._target.partition_path, self._target.token
        return new_file_id(new_group_uuid(self._plan.instant, path, token.partition, number))

    def _open_known(self, file_id: str, rewritten: frozenset[str]) -> AppendHandle | MergeHandle:
        is_cow = self._plan.config.table_type is TableType.COPY_ON_WRITE
        is_replacing = self._plan.operation in REPLACING  # an overwrite begins buckets with a new base file
        target, below = self._target.of_group(file_id), self._index.slice_of.get(file_id)
        if is_cow or is_replacing or (file_id in rewritten and self._kind is Kind.MOR_BLIND):
            return MergeHandle(target, below)
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


def _append_together(handles: Sequence[AppendHandle], rows: LocatedRows, *, first_counter: int) -> None:
    """Give each of *handles* the rows of its group; most of the work is done once for all of them."""
    file_ids = pa.DictionaryArray.from_arrays(pa.array(rows.codes, pa.int32()), pa.array(rows.groups))
    stored = handles[0].add_meta_fields(rows, file_ids, first_counter, is_update=True)
    for handle, (_, start, count) in zip(handles, rows.runs(), strict=True):
        handle.take(stored.share(start, count))
