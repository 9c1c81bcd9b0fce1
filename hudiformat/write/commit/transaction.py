"""One write from its instant to its commit.

A write becomes visible in one step: the completed instant appears on the timeline, whole.  Before that step nothing of
it can be seen, and after it nothing is left to do that matters.  Beside other writers, the start and the end of a write
hold the table's lock, and the write commits only if it conflicts with nothing that was committed since it began.
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
"""After so many seconds a write without a lock gives its first sign of life."""

Replaced = Mapping[str, tuple[str, ...]]
"""File groups by partition path."""


@dataclass(frozen=True, slots=True)
class Commit:
    """A write that is visible.

    ``stats`` has an entry for every file that was made; sizes in it are bytes.  ``completion_time`` is when it became
    visible; below table version 8 it may be unknown.

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
        """Records inserted and updated; a statistic's own ``num_writes`` also counts those that a file only copied."""
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
        """End it; no file is left."""
        self._start.stop()
        if self._begun is not None:
            self._begun.stop()

    def _begin(self) -> None:
        self._begun = self._make()
        with suppress(StorageError):
            self._begun.start()


class Transaction:
    """A write that has an instant: requested and inflight on the timeline, until it commits or is abandoned.

    Leaving it as a context manager without a commit abandons it.  ``plan`` is what the tasks of the write share.
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
        self._seen = seen  # as this write has begun
        self._heartbeat = heartbeat
        self._began = time.time()

    @property
    def instant(self) -> Instant:
        """The write's instant, inflight."""
        return self.plan.inflight

    def hand_over(self) -> None:
        """Let the processes that this is sent to keep the write alive, by :meth:`alive`, instead of this one."""
        if isinstance(self._heartbeat, Heartbeat):
            self._heartbeat.hand_over()

    def alive(self) -> AbstractContextManager[None]:
        """Tell other writers as long as the block lasts that the write is alive, in a process that this was sent to."""
        return self._heartbeat.beating() if isinstance(self._heartbeat, Heartbeat) else nullcontext()

    def commit(
        self,
        stats: Iterable[WriteStat],
        extra: Mapping[str, str] | None = None,
        replaced: Replaced | None = None,
        *,
        internal: InternalSchema | None = None,
    ) -> Commit:
        """Make the write visible, whole, with *extra* in the extra metadata of the commit.

        *replaced* are the file groups that the write removes from the table, by partition path; *internal* is what it
        makes of the table's internal schema, where it is a change of columns alone.  Files that were begun and are in
        no statistic, those of failed attempts of a task, are deleted first.

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
        if self.plan.in_tasks:
            delete_strays(storage, self.plan.config, own, metadata.write_stats)
        with changing(self._context, self._seen, again=True) as state:
            self._refuse_conflicts(state, metadata)
            schema = self._schema(state, internal)
            check_publishable(state, self._seen, self.instant, metadata)
            refuse_new_indexes(state, self.plan, self.instant, schema)
            has_ids = internal is not None or state.has_ids()
            ids = internal_schema_of(state, schema, own, changed=internal) if has_ids else {}
            metadata = replace(metadata, extra_metadata={"schema": schema.avro, **ids, **(extra or {})})
            if state.options.concurrency.has_other_writers:
                keep_partitions(storage, own, by_partition)
            if not state.options.concurrency.has_other_writers:
                refuse_others(state, self._seen, self.instant)
            done = self._complete(state, metadata)
            if not state.options.concurrency.has_other_writers:
                refuse_rolled_back(state, self.instant, done)
        self.after = replace(state, context=self._context).with_instant(done)
        self._context.parsed.operations = done, self.plan.schema.keeps_operations  # no file need be asked
        self._context.parsed.keep(done, _as_read(metadata))
        self._stop_heartbeat()
        leave(storage.root, own)
        with contextlib.suppress(StorageError):  # the write is visible; markers that stay behind mean nothing
            if self.plan.in_tasks:  # failed attempts may have gone on until now, and have found that they are awaited
                delete_strays(storage, self.plan.config, own, metadata.write_stats)
            delete_markers(storage, own)
        if LOG.isEnabledFor(logging.INFO):
            name = self.plan.operation.value
            log_commit(storage.root, done, name, metadata.write_stats, began=self._began, written=written)
        return Commit(done.time, done.action.value, metadata.write_stats, done.completion_time)

    @contextmanager
    def unless_overtaken(self) -> Iterator[None]:
        """Make what the block cannot read a conflict, if others have changed the table since this write began.

        They may have archived an instant, or have cleaned or rolled back a file, that the write needs.

        Raises:
            WriteConflictError: the table is not as it was when the write began.
        """
        try:
            yield
        except (StorageError, CorruptTableError, DecodeError, FilesGoneError) as error:
            has_others = self._context.options.concurrency.has_other_writers
            if not has_others or (self._seen.again() is self._seen and not self._was_given_up(error)):
                raise
            root = self._context.storage.root
            raise WriteConflictError(
                f"{root}: the write {self.instant.time} cannot go on, as others have archived, cleaned or rolled back "
                f"what it reads: {error}; nothing was written, write again "
                "(hoodie.write.num.retries.on.conflict.failures does so by itself)",
                path=root,
            ) from error

    def _was_given_up(self, error: HudiFormatError) -> bool:
        """Whether *error* is of a file that another writer may have made, and has deleted as it gave up.

        In table version 6 its name does not say whose it is.  The instant may be off the timeline before it was seen.
        """
        if not isinstance(error, StorageError) or error.path is None:
            return False
        path = error.path.removeprefix(f"{self._context.storage.root}/")
        return is_of_any_write(self.plan.config, path) and not self._context.storage.exists(path)

    def abandon(self) -> None:
        """Delete everything that the write has left, unless it has been committed.

        Nobody has seen any of it, so this is no rollback on the timeline.
        """
        if self.after is not None:
            return
        self._stop_heartbeat()
        try:
            self._remove()
        finally:
            leave(self._context.storage.root, self.instant.time)

    def _remove(self) -> None:
        state, time = self._context.state(), self.instant.time
        if any(done.time == time for done in state.timeline.completed):
            return
        # Also where another writer has rolled this write back: what was made since then is still there.
        has_markers = time in marked_instants(state.storage)
        delete_files(state.storage, state.config, time)
        if has_markers:  # a task that has made a file in between has still found them (check_awaited)
            delete_files(state.storage, state.config, time)
        if any(pending.time == time for pending in state.timeline.pending):
            if FILES in state.config.metadata_partitions:
                MetadataTable.of(state).without(time)
            # The instant is deleted last: a process that is stopped half-way leaves the next writer something to find.
            remove_pending(state.storage, state.config, self.instant)

    def __enter__(self) -> Transaction:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        try:
            self.abandon()
        except HudiFormatError:
            if error is None:  # else that one says why, and the next writer cleans up
                raise

    def _complete(self, state: TableState, metadata: CommitMetadata) -> Instant:
        root = state.storage.root
        try:
            return publish(state, self.instant, metadata)
        except HudiFormatError as error:
            # The file may exist although its creation failed, in a sync for example.
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
            raise CommitError(f"the instant {self.instant.time} could not be completed: {error}", path=root) from error

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
        """The schema of the table after the commit; what others have changed meanwhile stays.

        Raises:
            WriteConflictError: both they and this write have changed it.
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


