"""Run a planned compaction, log compaction or clustering, in this process or by tasks.

A service has a part for each file group that it rewrites.  The parts are independent of each other, and are sent to
tasks.

A service is claimed before it runs: nobody runs what another process is running, and what a dead process left is taken
over.  A claim is a heartbeat with the instant of the plan.  It is made under the table's lock, and confirmed under the
lock before the service completes: a process that was stopped for too long finds that another has taken its place.

A service that fails leaves nothing: its files are deleted, its instant is planned again as it was, and a plan that it
has just made for itself is taken off the timeline.  The timeline says whether it has failed: the answer to the request
that completes it may be lost.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial

from hudiformat.errors import CorruptTableError, HudiFormatError, StorageError
from hudiformat.file_group.bootstrap.sources import source_uri
from hudiformat.file_group.slices import BaseFile, FileSlice, LogFile
from hudiformat.metadata_table.kinds.files import FILES
from hudiformat.naming.file_names import BaseFileName, LogFileName, WriteToken, join_path
from hudiformat.read.ahead import Bounds, Items, read_in_order
from hudiformat.read.ahead import Part as InThread
from hudiformat.schema.internal_schema import LATEST_SCHEMA
from hudiformat.storage.opening import open_storage
from hudiformat.storage.protocol import Storage
from hudiformat.storage.threads import threads_for
from hudiformat.table.executor import TaskAttempt
from hudiformat.table.schema_files import internal_schema_of, schema_history
from hudiformat.table.state import TableContext, TableState
from hudiformat.timeline.commit_metadata import CommitMetadata, WriteStat
from hudiformat.timeline.contents import remove_pending, transition_inflight
from hudiformat.timeline.plans import CompactionOperation, CompactionPlan
from hudiformat.timeline.timeline import Action, Instant, State, instant_path
from hudiformat.write.commit.changing import change_timeline, hold_table_lock
from hudiformat.write.commit.files import (
    decode_write_stats,
    delete_files,
    delete_strays,
    encode_write_stats,
    refuse_finished_write,
)
from hudiformat.write.commit.heartbeats import Heartbeat, is_of_ended_process, living_instants
from hudiformat.write.commit.markers import delete_markers
from hudiformat.write.commit.plan import WritePlan
from hudiformat.write.commit.publishing import check_publishable, find_completed, publish, refuse_new_indexes
from hudiformat.write.commit.transaction import Commit
from hudiformat.write.metadata.metadata_table import MetadataTable
from hudiformat.write.metadata.preparing import refuse_unreadable
from hudiformat.write.reporting.commits import report_commit


@dataclass(slots=True)
class ServiceClaim:
    """An inflight service instant that this process runs.

    ``attempt`` is in the names of its files, so that two processes, one of which is wrongly taken for dead, never write
    the same file.
    """

    instant: Instant
    heartbeat: Heartbeat
    attempt: int
    began: float = field(default_factory=time.time, compare=False)
    is_over: bool = False

    def finish(self) -> None:
        """End the claim: the service is completed, by this process or another."""
        self.is_over = True
        self.heartbeat.stop()

    def release(self, context: TableContext) -> None:
        """End the claim; a service that is not completed is planned afterwards, as if nobody had begun it.

        It is left as it is to the next process that claims it, if another has it now or the storage fails once more.
        """
        if self.is_over:
            return
        with suppress(HudiFormatError):
            self._give_back(context)
        self.finish()

    def _give_back(self, context: TableContext) -> None:
        with hold_table_lock(context) as owning:
            state = owning.state()
            is_pending = any(one.time == self.instant.time for one in state.timeline.pending)
            if is_pending and self.heartbeat.is_own():
                delete_files(state.storage, state.config, self.instant.time)
                if FILES in state.config.metadata_partitions:
                    MetadataTable.of(state).remove_commit(self.instant.time)
                owning.confirm()
                state.storage.delete(instant_path(state.config, replace(self.instant, state=State.INFLIGHT)))


@contextmanager
def take_back_on_error(context: TableContext, planned: Instant | None = None) -> Iterator[None]:
    """Take a plan that was just made for the block off the timeline if the block fails.

    The plan stays if anything has been begun since, which may build on it.
    """
    try:
        yield
    except BaseException:
        if planned is not None:
            with suppress(HudiFormatError), hold_table_lock(context) as owning:
                state = owning.state()
                if planned in state.timeline.pending and state.timeline.latest_instant_time == planned.time:
                    remove_pending(state.storage, state.config, planned)
        raise


def is_running(state: TableState, instant: Instant) -> bool:
    """Return whether the process that runs a planned service is alive, judging by its heartbeat."""
    options = state.options.concurrency
    if instant.time not in living_instants(state.storage, tolerance=options.heartbeat_tolerance):
        return False
    return options.has_other_writers or not is_of_ended_process(state.storage, instant.time)


def claim_service(state: TableState, instant: Instant, undo: ExitStack) -> ServiceClaim:
    """Begin a planned service, or take over one whose process has died; it must be called under the table's lock.

    Files of the dead process are deleted.  The claim ends when *undo* is closed, which needs the lock.

    Raises:
        StorageError: the heartbeat or the inflight file cannot be written.
        CorruptTableError: the metadata table cannot be read.
    """
    refuse_unreadable(state)
    options = state.options.concurrency
    heartbeat = Heartbeat(
        state.storage, instant.time, interval=options.heartbeat_interval_ms / 1000, may_be_taken_over=True
    )
    is_begun = instant.state is State.INFLIGHT
    claimed = ServiceClaim(replace(instant, state=State.INFLIGHT), heartbeat, heartbeat.number if is_begun else 0)
    undo.callback(claimed.release, state.context)
    heartbeat.start()
    state.context.confirm()
    if is_begun:
        delete_files(state.storage, state.config, instant.time)
    else:
        transition_inflight(state.storage, state.config, instant)
    return claimed


_LOG_BYTES = "TOTAL_LOG_FILES_SIZE"
_MIB = 1024 * 1024
_BASE_COST, _LOG_COST = 2, 4
"""Bytes in memory for each byte of a base file, of which a row group is decoded and written, and of log files."""
_TOKENS = 1 << 31
"""The number of Java's non-negative integers."""

