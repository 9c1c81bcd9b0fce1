"""One write from its instant to its commit.

A write becomes visible in one step, when the completed instant appears on the timeline.  Before that step nothing of it
can be seen, and after it no work is left on which its validity depends.  If there are other writers, the start and the
end of a write hold the table's lock, and the write commits only if it conflicts with nothing that was committed since
it began.
"""

from __future__ import annotations

import contextlib
import logging
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial

from hudiformat.errors import (
    CommitError,
    CorruptTableError,
    DecodeError,
    FilesGoneError,
    HudiFormatError,
    StorageError,
    WriteConflictError,
)
from hudiformat.file_group.missing_files import is_of_any_write
from hudiformat.metadata_table.kinds.files import FILES
from hudiformat.schema.internal_schema import InternalSchema
from hudiformat.schema.table_schema import SchemaChange, TableSchema
from hudiformat.table.options.values import ConcurrencyMode, FailedWritesPolicy, Operation
from hudiformat.table.schema_files import internal_schema_of
from hudiformat.table.state import TableContext, TableState
from hudiformat.table.support import refuse_operation, refuse_unwritable
from hudiformat.timeline.commit_metadata import CommitMetadata, WriteStat
from hudiformat.timeline.contents import begin_instant, remove_pending
from hudiformat.timeline.timeline import Instant, State
from hudiformat.write.commit.changing import changing, enter, leave, turn, without_others
from hudiformat.write.commit.conflicts import conflict_of
from hudiformat.write.commit.delayed import Delayed
from hudiformat.write.commit.files import delete_files, delete_markers, delete_strays, marked_instants
from hudiformat.write.commit.heartbeats import Heartbeat
from hudiformat.write.commit.partitions import keep_partitions
from hudiformat.write.commit.plan import WritePlan, action_of, write_plan
from hudiformat.write.commit.publishing import (
    check_publishable,
    publish,
    refuse_new_indexes,
    refuse_others,
    refuse_rolled_back,
)
from hudiformat.write.commit.reporting import LOG, log_commit
from hudiformat.write.metadata.metadata_table import MetadataTable

_FIRST_BEAT = 5.0
"""The seconds after which a write without a lock gives its first sign of life."""

Replaced = Mapping[str, tuple[str, ...]]
"""File groups by partition path."""


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

    @property
    def num_writes(self) -> int:
        """Records inserted and updated; ``num_writes`` of a statistic also counts records that a file only copied."""
        return sum(stat.num_inserts + stat.num_update_writes for stat in self.stats)

    @property
    def num_deletes(self) -> int:
        """Deletes written."""
        return sum(stat.num_deletes or 0 for stat in self.stats)


class _LateHeartbeat:
    """The heartbeat of a write in this process without a lock: it begins once the write takes long."""

    def __init__(self, make: Callable[[], Heartbeat]) -> None:
        self._make = make
        self._begun: Heartbeat | None = None
        self._start = Delayed(self._begin, _FIRST_BEAT)

    def stop(self) -> None:
        """Stop the heartbeat, or prevent it, so that no file is left."""
        self._start.stop()
        if self._begun is not None:
            self._begun.stop()

    def _begin(self) -> None:
        self._begun = self._make()
        with suppress(StorageError):
            self._begun.start()


