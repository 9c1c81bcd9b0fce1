"""Taking a write back in table version 6, where a log file may hold blocks of several writes.

What it added to a file group that was there stays, and a command block in a further log file says that it does not
count.  Base files, and the log files that began a file group, are deleted.
Source: MarkerBasedRollbackStrategy, RollbackHelperV1, Hudi 1.2.0; spec/timeline.md.

Taking away writes that did not complete, or that shall not have been.

A rollback is an instant of its own: its plan is on the timeline before the first file goes, so that whoever is stopped
half-way leaves the next writer something to finish.
Source: BaseRollbackPlanActionExecutor, BaseRollbackActionExecutor, Hudi 1.2.0; spec/timeline.md.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hudiformat.blocks import rollback_block
from hudiformat.errors import CorruptTableError
from hudiformat.logfile import LogWriter
from hudiformat.naming import BaseFileName, LogFileName, WriteToken, next_instant
from hudiformat.storage import FileInfo, Storage
from hudiformat.table.state import Clock
from hudiformat.timeline import (
    VERSION_WITH_COMPLETION_TIMES,
    Action,
    Instant,
    InstantInfo,
    RollbackMetadata,
    RollbackPartitionMetadata,
    RollbackPlan,
    RollbackRequest,
    State,
    TableConfig,
    Timeline,
    create_requested,
    instant_path,
    load_timeline,
    read_content,
    read_metadata,
    remove_pending,
    transition_inflight,
)
from hudiformat.transaction.files import (
    delete_markers,
    files_of,
    forget_files,
    log_instants,
    marked_files,
    marked_instants,
    parsed_data_file,
    take_files_away,
    take_strays_away,
)
from hudiformat.transaction.locks import forget
from hudiformat.transaction.publishing import publish
from hudiformat.view import list_partitions


def requests_of_blocks(storage: Storage, target: str) -> Iterator[RollbackRequest]:
    """What it takes to take back the write *target*; its log files are found by their blocks.

    Markers would name them faster, but Hudi keeps them in forms of its own, and a commit has none any more.
    """
    for folder, files in list_partitions(storage):
        blocks: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
        for file, name in _candidates(files, target):
            path = _below(folder, file.name)
            instants = {target} if isinstance(name, BaseFileName) else log_instants(storage, path)
            if name.instant == target and instants <= {target}:
                yield RollbackRequest(folder, name.file_id, target, (f"{storage.root}/{path}",), {})
            elif target in instants:
                blocks[name.file_id, name.instant][f"{storage.root}/{path}"] = file.size
        for (file_id, instant), logs in blocks.items():
            yield RollbackRequest(folder, file_id, instant, (), logs)


def carry_out(
    storage: Storage, requests: Iterable[RollbackRequest], *, target: str, at: str
) -> dict[str, dict[str, int]]:
    """Do what *requests* ask for, *at* the instant of the rollback; the new log files and their sizes by partition.

    Doing it twice does no harm.
    """
    added: dict[str, dict[str, int]] = defaultdict(dict)
    for request in requests:
        folder = request.partition_path
        for path in request.files_to_be_deleted:
            storage.delete(_below(folder, path.rpartition("/")[2]))
        if request.log_blocks_to_be_deleted:
            file_id, instant = request.file_id or "", request.latest_base_instant or ""
            version = _newest_version(storage, folder, file_id, instant) + 1
            log = LogFileName(file_id, instant, version, str(WriteToken(0, 0, 0)))
            with LogWriter(folder, log, storage=storage) as writer:
                result = writer.append(rollback_block(instant=at, target=target))
            added[folder][result.path] = result.size
    return added


def _candidates(files: Iterable[FileInfo], target: str) -> Iterator[tuple[FileInfo, LogFileName | BaseFileName]]:
    """Base files of *target*, and the log files of those slices that were the newest when it was begun."""
    named = [(file, parsed_data_file(file.name)) for file in files]
    newest: dict[str, str] = {}
    for _, name in named:
        if isinstance(name, LogFileName) and name.instant <= target:
            newest[name.file_id] = max(newest.get(name.file_id, ""), name.instant)
    for file, name in named:
        is_log = isinstance(name, LogFileName)
        if name is not None and name.instant == (newest.get(name.file_id) if is_log else target):
            yield file, name


def _newest_version(storage: Storage, folder: str, file_id: str, instant: str) -> int:
    names = (parsed_data_file(file.name) for file in storage.list(folder))
    logs = [name for name in names if isinstance(name, LogFileName)]
    return max((log.version for log in logs if (log.file_id, log.instant) == (file_id, instant)), default=0)


def _below(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


WRITES = (Action.COMMIT, Action.DELTA_COMMIT, Action.REPLACE_COMMIT)
"""What changes a table's rows."""
_MERGES = (Action.COMPACTION, Action.LOG_COMPACTION)