Part = Callable[[WritePlan, Storage, WriteToken], Iterable[WriteStat]]
"""A function that writes the files of one part of a service, with the write token in their names, and returns their
statistics."""

Merge = Callable[[FileSlice, WritePlan, Storage, WriteToken], Iterable[WriteStat]]
"""A function that merges one file slice into new files, and returns their statistics."""


def run_parts(
    state: TableState, claimed: ServiceClaim, writing: WritePlan, parts: Sequence[Part], costs: Sequence[int]
) -> Iterable[WriteStat]:
    """Run *parts*, by the executor if there is one, else by threads; yield their statistics in the order of the parts.

    Threads run as many parts at a time as may take the memory of one merge together: each takes about the bytes that
    *costs* gives for it.  With the user's own merger they run one after the other.  The names of the files have the
    token and the attempt, which distinguish them from the files of a failed attempt.
    """
    context = state.context

    def run_here(number: int, part: Part) -> Items[WriteStat]:
        yield from part(writing, context.storage, WriteToken(number, 0, claimed.attempt))

    if context.runs_elsewhere is None or len(parts) <= 1:
        threads = 1 if context.merger is not None or len(parts) <= 1 else threads_for(context.storage)
        bounds = Bounds(threads=threads, cost=state.options.merge_memory, held=None)
        here = [InThread(partial(run_here, *one), cost) for one, cost in zip(enumerate(parts), costs, strict=True)]
        yield from read_in_order(here, bounds, lambda _: 0)
        return
    run = partial(_run_part, writing, claimed.attempt)
    numbered = list(enumerate(parts))
    name = f"{writing.config.name}, rewrite file groups"
    for message in context.runs_elsewhere.map(run, numbered, name=name, alone=True):
        yield from decode_write_stats(message)