class Transaction:
    """A write that has an instant, requested and inflight on the timeline, until it commits or is abandoned.

    As a context manager, it abandons the write at the end of the block unless the write was committed.  ``plan`` is
    what the tasks of the write share.
    """

    def __init__(
        self,
        context: TableContext,
        plan: WritePlan,
        seen: TableState,
        heartbeat: Heartbeat | _LateHeartbeat | None,
        change: SchemaChange | None = None,
    ) -> None:
        self.plan = plan
        self._change = change
        self.after: TableState | None = None
        """The state of the table as the commit left it; None before."""
        self._context = context
        self._seen = seen  # the state when this write began
        self._heartbeat = heartbeat
        self._began = time.time()

    @property
    def instant(self) -> Instant:
        """The instant of the write, inflight."""
        return self.plan.inflight

    def hand_over(self) -> None:
        """Stop keeping the write alive here: the processes that it is sent to do so instead, by :meth:`alive`."""
        if isinstance(self._heartbeat, Heartbeat):
            self._heartbeat.hand_over()

    def alive(self) -> AbstractContextManager[None]:
        """Return a context manager that keeps the write alive for other writers, in a process that it was sent to."""
        return self._heartbeat.beating() if isinstance(self._heartbeat, Heartbeat) else nullcontext()

    def commit(
        self,
        stats: Iterable[WriteStat],
        extra: Mapping[str, str] | None = None,
        replaced: Replaced | None = None,
        *,
        internal: InternalSchema | None = None,
    ) -> Commit:
        """Make the whole write visible in one step, with *extra* in the extra metadata of the commit.

        *replaced* are the file groups that the write removes from the table, by partition path.  *internal* is the new
        internal schema of the table if the write only changes columns.  Files that were begun and are in no statistic,
        left by failed attempts of a task, are deleted first.

        Raises:
            WriteConflictError: another writer has committed to the same file groups since this write began.
            CommitError: the completed instant could not be written; the table is as it was.
            LockError: another writer keeps the table's lock.
        """
        by_partition: dict[str, list[WriteStat]] = {}
        for stat in stats:
            by_partition.setdefault(stat.partition_path or "", []).append(stat)
        written = time.time()
        metadata = CommitMetadata(
            operation_type=self.plan.operation.value,
            partition_to_write_stats={path: tuple(group) for path, group in sorted(by_partition.items())},
            extra_metadata=dict(extra or {}),
            partition_to_replace_file_ids=replaced,
        )
        storage, own = self._context.storage, self.instant.time
        # The order of the steps decides whether the commit is correct.
        # 1. Before the commit: files of failed attempts would count as files of this commit once it is visible.
        if self.plan.in_tasks:
            delete_strays(storage, self.plan.config, own, metadata.write_stats)
        # 2. Under the lock, on a state that is read again: everything that can still refuse the write, without effects.
        with changing(self._context, self._seen, again=True) as state:
            self._refuse_conflicts(state, metadata)
            schema = self._schema(state, internal)
            check_publishable(state, self._seen, self.instant, metadata)
            refuse_new_indexes(state, self.plan, self.instant, schema)
            has_ids = internal is not None or state.has_ids()
            ids = internal_schema_of(state, schema, own, changed=internal) if has_ids else {}
            metadata = replace(metadata, extra_metadata={"schema": schema.avro, **ids, **(extra or {})})
            # 3. The last checks before the commit: another writer may have deleted the metadata file of a partition;
            #    without a lock, another writer may have begun.
            if state.options.concurrency.has_other_writers:
                keep_partitions(storage, own, by_partition)
            if not state.options.concurrency.has_other_writers:
                refuse_others(state, self._seen, self.instant)
            # 4. Visible: the metadata table first, then the timeline.  Without a lock, a rollback may have begun
            #    between the last check and this moment, so the timeline is checked once more.
            done = self._complete(state, metadata)
            if not state.options.concurrency.has_other_writers:
                refuse_rolled_back(state, self.instant, done)
        # 5. After the commit: what this process remembers; then the heartbeat, which was needed until now; the markers
        #    last, because a task that finds them knows that its write is not over.
        self.after = replace(state, context=self._context).with_instant(done)
        self._context.parsed.operations = done, self.plan.schema.keeps_operations  # saves reading a file for it
        self._context.parsed.keep(done, _without_index_data(metadata))
        self._stop_heartbeat()
        leave(storage.root, own)
        with contextlib.suppress(StorageError):  # the write is visible; markers that are left behind do no harm
            if self.plan.in_tasks:  # again: a failed attempt may have gone on until now, and found its write pending
                delete_strays(storage, self.plan.config, own, metadata.write_stats)
            delete_markers(storage, own)
        if LOG.isEnabledFor(logging.INFO):
            name = self.plan.operation.value
            log_commit(storage.root, done, name, metadata.write_stats, began=self._began, written=written)
        return Commit(done.time, done.action.value, metadata.write_stats, done.completion_time)

    @contextmanager
    def unless_overtaken(self) -> Iterator[None]:
        """Turn errors of the block into conflicts if other writers have changed the table since this write began.

        Others may have archived an instant, or have cleaned or rolled back a file, that the write needs.

        Raises:
            WriteConflictError: the table is not as it was when the write began.
        """
        try:
            yield
        except (StorageError, CorruptTableError, DecodeError, FilesGoneError) as error:
            has_others = self._context.options.concurrency.has_other_writers
            if not has_others or (self._seen.again() is self._seen and not self._is_of_abandoned_file(error)):
                raise
            root = self._context.storage.root
            raise WriteConflictError(
                f"{root}: the write {self.instant.time} cannot go on: other writers have archived, cleaned or rolled "
                f"back files that it reads: {error}; nothing was written, write again "
                "(hoodie.write.num.retries.on.conflict.failures does so by itself)",
                path=root,
            ) from error

    def _is_of_abandoned_file(self, error: HudiFormatError) -> bool:
        """Return whether *error* is about a file that another writer may have created, and deleted when it gave up.

        In table version 6 the name of the file does not say whose it is, and the instant of its writer may have come
        and gone without being seen.
        """
        if not isinstance(error, StorageError) or error.path is None:
            return False
        path = error.path.removeprefix(f"{self._context.storage.root}/")
        return is_of_any_write(self.plan.config, path) and not self._context.storage.exists(path)

    def abandon(self) -> None:
        """Delete everything that the write has left, unless it has been committed.

        Nobody has seen any of it, so there is no rollback on the timeline.
        """
        if self.after is not None:
            return
        self._stop_heartbeat()
        try:
            self._remove_traces()
        finally:
            leave(self._context.storage.root, self.instant.time)

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
                MetadataTable.of(state).without(time)
            # Delete the instant last: if this process is stopped half-way, the next writer finds it and rolls it back.
            remove_pending(state.storage, state.config, self.instant)

    def __enter__(self) -> Transaction:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        try:
            self.abandon()
        except HudiFormatError:
            if error is None:  # else the first error says what went wrong, and the next writer cleans up
                raise

    def _complete(self, state: TableState, metadata: CommitMetadata) -> Instant:
        root = state.storage.root
        try:
            return publish(state, self.instant, metadata)
        except HudiFormatError as error:
            # The file may exist although creating it has failed, for example in a sync.
            try:
                found = self._context.state().timeline.completed
            except HudiFormatError:
                raise CommitError(
                    f"{root}: it is not known whether the instant {self.instant.time} was completed: {error}; look at "
                    "the timeline before writing again",
                    path=root,
                ) from error
            for done in found:
                if done.time == self.instant.time:
                    return done
            raise CommitError(
                f"{root}: the instant {self.instant.time} could not be completed: {error}; the table is as it was, "
                "write again",
                path=root,
            ) from error

    def _refuse_conflicts(self, state: TableState, metadata: CommitMetadata) -> None:
        if state.options.concurrency.mode is not ConcurrencyMode.OPTIMISTIC:
            return
        reason = conflict_of(state, self.plan.operation, self.instant, metadata, seen=self._seen.timeline)
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
        if self._change is None:
            return state.schema
        schema = self._change.on(state.schema)
        if schema is None or (internal is not None and not state.schema.is_like(self._change.before)):
            raise schema_conflict(self._context, self.instant.time, self._change, state.schema)
        return schema

    def _stop_heartbeat(self) -> None:
        if self._heartbeat is not None:
            self._heartbeat.stop()
            self._heartbeat = None


