"""One write from its instant to its commit.

A write becomes visible in one step, when the completed instant appears on the timeline.  Before that step nothing of it
can be seen, and after it no work is left on which its validity depends.  If there are other writers, the start and the
end of a write hold the table's lock, and the write commits only if it conflicts with nothing that was committed since
it began.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass, replace
from typing import TypeAlias

from hudiformat.errors import (
    CorruptTableError,
    DecodeError,
    FilesGoneError,
    HudiFormatError,
    StorageError,
    WriteConflictError,
)
from hudiformat.file_group.deleted_files import is_of_any_write
from hudiformat.metadata_table.kinds.files import FILES
from hudiformat.naming.file_names import base_name
from hudiformat.notebook import Bar, Rows, Size, show
from hudiformat.schema.internal_schema import InternalSchema
from hudiformat.schema.table_schema import SchemaChange, TableSchema
from hudiformat.table.options.values import OVERWRITING, ConcurrencyMode, Operation
from hudiformat.table.schema_files import internal_schema_of
from hudiformat.table.state import TableContext, TableState
from hudiformat.table.support import refuse_operation, refuse_unwritable
from hudiformat.timeline.commit_metadata import CommitMetadata, WriteStat
from hudiformat.timeline.contents import begin_instant, remove_pending
from hudiformat.timeline.timeline import Instant, State
from hudiformat.write.commit.changing import change_timeline, register_write, unregister_write, wait_for_threads
from hudiformat.write.commit.conflicts import find_conflict
from hudiformat.write.commit.failed_writes import end_failed_writes
from hudiformat.write.commit.files import delete_files, delete_strays
from hudiformat.write.commit.heartbeats import SignOfLife, begin_heartbeat
from hudiformat.write.commit.markers import delete_markers, marked_instants
from hudiformat.write.commit.partitions import restore_partitions
from hudiformat.write.commit.plan import WritePlan, action_of, write_plan
from hudiformat.write.commit.publishing import (
    check_publishable,
    publish,
    refuse_new_indexes,
    refuse_others,
    refuse_rolled_back,
)
from hudiformat.write.commit.replacing import Replaced, overwritten_groups
from hudiformat.write.commit.streamer_checkpoints import streamer_checkpoint
from hudiformat.write.commit.validators import refuse_without_duckdb, validate
from hudiformat.write.metadata.metadata_table import MetadataTable
from hudiformat.write.metadata.preparing import refuse_unreadable
from hudiformat.write.reporting.commits import report_commit


@dataclass(frozen=True, slots=True)
class Commit:
    """A write that is visible.

    ``stats`` has an entry for every file that was created; sizes in it are bytes.  ``completion_time`` is when the
    write became visible; below table version 8 it may be unknown.

    Source: HoodieCommitMetadata; spec/timeline.md.
    """

    instant: str
    action: str
    stats: tuple[WriteStat, ...]
    completion_time: str | None = None

    def __repr__(self) -> str:
        counts = f"{len(self.stats)} files, {self.num_writes} records written, {self.num_deletes} deleted"
        return f"<Commit {self.instant} {self.action}: {counts}>"

    def _repr_html_(self) -> str:
        most = max((stat.file_size_in_bytes for stat in self.stats), default=0)
        facts = {"action": self.action, "records written": self.num_writes, "records deleted": self.num_deletes}
        rows = [
            (
                stat.partition_path,
                base_name(stat.path or ""),
                stat.num_inserts,
                stat.num_update_writes,
                stat.num_deletes,
                Size(stat.file_size_in_bytes),
                Bar((stat.file_size_in_bytes,), most),
            )
            for stat in self.stats
        ]
        columns = ("partition", "file", "inserted", "updated", "deleted", "size", "")
        return show(f"Commit {self.instant}", {**facts, "files": len(self.stats)}, Rows(columns, rows))

    @property
    def num_writes(self) -> int:
        """Records inserted and updated; ``num_writes`` of a statistic also counts records that a file only copied."""
        return sum(stat.num_inserts + stat.num_update_writes for stat in self.stats)

    @property
    def num_deletes(self) -> int:
        """Deletes written."""
        return sum(stat.num_deletes or 0 for stat in self.stats)


Committed: TypeAlias = tuple[Commit, TableState]
"""The commit of a write, and the state of the table as it left it."""


class Transaction:
    """A write that has an instant, requested and inflight on the timeline, until it commits or is abandoned.

    ``plan`` is what the tasks of the write share.  As a context manager, it abandons the write at the end of the block
    unless the write was committed.  An error of the block becomes a WriteConflictError if other writers have archived,
    cleaned or rolled back what the write needs.
    """

    def __init__(
        self, plan: WritePlan, seen: TableState, heartbeat: SignOfLife, change: SchemaChange | None = None
    ) -> None:
        self.plan = plan
        self.is_repeated = False
        """Whether another attempt follows if this one meets a conflict, which is then no error."""
        self._context = seen.context
        self._seen = seen  # the state when this write began
        self._heartbeat = heartbeat
        self._change = change
        self._result: Committed | None = None
        self._began = time.time()

    @property
    def instant(self) -> Instant:
        """The instant of the write, inflight."""
        return self.plan.inflight

    @property
    def is_committed(self) -> bool:
        """Whether the write is visible."""
        return self._result is not None

    @property
    def result(self) -> Committed:
        """The commit, and the state of the table as it left it; the write must be committed."""
        assert self._result is not None  # noqa: S101 - callers ask after commit()
        return self._result

    def hand_over(self) -> None:
        """Stop keeping the write alive here: the processes that it is sent to do so instead, by :meth:`keep_alive`."""
        self._heartbeat.hand_over()

    def keep_alive(self) -> AbstractContextManager[None]:
        """Return a context manager that keeps the write alive for other writers, in a process that it was sent to."""
        return self._heartbeat.keep_beating()

    def commit(
        self,
        stats: Iterable[WriteStat],
        extra: Mapping[str, str] | None = None,
        replaced: Replaced | None = None,
        *,
        internal: InternalSchema | None = None,
    ) -> Commit:
        """Make the whole write visible in one step, with *extra* in the extra metadata of the commit.

        *replaced* are the file groups that the write removes from the table, by partition path; an operation that
        overwrites names them itself.  *internal* is the new internal schema of the table if the write only changes
        columns.  Files that were begun and are in no statistic, left by failed attempts of a task, are deleted first.

        Raises:
            WriteConflictError: another writer has committed to the same file groups since this write began.
            CommitError: the completed instant could not be written; the table is as it was.
            ValidationError: a pre-commit validator refuses the write.
            LockError: another writer keeps the table's lock.
        """
        files = tuple(stats)  # a cluster's tasks may write them only now
        written = time.time()
        metadata = self._describe(files, extra or {}, replaced)
        storage, own = self._context.storage, self.instant.time
        has_others = self._context.options.concurrency.has_other_writers
        # The order of the steps decides whether the commit is correct.
        # 1. Before the commit: files of failed attempts would count as files of this commit once it is visible.
        if self.plan.in_tasks:
            delete_strays(storage, self.plan.config, own, metadata.write_stats)
        # 2. Under the lock, on a state that is read again: everything that can still refuse the write, without effects.
        with change_timeline(self._context, self._seen, again=True) as state:
            self._refuse_conflicts(state, metadata)
            schema = self._schema(state, internal)
            check_publishable(state, self._seen, self.instant, metadata)
            refuse_new_indexes(state, self.plan, self.instant, schema)
            has_ids = internal is not None or state.has_ids()
            ids = internal_schema_of(state, schema, own, changed=internal) if has_ids else {}
            stored = schema.without(state.config.dropped_fields).avro
            given = metadata.extra_metadata
            repeated = streamer_checkpoint(state, self.instant, given)
            metadata = replace(metadata, extra_metadata={"schema": stored, **ids, **repeated, **given})
            if state.options.validation.validators:
                validate(state, self.instant, metadata)
            # 3. The last checks before the commit: another writer may have deleted the metadata file of a partition;
            #    without a lock, another writer may have begun.
            if has_others:
                restore_partitions(storage, own, metadata.partition_to_write_stats, state.config)
            else:
                refuse_others(state, self._seen, self.instant)
            # 4. Visible: the metadata table first, then the timeline.  Without a lock, a rollback may have begun
            #    between the last check and this moment, so the timeline is checked once more.
            done = publish(state, self.instant, metadata)
            if not has_others:
                refuse_rolled_back(state, self.instant, done)
        # 5. After the commit: what this process remembers; then the heartbeat, which was needed until now; the markers
        #    last, because a task that finds them knows that its write is not over.
        commit = Commit(done.time, done.action.value, metadata.write_stats, done.completion_time)
        self._result = commit, replace(state, context=self._context).with_instant(done)
        self._context.parsed.operations = done, self.plan.schema.keeps_operations  # saves reading a file for it
        self._context.parsed.keep(done, _without_index_data(metadata))
        self._heartbeat.stop()
        unregister_write(storage.root, own)
        with suppress(StorageError):  # the write is visible; markers that are left behind do no harm
            if self.plan.in_tasks:  # again: a failed attempt may have gone on until now, and found its write pending
                delete_strays(storage, self.plan.config, own, metadata.write_stats)
            delete_markers(storage, own)
        report_commit(self._result[1], done, metadata, began=self._began, written=written)
        return commit

    def abandon(self) -> None:
        """Delete everything that the write has left, unless it has been committed.

        Nobody has seen any of it, so there is no rollback on the timeline.
        """
        if self.is_committed:
            return
        self._heartbeat.stop()
        try:
            self._remove_traces()
        finally:
            unregister_write(self._context.storage.root, self.instant.time)

    def __enter__(self) -> Transaction:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        conflict = self._conflict_of(error)
        try:
            self.abandon()
        except HudiFormatError:
            if error is None:  # else the first error says what went wrong, and the next writer cleans up
                raise
        if conflict is None:
            return False
        if not self.is_repeated and conflict is not error:
            raise conflict from error
        return self.is_repeated

    def _describe(
        self, stats: Sequence[WriteStat], extra: Mapping[str, str], replaced: Replaced | None
    ) -> CommitMetadata:
        by_partition: dict[str, list[WriteStat]] = {}
        for stat in stats:
            by_partition.setdefault(stat.partition_path or "", []).append(stat)
        if replaced is None and self.plan.operation in OVERWRITING:
            replaced = overwritten_groups(self._context.storage, self.plan, by_partition)
        return CommitMetadata(
            operation_type=self.plan.operation.value,
            partition_to_write_stats={path: tuple(group) for path, group in sorted(by_partition.items())},
            extra_metadata=dict(extra),
            partition_to_replace_file_ids=replaced,
        )

    def _conflict_of(self, error: BaseException | None) -> WriteConflictError | None:
        """Return *error* as a conflict, if other writers have changed the table so that this write cannot go on.

        Others may have archived an instant, or have cleaned or rolled back a file, that the write needs.
        """
        if self.is_committed or isinstance(error, WriteConflictError):
            return error if isinstance(error, WriteConflictError) else None
        if not isinstance(error, StorageError | CorruptTableError | DecodeError | FilesGoneError):
            return None
        if not self._context.options.concurrency.has_other_writers:
            return None
        if self._seen.again() is self._seen and not self._is_of_abandoned_file(error):
            return None
        root = self._context.storage.root
        return WriteConflictError(
            f"{root}: the write {self.instant.time} cannot go on: other writers have archived, cleaned or rolled "
            f"back files that it reads: {error}; nothing was written, write again "
            "(hoodie.write.num.retries.on.conflict.failures does so by itself)",
            path=root,
        )

    def _is_of_abandoned_file(self, error: HudiFormatError) -> bool:
        """Return whether *error* is about a file that another writer may have created, and deleted when it gave up.

        In table version 6 the name of the file does not say whose it is, and the instant of its writer may have come
        and gone without being seen.
        """
        if not isinstance(error, StorageError) or error.path is None:
            return False
        path = error.path.removeprefix(f"{self._context.storage.root}/")
        return is_of_any_write(self.plan.config, path) and not self._context.storage.exists(path)

    def _remove_traces(self) -> None:
        state, time = self._context.state(), self.instant.time
        if any(done.time == time for done in state.timeline.completed):
            return
        # Also if another writer has rolled this write back: files that were created after that still exist.
        has_markers = time in marked_instants(state.storage)
        delete_files(state.storage, state.config, time)
        if has_markers:  # again: a task that created a file in between may still have found the markers (check_awaited)
            delete_files(state.storage, state.config, time)
        if any(pending.time == time for pending in state.timeline.pending):
            if FILES in state.config.metadata_partitions:
                MetadataTable.of(state).remove_commit(time)
            # Delete the instant last: if this process is stopped half-way, the next writer finds it and rolls it back.
            remove_pending(state.storage, state.config, self.instant)

    def _refuse_conflicts(self, state: TableState, metadata: CommitMetadata) -> None:
        if state.options.concurrency.mode is not ConcurrencyMode.OPTIMISTIC:
            return
        reason = find_conflict(state, self.plan.operation, self.instant, metadata, seen=self._seen.timeline)
        if reason is not None:
            root = state.storage.root
            raise WriteConflictError(
                f"{root}: the write {self.instant.time} cannot commit: {reason}; nothing was written, write again "
                "(hoodie.write.num.retries.on.conflict.failures does so by itself)",
                path=root,
            )

    def _schema(self, state: TableState, internal: InternalSchema | None) -> TableSchema:
        """Return the schema of the table after the commit; changes that others have made in the meantime stay.

        Raises:
            WriteConflictError: both another writer and this write have changed the schema.
        """
        change = self._change or SchemaChange(self._seen.schema, self._seen.schema)
        schema = change.on(state.schema)
        if schema is None or (internal is not None and not state.schema.is_like(change.before)):
            raise schema_conflict(self._context, self.instant.time, change, state.schema)
        return schema if self._change is not None else state.schema


def _without_index_data(metadata: CommitMetadata) -> CommitMetadata:
    """Return *metadata* as reading it from its file would: without what the metadata table keeps of the files."""
    stats = metadata.partition_to_write_stats.items()
    bare = {
        path: tuple(one if one.indexed is None else replace(one, indexed=None) for one in group)
        for path, group in stats
    }
    return replace(metadata, partition_to_write_stats=bare)


def schema_conflict(context: TableContext, time: str, change: SchemaChange, current: TableSchema) -> WriteConflictError:
    """Return the error of a write whose table got other columns from another writer after the write was planned."""
    root = context.storage.root
    names, now, rows = (", ".join(one.arrow.names) for one in (change.before, current, change.after))
    return WriteConflictError(
        f"{root}: the write {time} cannot commit: another writer has changed the columns of the table from {names} to "
        f"{now} since it began, and its rows have {rows}; nothing was written, write again",
        path=root,
    )


def attempts(
    state: TableState, operation: Operation, *, in_tasks: bool = True, change: SchemaChange | None = None
) -> Iterator[Transaction]:
    """Begin a write, and begin it again after each conflict, ``hoodie.write.num.retries.on.conflict.failures`` times.

    Each write is the context manager of a block that commits it; when one has committed, there is no further one::

        for write in attempts(state, Operation.UPSERT):
            with write:
                write.commit(...)
        return write.result

    *state* is the table as the first attempt finds it; *in_tasks* and *change* are as for :func:`begin_write`.

    Raises:
        WriteConflictError, UnsupportedFeatureError, LockError: as for :func:`begin_write`.
    """
    context, seen = state.context, state
    for left in range(context.options.concurrency.conflict_retries, -1, -1):
        try:
            write = begin_write(context, operation, seen, in_tasks=in_tasks, change=change)
        except WriteConflictError:
            if not left:
                raise
        else:
            write.is_repeated = left > 0
            yield write
            if write.is_committed:
                return
        seen = context.state()


def begin_write(
    context: TableContext,
    operation: Operation,
    seen: TableState | None = None,
    *,
    in_tasks: bool = True,
    change: SchemaChange | None = None,
) -> Transaction:
    """Roll back what failed writes have left, choose the next instant, and put it on the timeline.

    *seen* is the state of the table that the operation has already read.  With *in_tasks*, tasks do the writing, and
    their failed attempts may leave files.  *change* is how the rows change the table's schema, if they have all
    columns.

    Raises:
        WriteConflictError: others have changed the table's schema since the rows were converted to it.
        UnsupportedFeatureError: the table cannot be written, or a validator cannot run.
        CorruptTableError: the metadata table cannot be read.
        LockError: another writer keeps the table's lock.
    """
    seen = context.state() if seen is None else seen
    refuse_unwritable(seen)
    refuse_operation(seen, operation)
    if context.options.validation.validators:
        refuse_without_duckdb()
    options = context.options.concurrency
    with ExitStack() as turns, ExitStack() as undo:
        if not options.has_other_writers:
            seen = turns.enter_context(wait_for_threads(seen))
        with change_timeline(context, seen) as current:
            state = end_failed_writes(current)
            time = state.next_instant
            if change is not None and not change.fits(state.schema):
                raise schema_conflict(context, time, change, state.schema)
            schema = None if change is None else change.after
            # Before the instant exists: if one of these fails, nothing has to be undone.
            refuse_unreadable(state)
            plan = write_plan(state, operation, time, in_tasks=in_tasks, schema=schema)
            # Alive before the instant is visible, or another writer could take this one for dead.
            heartbeat = begin_heartbeat(state.storage, time, options, in_tasks=in_tasks)
            undo.callback(heartbeat.stop)
            metadata = CommitMetadata(operation_type=operation.value)
            begun = Instant(time, action_of(state.config, operation), State.INFLIGHT)
            undo.callback(_remove_quietly, state, begun)
            state.context.confirm()
            begin_instant(state.storage, state.config, time, begun.action, metadata)
        undo.pop_all()
        write = Transaction(plan, replace(state, context=context).with_instant(begun), heartbeat, change)
        if not options.has_other_writers:
            register_write(state.storage.root, time, write)
            weakref.finalize(write, heartbeat.forsake)
        return write


def _remove_quietly(state: TableState, begun: Instant) -> None:
    """Take an instant that has written nothing yet off the timeline; if that fails, the next writer does it."""
    with suppress(StorageError):
        remove_pending(state.storage, state.config, begun)