def cost_of(slices: Iterable[FileSlice]) -> int:
    """Return the bytes of memory that merging and rewriting *slices* may take."""
    return sum(_BASE_COST * (one.size - one.log_bytes) + _LOG_COST * one.log_bytes for one in slices)


def _run_part(writing: WritePlan, attempt: int, numbered: tuple[int, Part], task: TaskAttempt) -> bytes:
    """Run a part in a task, and return the encoded statistics of its files.

    Raises:
        WriteConflictError: the service is over; the files are deleted.
    """
    number, part = numbered
    storage = open_storage(writing.root)
    # The token has the attempt of the service too: tasks of a driver that is believed dead may still be running.
    stats = tuple(part(writing, storage, WriteToken(number, (task.stage + attempt) % _TOKENS, task.attempt)))
    refuse_finished_write(storage, writing.config, writing.instant, stats)
    return encode_write_stats(stats)


def run_claimed(state: TableState, claimed: ServiceClaim, writing: WritePlan, *, merge: Merge, name: str) -> Commit:
    """Merge the file slices of a claimed service's plan, and complete the service; *name* is the operation to record.

    Raises:
        CommitError: it could not be completed; it stays planned.
        LockError: another writer keeps the table's lock, or has taken the service over.
    """
    instant = claimed.instant
    plan = compaction_plan_of(state, instant)
    slices = [slice_of(operation) for operation in plan.operations or ()]
    parts = [partial(merge, one) for one in slices]
    planned = {(one.partition_path, one.file_id): one for one in plan.operations or ()}
    stats = (
        _with_logs(stat, planned.get((stat.partition_path or "", stat.file_id)))
        for stat in run_parts(state, claimed, writing, parts, [cost_of([one]) for one in slices])
    )
    metadata = CommitMetadata(
        operation_type=name,
        partition_to_write_stats=by_partition(stats),
        compacted=instant.action is Action.COMPACTION,
    )
    return complete_claimed(state, claimed, writing, metadata)


def _with_logs(stat: WriteStat, operation: CompactionOperation | None) -> WriteStat:
    """Return a statistic of a compaction with the number and the bytes of the log files that were merged."""
    if operation is None:
        return stat
    size = int((operation.metrics or {}).get(_LOG_BYTES, 0))
    return replace(stat, total_log_files_compacted=len(operation.delta_file_paths or ()), total_log_size_compacted=size)


def by_partition(stats: Iterable[WriteStat]) -> dict[str, tuple[WriteStat, ...]]:
    """Return the statistics by partition, in the order of the partition paths."""
    found: dict[str, list[WriteStat]] = {}
    for stat in stats:
        found.setdefault(stat.partition_path or "", []).append(stat)
    return {path: tuple(part) for path, part in sorted(found.items())}


def complete_claimed(
    state: TableState,
    claimed: ServiceClaim,
    writing: WritePlan,
    metadata: CommitMetadata,
    *,
    check: Callable[[TableState], None] | None = None,
) -> Commit:
    """Complete a claimed service, which has written the files of *metadata*; *check* checks the table under the lock.

    Raises:
        CommitError: it could not be completed; it stays planned.
        LockError: another writer keeps the table's lock, or has taken the service over.
    """
    instant, storage = claimed.instant, state.storage
    written = time.time()
    try:
        with change_timeline(state.context) as current:
            claimed.heartbeat.confirm()
            # As it is now: a write that began before this service may have changed it since.
            metadata = replace(metadata, extra_metadata=_schemas(current, instant))
            check_publishable(current, state, instant, metadata)
            if check is not None:
                check(current)
            refuse_new_indexes(current, writing, instant)
            # Before the service completes: files of failed attempts would then count as files of the table.
            delete_strays(storage, current.config, instant.time, metadata.write_stats)
            done = publish(current, instant, metadata)
    except HudiFormatError:
        _yield_to_other(state.context, claimed, metadata)
        raise
    claimed.finish()
    with suppress(StorageError):  # the service is completed; markers that are left behind do no harm
        delete_markers(storage, instant.time)
    report_commit(current.with_instant(done), done, metadata, began=claimed.began, written=written)
    return Commit(done.time, done.action.value, metadata.write_stats, done.completion_time)