def _without_index_data(metadata: CommitMetadata) -> CommitMetadata:
    """Return *metadata* as reading it from its file would: without what the metadata table keeps of the files."""
    stats = metadata.partition_to_write_stats.items()
    bare = {path: tuple(replace(stat, indexed=None) for stat in group) for path, group in stats}
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
        UnsupportedFeatureError: the table cannot be written.
        LockError: another writer keeps the table's lock.
    """
    seen = context.state() if seen is None else seen
    refuse_unwritable(seen)
    refuse_operation(seen, operation)
    options = context.options.concurrency
    with ExitStack() as turns, ExitStack() as undo:
        if not options.has_other_writers:
            seen = turns.enter_context(turn(seen))
        with changing(context, seen) as current:
            state = without_others(current)
            time = state.next_instant
            if change is not None and not change.fits(state.schema):
                raise schema_conflict(context, time, change, state.schema)
            schema = None if change is None else change.after
            # Plan before the instant exists: if planning fails, nothing has to be undone.
            plan = write_plan(state, operation, time, in_tasks=in_tasks, schema=schema)
            heartbeat: Heartbeat | _LateHeartbeat | None = None
            interval = options.heartbeat_interval_ms / 1000
            if options.failed_writes_policy is FailedWritesPolicy.LAZY:
                heartbeat = Heartbeat(state.storage, time, interval=interval)
                undo.callback(heartbeat.stop)
                heartbeat.start()  # before the instant is visible, or another writer could take this one for dead
            elif not in_tasks:
                heartbeat = _LateHeartbeat(partial(Heartbeat, state.storage, time, interval=interval))
                undo.callback(heartbeat.stop)
            metadata = CommitMetadata(operation_type=operation.value)
            begun = Instant(time, action_of(state.config, operation), State.INFLIGHT)
            undo.callback(_remove_quietly, state, begun)
            state.context.confirm()
            begin_instant(state.storage, state.config, time, begun.action, metadata)
        undo.pop_all()
        write = Transaction(context, plan, state.with_instant(begun), heartbeat, change)
        if not options.has_other_writers:
            enter(state.storage.root, time, write)
            if isinstance(heartbeat, _LateHeartbeat):
                weakref.finalize(write, heartbeat.stop)
        return write


def _remove_quietly(state: TableState, begun: Instant) -> None:
    """Take an instant that has written nothing yet off the timeline; if that fails, the next writer does it."""
    with suppress(StorageError):
        remove_pending(state.storage, state.config, begun)


def write_and_commit(
    context: TableContext,
    operation: Operation,
    write_files: Callable[[WritePlan], Iterable[WriteStat]],
    extra: Mapping[str, str] | None = None,
    *,
    seen: TableState | None = None,
    in_tasks: bool = True,
    replace: Callable[[WritePlan, Sequence[WriteStat]], Replaced] | None = None,
    change: SchemaChange | None = None,
) -> tuple[Commit, TableState]:
    """Run a write from its start to its commit, and return the commit and the state of the table after it.

    *write_files* writes the files.  *extra* goes into the extra metadata of the commit; *seen*, *in_tasks* and *change*
    are as for :func:`begin_write`.  *replace* takes the plan and the statistics, and returns the file groups that the
    write removes from the table.

    If another writer was faster, the write is repeated ``hoodie.write.num.retries.on.conflict.failures`` times.

    Raises:
        UnsupportedFeatureError: the table cannot be written.
        WriteConflictError: another writer was faster every time.
        CommitError: the write could not be made visible; the table is as it was.
    """
    for left in range(context.options.concurrency.conflict_retries, -1, -1):
        with (
            suppress(*([WriteConflictError] if left else [])),
            begin_write(context, operation, seen, in_tasks=in_tasks, change=change) as write,
            write.unless_overtaken(),
        ):
            stats = tuple(write_files(write.plan))
            commit = write.commit(stats, extra, replace(write.plan, stats) if replace else None)
            assert write.after is not None  # noqa: S101 - it is committed
            return commit, write.after
        seen = None
    raise AssertionError("the last attempt returns or raises")