def _as_read(metadata: CommitMetadata) -> CommitMetadata:
    """*metadata* as it is in the file: without what the metadata table keeps of the files."""
    stats = metadata.partition_to_write_stats.items()
    bare = {path: tuple(replace(stat, indexed=None) for stat in group) for path, group in stats}
    return replace(metadata, partition_to_write_stats=bare)


def schema_conflict(context: TableContext, time: str, change: SchemaChange, current: TableSchema) -> WriteConflictError:
    """The error of a write whose table got other columns from another writer since the write was planned."""
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

    *seen* is the state of the table that the operation has read already.  With *in_tasks*, tasks write, whose failed
    attempts may leave files.  *change* is what the rows do to the table's schema, where they have all columns.

    Raises:
        WriteConflictError: others have changed the table's schema since the rows were brought to it.
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
            plan = write_plan(state, operation, time, in_tasks=in_tasks, schema=schema)  # before there is an instant
            heartbeat: Heartbeat | _LateHeartbeat | None = None
            interval = options.heartbeat_interval_ms / 1000
            if options.failed_writes_policy is FailedWritesPolicy.LAZY:
                heartbeat = Heartbeat(state.storage, time, interval=interval)
                undo.callback(heartbeat.stop)
                heartbeat.start()  # before the instant can be seen: no other writer may take it for a dead writer's
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
    """Take an instant off the timeline that has written nothing yet; what cannot be done, the next writer does."""
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
    """A write from its start to its commit, and the table after it; *write_files* makes the files.

    *extra* goes into the extra metadata of the commit; *seen*, *in_tasks* and *change* are as for :func:`begin_write`.
    *replace* gives the file groups that the write removes from the table, from the plan and the statistics.

    Where another writer was faster, the write is repeated ``hoodie.write.num.retries.on.conflict.failures`` times.

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