@dataclass(frozen=True, slots=True)
class Rollbacks:
    """The rollbacks of one table."""

    storage: Storage
    config: TableConfig
    clock: Clock

    def roll_back(self, target: Instant) -> Instant:
        """Take away all that *target*, pending by now, has written, and then itself; the rollback's instant.

        Raises:
            StorageError: a file cannot be deleted; the rollback stays pending, and the next writer goes on with it.
        """
        requests = tuple(self._requests(target.time))
        plan = RollbackPlan(InstantInfo(target.time, target.action.value), requests)
        now = next_instant(self.clock(), load_timeline(self.storage, self.config).latest_instant_time)
        return self._run(create_requested(self.storage, self.config, now, Action.ROLLBACK, plan), plan)

    def finish_pending(self, timeline: Timeline) -> frozenset[str]:
        """Go on with the rollbacks that others began; the instants that they have rolled back."""
        done = set()
        for rollback in timeline.pending:
            if rollback.action is Action.ROLLBACK:
                plan = self._plan(rollback)
                self._run(rollback, plan)
                done.add(_target(plan).commit_time)
        return frozenset(done)

    def sweep_orphans(self) -> None:
        """Take away what tasks have left that were still at work when their write was rolled back, or committed.

        That is all files of an instant that is nowhere, unless it is before the timeline's first: it may have been
        archived; and those files of a commit that are marked and that it does not name.  These wait while a compaction
        is pending, whose plan may name them.
        """
        marked = marked_instants(self.storage)  # before the timeline: who has markers had an instant first
        timeline = load_timeline(self.storage, self.config)
        on_timeline = {instant.time for instant in timeline.instants}
        first = timeline.first_active or ""
        for instant in marked:
            if instant > first and instant not in on_timeline:
                take_files_away(self.storage, self.config, instant)
        if not any(pending.action in _MERGES for pending in timeline.pending):
            for done in timeline.completed:
                if done.time in marked and done.action in WRITES:
                    self._take_late_files_away(done)

    def _take_late_files_away(self, done: Instant) -> None:
        metadata = read_metadata(self.storage, self.config, done)
        take_strays_away(self.storage, self.config, done.time, metadata.write_stats)
        delete_markers(self.storage, done.time)

    def _run(self, rollback: Instant, plan: RollbackPlan) -> Instant:
        if rollback.state is State.REQUESTED:
            rollback = transition_inflight(self.storage, self.config, rollback)
        metadata = self._execute(_target(plan), plan.rollback_requests or (), at=rollback.time)
        return publish(self.storage, self.config, self.clock, rollback, metadata)

    def take_away(self, target: InstantInfo, *, at: str) -> RollbackMetadata:
        """Take away what *target* has written, and itself, as a part of the restore that began *at*."""
        return self._execute(target, tuple(self._requests(target.commit_time)), at=at)

    def _execute(self, target: InstantInfo, requests: Sequence[RollbackRequest], *, at: str) -> RollbackMetadata:
        began = time.monotonic()
        self._hide(target)
        taken_back: dict[str, dict[str, int]] = {}
        if self.config.version < VERSION_WITH_COMPLETION_TIMES:
            taken_back = carry_out(self.storage, requests, target=target.commit_time, at=at)
            forget_files(self.storage, target.commit_time)
        else:
            take_files_away(self.storage, self.config, target.commit_time)
        forget(self.storage, target.commit_time)
        self._remove(target)
        return RollbackMetadata(
            start_rollback_time=at,
            time_taken_in_millis=int((time.monotonic() - began) * 1000),
            total_files_deleted=sum(len(request.files_to_be_deleted) for request in requests),
            commits_rollback=(target.commit_time,),
            partition_metadata=_partition_metadata(requests, taken_back),
            instants_rollback=(target,),
        )

    def _hide(self, target: InstantInfo) -> None:
        """Make a completed write a pending one again: nobody may read files of it while they go."""
        for instant in load_timeline(self.storage, self.config).completed:
            if instant.time == target.commit_time and instant.action in WRITES:
                self.storage.delete(instant_path(self.config, instant))

    def _remove(self, target: InstantInfo) -> None:
        for instant in load_timeline(self.storage, self.config).pending:
            if instant.time == target.commit_time and instant.action is not Action.ROLLBACK:
                remove_pending(self.storage, self.config, instant)

    def _requests(self, instant: str) -> Iterator[RollbackRequest]:
        if self.config.version < VERSION_WITH_COMPLETION_TIMES:
            yield from requests_of_blocks(self.storage, instant)
            return
        for path in sorted({*marked_files(self.storage, instant), *files_of(self.storage, instant)}):
            folder, _, name = path.rpartition("/")
            parsed = parsed_data_file(name)
            yield RollbackRequest(
                partition_path=folder,
                file_id=parsed.file_id if parsed else "",
                latest_base_instant=instant,
                files_to_be_deleted=(f"{self.storage.root}/{path}",),
                log_blocks_to_be_deleted={},
            )

    def _plan(self, rollback: Instant) -> RollbackPlan:
        requested = Instant(rollback.time, rollback.action, State.REQUESTED)
        plan = read_content(self.storage, self.config, requested)
        if not isinstance(plan, RollbackPlan) or plan.instant_to_rollback is None:
            path = f"{self.storage.root}/{instant_path(self.config, requested)}"
            raise CorruptTableError(f"{path}: expected the plan of a rollback that names an instant", path=path)
        return plan


def _target(plan: RollbackPlan) -> InstantInfo:
    assert plan.instant_to_rollback is not None  # noqa: S101 - _plan has looked
    return plan.instant_to_rollback


def _partition_metadata(
    requests: Sequence[RollbackRequest], taken_back: Mapping[str, Mapping[str, int]]
) -> dict[str, RollbackPartitionMetadata]:
    files: dict[str, list[str]] = defaultdict(list)
    logs: dict[str, dict[str, int]] = defaultdict(dict)
    for request in requests:
        files[request.partition_path] += request.files_to_be_deleted
        logs[request.partition_path] |= request.log_blocks_to_be_deleted or {}
    return {
        path: RollbackPartitionMetadata(
            path,
            tuple(deleted),
            rollback_log_files=taken_back.get(path, {}),
            log_files_from_failed_commit=logs[path],
        )
        for path, deleted in files.items()
    }
