"""One write from its instant to its commit.

A write becomes visible in one step: the completed instant appears on the timeline, whole.  Before that step nothing of
it can be seen, after it nothing is left to do that matters.  Beside other writers the two ends of a write are under the
table's lock, and it commits only if it conflicts with nothing that was committed since it began.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping

from hudiformat.errors import CommitError, HudiFormatError, StorageError, WriteConflictError
from hudiformat.naming import next_instant
from hudiformat.options.enums import REPLACING, ConcurrencyMode, FailedWritesPolicy, IndexType, Operation
from hudiformat.table.state import TableContext
from hudiformat.timeline import (
    VERSION_WITH_COMPLETION_TIMES,
    Action,
    CommitMetadata,
    Instant,
    RequestedReplaceMetadata,
    State,
    TableType,
    Timeline,
    WriteStat,
    create_requested,
    load_timeline,
    read_compaction_plan,
    read_content,
    read_metadata,
    remove_pending,
    transition_inflight,
)
from hudiformat.transaction.conflicts import (
    Claim,
    clustered_groups,
    conflict_with_commit,
    conflict_with_plan,
    planned_groups,
)
from hudiformat.transaction.files import delete_markers, take_files_away, take_strays_away
from hudiformat.transaction.locks import Heartbeat, living
from hudiformat.transaction.metadata_table import MetadataTable, prepare_metadata_table
from hudiformat.transaction.publishing import exclusive, publish
from hudiformat.transaction.rollback import WRITES, Rollbacks


class Transaction:
    """A write that has an instant: requested and inflight on the timeline, until it commits or is abandoned."""

    def __init__(
        self, context: TableContext, instant: Instant, seen: frozenset[Instant], heartbeat: Heartbeat | None
    ) -> None:
        self._context = context
        self._seen = seen
        self._heartbeat = heartbeat
        self._is_committed = False
        self.instant = instant

    @classmethod
    def begin(cls, context: TableContext, operation: Operation) -> Transaction:
        """Take away what failed writes have left, choose the next instant, and put it on the timeline.

        Raises:
            LockError: another writer keeps the table's lock.
        """
        storage, config, options = context.storage, context.config, context.options.concurrency
        with exclusive(context):
            prepare_metadata_table(context)
            take_failed_writes_away(context)
            timeline = context.timeline()
            time_ = next_instant(context.clock(), timeline.latest_instant_time)
            heartbeat = None
            if options.failed_writes_policy is FailedWritesPolicy.LAZY:
                heartbeat = Heartbeat(storage, time_, interval=options.heartbeat_interval_ms / 1000)
                heartbeat.start()  # before the instant can be seen: nobody may take it for a dead writer's
            instant = create_requested(storage, config, time_, _action(context, operation))
            metadata = CommitMetadata(operation_type=operation.value)
            instant = transition_inflight(storage, config, instant, metadata)
        return cls(context, instant, frozenset(timeline.completed), heartbeat)

    def commit(
        self,
        operation: Operation,
        stats: Iterable[WriteStat],
        schema: str,
        extra: Mapping[str, str] | None = None,
        replaced: Mapping[str, tuple[str, ...]] | None = None,
    ) -> tuple[Instant, CommitMetadata]:
        """Make the write visible, whole, with *extra* in its extra metadata.

        *replaced* are the file groups that it takes out of the table, by partition path.

        Files that were begun and are in no statistic, those of failed attempts of a task, are taken away first.

        Raises:
            WriteConflictError: another writer has committed to the same file groups since this write began.
            CommitError: the completed instant could not be written; the table is as it was.
            LockError: another writer keeps the table's lock.
        """
        by_partition: dict[str, list[WriteStat]] = {}
        for stat in stats:
            by_partition.setdefault(stat.partition_path or "", []).append(stat)
        every = [stat for group in by_partition.values() for stat in group]
        storage = self._context.storage
        take_strays_away(storage, self._context.config, self.instant.time, every)
        metadata = CommitMetadata(
            operation_type=operation.value,
            partition_to_write_stats={path: tuple(group) for path, group in sorted(by_partition.items())},
            extra_metadata={"schema": schema, **(extra or {})},
            partition_to_replace_file_ids=replaced,
        )
        with exclusive(self._context):
            self._refuse_conflicts(operation, metadata)
            done = self._complete(metadata)
        self._is_committed = True
        self._stop_heartbeat()
        with contextlib.suppress(StorageError):  # the write is visible; markers that stay behind mean nothing
            delete_markers(storage, self.instant.time)
        return done, metadata

    def abandon(self) -> None:
        """Take away everything that the write has left, unless it has been committed.

        Nobody has seen any of it, so this is no rollback on the timeline.
        """
        if self._is_committed:
            return
        self._stop_heartbeat()
        storage, config = self._context.storage, self._context.config
        if any(pending.time == self.instant.time for pending in self._context.timeline().pending):
            take_files_away(storage, config, self.instant.time)
            if (metadata_table := MetadataTable.of(storage, self._context.clock)) is not None:
                metadata_table.take_back(self.instant.time)
            # The instant goes last: whoever is stopped half-way leaves the next one something to find.
            remove_pending(storage, config, self.instant)

    def _complete(self, metadata: CommitMetadata) -> Instant:
        storage, config = self._context.storage, self._context.config
        try:
            return publish(storage, config, self._context.clock, self.instant, metadata)
        except HudiFormatError as error:
            # The file may be there although its creation failed, in a sync say.
            for done in load_timeline(storage, config).completed:
                if done.time == self.instant.time:
                    return done
            raise CommitError(
                f"the instant {self.instant.time} could not be completed: {error}", path=storage.root
            ) from error

    def _refuse_conflicts(self, operation: Operation, metadata: CommitMetadata) -> None:
        if self._context.options.concurrency.mode is not ConcurrencyMode.OPTIMISTIC:
            return
        by_bucket = self._context.options.index_type is IndexType.BUCKET
        claim = Claim.of(operation, metadata, by_bucket=by_bucket)
        timeline = self._context.timeline()
        for reason in (self._conflict(claim, other, by_bucket=by_bucket) for other in self._others(timeline)):
            if reason is not None:
                root = self._context.storage.root
                raise WriteConflictError(
                    f"{root}: the write {self.instant.time} cannot commit: {reason}; nothing was written, write again "
                    "(hoodie.write.num.retries.on.conflict.failures does so by itself)",
                    path=root,
                )

    def _others(self, timeline: Timeline) -> list[Instant]:
        done = [instant for instant in timeline.completed_writes if instant not in self._seen]
        planned = (Action.COMPACTION, Action.CLUSTERING)
        return done + [instant for instant in timeline.pending if instant.action in planned]

    def _conflict(self, claim: Claim, other: Instant, *, by_bucket: bool) -> str | None:
        storage, config = self._context.storage, self._context.config
        # In table version 6 log files belong to the slice that was the newest when the write began.
        is_behind = config.version < VERSION_WITH_COMPLETION_TIMES and other.time > self.instant.time
        if other.is_completed:
            found = read_metadata(storage, config, other)
            is_compaction = other.action is Action.COMMIT and found.operation_type == "COMPACT" and not is_behind
            return conflict_with_commit(claim, other, found, is_compaction=is_compaction, by_bucket=by_bucket)
        if other.action is Action.COMPACTION:
            groups = planned_groups(read_compaction_plan(storage, config, other), by_bucket=by_bucket)
            return conflict_with_plan(claim, other, groups, rewrites=is_behind)
        plan = read_content(storage, config, Instant(other.time, other.action, State.REQUESTED))
        clustered = clustered_groups(plan, by_bucket=by_bucket) if isinstance(plan, RequestedReplaceMetadata) else []
        return conflict_with_plan(claim, other, clustered, rewrites=True)

    def _stop_heartbeat(self) -> None:
        if self._heartbeat is not None:
            self._heartbeat.stop()
            self._heartbeat = None


def take_failed_writes_away(context: TableContext) -> None:
    """Roll back writes that did not complete: all of them, or beside other writers those without a sign of life."""
    options = context.options.concurrency
    if options.failed_writes_policy is FailedWritesPolicy.NEVER:
        return
    rollbacks = Rollbacks(context.storage, context.config, context.clock)
    timeline = context.timeline()
    alive = (
        living(context.storage, tolerance=options.heartbeat_tolerance)
        if options.failed_writes_policy is FailedWritesPolicy.LAZY
        else frozenset()
    )
    finished = rollbacks.finish_pending(timeline)
    for pending in timeline.pending:
        if pending.action in WRITES and pending.time not in alive | finished:
            rollbacks.roll_back(pending)
    rollbacks.sweep_orphans()


def _action(context: TableContext, operation: Operation) -> Action:
    if operation in REPLACING:
        return Action.REPLACE_COMMIT
    is_cow = context.config.table_type is TableType.COPY_ON_WRITE
    return Action.COMMIT if is_cow else Action.DELTA_COMMIT