def _schemas(state: TableState, instant: Instant) -> dict[str, str]:
    """Return what the commit of a service says about columns: those of its instant, which its files have."""
    dropped = state.config.dropped_fields
    if not state.is_changed_since(instant.time):
        return {"schema": state.schema.without(dropped).avro, **internal_schema_of(state, state.schema, instant.time)}
    history = schema_history(state, instant.time)
    ids = {} if history is None else {LATEST_SCHEMA: history.query.text}
    return {"schema": state.schema_at(instant.time).without(dropped).avro, **ids}


def _yield_to_other(context: TableContext, claimed: ServiceClaim, metadata: CommitMetadata) -> None:
    """Delete the files of *metadata* if another process has completed the service, or has it now.

    They have other names than that process's.  They stay if this process has completed the service after all, and if
    the storage does not say.
    """
    with suppress(HudiFormatError):
        state = context.state()
        done, is_own = find_completed(state, claimed.instant, metadata)
        if done is not None:
            claimed.finish()
        elif any(one.time == claimed.instant.time for one in state.timeline.pending):
            is_own = claimed.heartbeat.is_own()
        if not is_own:
            for stat in metadata.write_stats:
                context.storage.delete(stat.path or "")


def compaction_plan_of(state: TableState, instant: Instant) -> CompactionPlan:
    """Return the plan of a pending compaction or log compaction.

    Raises:
        CorruptTableError: it has no plan.
    """
    plan = state.content(Instant(instant.time, instant.action, State.REQUESTED))
    if not isinstance(plan, CompactionPlan):
        raise CorruptTableError(
            f"{state.storage.root}: expected a plan for {instant}, found none; repair the table",
            path=state.storage.root,
        )
    return plan


def compaction_operation(storage: Storage, file_slice: FileSlice) -> CompactionOperation:
    """Return the entry of a plan for a slice of the table at the root of *storage* that is to be merged."""
    base, logs = file_slice.base_file, file_slice.log_bytes
    path = None if base is None else join_path(file_slice.partition_path, str(base.name))
    written = base.size if base is not None else logs
    return CompactionOperation(
        base_instant_time=file_slice.base_instant,
        delta_file_paths=tuple(file_slice.log_names),
        data_file_path=None if base is None else str(base.name),
        file_id=file_slice.file_id,
        partition_path=file_slice.partition_path,
        metrics={
            "TOTAL_LOG_FILES": float(len(file_slice.log_files)),
            _LOG_BYTES: float(logs),
            "TOTAL_IO_READ_MB": float(file_slice.size // _MIB),
            "TOTAL_IO_WRITE_MB": float(written // _MIB),
            "TOTAL_IO_MB": float((file_slice.size + written) // _MIB),
        },
        bootstrap_file_path=None if path is None else source_uri(storage, path),
    )


def slice_of(operation: CompactionOperation) -> FileSlice:
    """Return the file slice that an entry of a plan names."""
    base = operation.data_file_path
    return FileSlice(
        partition_path=operation.partition_path or "",
        file_id=operation.file_id or "",
        base_instant=operation.base_instant_time or "",
        base_file=None if base is None else BaseFile(BaseFileName.parse(base), 0),
        log_files=tuple(LogFile(LogFileName.parse(name), 0) for name in operation.delta_file_paths or ()),
    )


def mergeable_slices(state: TableState, slices: Iterable[FileSlice] | None = None) -> list[FileSlice]:
    """Return the newest slices that have log files, of the file groups that no pending plan names.

    *slices* are the newest slices of all file groups, for a caller that has listed them already.
    """
    busy = state.busy_groups
    return [
        file_slice
        for file_slice in (state.slices() if slices is None else slices)
        if file_slice.log_files and (file_slice.partition_path, file_slice.file_id) not in busy
    ]
