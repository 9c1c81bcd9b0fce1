"""Roll back writes: those that did not complete, and completed ones that the user wants removed.

A rollback is an instant of its own.  Its plan is on the timeline before the first file is deleted: if the process is
stopped half-way, the next writer finishes the rollback.

In table version 6 a log file may contain blocks of several writes.  Blocks that the write appended to an existing file
group stay, and a command block in another log file makes readers skip them.  Base files are deleted, and so are the log
files with which a file group began.

Source: BaseRollbackPlanActionExecutor, BaseRollbackActionExecutor, MarkerBasedRollbackStrategy, RollbackHelperV1, Hudi
1.2.0; spec/timeline.md.

A restore removes each write that its plan names, the newest first.  From the moment when the restore is inflight,
queries see the table as it will be.  A restore that was interrupted is finished before anything else changes the table.

Source: BaseRestoreActionExecutor, Hudi 1.2.0; spec/services.md.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from hudiformat.codec.log.build import rollback_block
from hudiformat.codec.log.writer import LogWriter
from hudiformat.errors import CommitError, CorruptTableError
from hudiformat.file_group.partitions import list_partitions
from hudiformat.naming.file_names import BaseFileName, LogFileName, WriteToken, base_name, join_path, parse_data_file
from hudiformat.storage.protocol import FileInfo, Storage
from hudiformat.table.effective import restore_plan
from hudiformat.table.state import TableState
from hudiformat.timeline.contents import remove_pending, transition_inflight
from hudiformat.timeline.rollbacks import (
    InstantInfo,
    RestoreMetadata,
    RollbackMetadata,
    RollbackPartitionMetadata,
    RollbackPlan,
    RollbackRequest,
)
from hudiformat.timeline.timeline import Action, Instant, State, instant_path, load_timeline
from hudiformat.write.commit.files import (
    delete_files,
    delete_torn_logs,
    delete_traces,
    files_of,
    log_instants,
    log_targets,
)
from hudiformat.write.commit.heartbeats import delete_heartbeat, living_instants
from hudiformat.write.commit.markers import marked_files
from hudiformat.write.commit.publishing import announce, publish


def rollback_requests(storage: Storage, target: str, *, ends_slice: bool = False) -> Iterator[RollbackRequest]:
    """Yield what must be done to roll back the write *target*; its log files are recognised by their blocks.

    If *ends_slice*, every later write to the slices that *target* began is rolled back already, and all of their log
    files are deleted: the log files of a compaction's slice would hide the slices before it.

    Markers would name the files faster, but Hudi keeps them in forms of its own, and a committed write has none.

    Source: ListingBasedRollbackStrategy, Hudi 1.2.0.
    """
    for folder, files in list_partitions(storage):
        blocks: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
        for file, name in _candidates(files, target):
            path = join_path(folder, file.name)
            instants = {target} if isinstance(name, BaseFileName) else log_instants(storage, path)
            if name.instant == target and (ends_slice or instants <= {target}):
                yield RollbackRequest(folder, name.file_id, target, (f"{storage.root}/{path}",), {})
            elif target in instants:
                blocks[name.file_id, name.instant][f"{storage.root}/{path}"] = file.size
        for (file_id, instant), logs in blocks.items():
            yield RollbackRequest(folder, file_id, instant, (), logs)


def run_requests(
    storage: Storage, requests: Iterable[RollbackRequest], *, target: str, at: str
) -> dict[str, dict[str, int]]:
    """Run *requests* of the rollback at the instant *at*, and return their log files with their sizes by partition.

    Running them twice does no harm: the log files of the first run, which nobody may have recorded, are returned too.
    """
    added: dict[str, dict[str, int]] = defaultdict(dict)
    for request in requests:
        folder = request.partition_path
        for path in request.files_to_be_deleted:
            storage.delete(join_path(folder, base_name(path)))
        if request.log_blocks_to_be_deleted:
            file_id, instant = request.file_id or "", request.latest_base_instant or ""
            logs = _logs_of(storage, folder, file_id, instant)
            version = max((log.version for _, log in logs), default=0) + 1
            log = LogFileName(file_id, instant, version, str(WriteToken(0, 0, 0)))
            with LogWriter(folder, log, storage=storage) as writer:
                result = writer.append(rollback_block(instant=at, target=target))
            added[folder] |= {result.path: result.size, **_taken_back(storage, folder, logs, target)}
    return added


def _logs_of(storage: Storage, folder: str, file_id: str, instant: str) -> list[tuple[FileInfo, LogFileName]]:
    named = [(file, parse_data_file(file.name)) for file in storage.list(folder)]
    logs = [(file, name) for file, name in named if isinstance(name, LogFileName)]
    return [(file, name) for file, name in logs if (name.file_id, name.instant) == (file_id, instant)]


def _taken_back(
    storage: Storage, folder: str, logs: Iterable[tuple[FileInfo, LogFileName]], target: str
) -> dict[str, int]:
    """Return those of *logs* in which an interrupted rollback has already taken back blocks of *target*."""
    found = {join_path(folder, file.name): file.size for file, _ in logs}
    return {f"{storage.root}/{path}": size for path, size in found.items() if target in log_targets(storage, path)}


def _candidates(files: Iterable[FileInfo], target: str) -> Iterator[tuple[FileInfo, LogFileName | BaseFileName]]:
    """Yield the base files of *target*, and the log files of the slices that were the newest when *target* began."""
    named = [(file, parse_data_file(file.name)) for file in files]
    newest: dict[str, str] = {}
    for _, name in named:
        if isinstance(name, LogFileName) and name.instant <= target:
            newest[name.file_id] = max(newest.get(name.file_id, ""), name.instant)
    for file, name in named:
        is_log = isinstance(name, LogFileName)
        if name is not None and name.instant == (newest.get(name.file_id) if is_log else target):
            yield file, name


def roll_back(state: TableState, target: Instant) -> Instant:
    """Delete what the pending *target* has written, then its instant, and return the instant of the rollback.

    Raises:
        CommitError: the write has a savepoint, which only a completed write can get: its completed file is lost.
        StorageError: a file cannot be deleted; the rollback stays pending, and the next writer finishes it.
    """
    if [done.action for done in state.timeline.completed if done.time == target.time] == [Action.SAVEPOINT]:
        raise CommitError(
            f"{state.storage.root}: the write {target} has a savepoint and is not complete: its completed file is "
            "lost; restore a copy of that file, or delete the savepoint to have the write rolled back",
            path=state.storage.root,
        )
    requests = tuple(_requests_of(state, target.time))
    plan = RollbackPlan(InstantInfo(target.time, target.action.value), requests)
    begun = announce(state, Action.ROLLBACK, plan)
    now = state.context.state()
    if not target.is_completed and any(
        done.time == target.time for done in now.timeline.completed
    ):  # its writer was alive, and has committed before the rollback was announced
        remove_pending(state.storage, state.config, begun)
        return begun
    return _run(now, begun, plan)


def finish_rollbacks(state: TableState) -> TableState:
    """Finish the rollbacks that were interrupted, and return the state of the table after that.

    A rollback of a pending write that another process runs now is left to it: Hudi runs one without the lock.

    Two kinds are taken off the timeline instead.  An inflight rollback without a plan: a restore has done its work and
    deleted the plan before the rollback's writer, which had lost the lock, began.  And a planned rollback of a write
    with a savepoint: Hudi refuses it only after it has planned it.
    """
    pending = [one for one in state.timeline.pending if one.action is Action.ROLLBACK]
    running = running_rollbacks(state)
    for one in pending:
        if one.time in running:
            continue
        planned = Instant(one.time, one.action, State.REQUESTED)
        if one.state is State.INFLIGHT and not state.storage.exists(instant_path(state.config, planned)):
            remove_pending(state.storage, state.config, one)
            continue
        plan = _read_plan(state, one)
        if _has_savepoint(state, _target_of(plan).commit_time):
            remove_pending(state.storage, state.config, one)
        else:
            _run(state.context.state(), one, plan)
    return state.context.state() if pending else state


def running_rollbacks(state: TableState) -> dict[str, str]:
    """Return the pending writes that other processes roll back now, by the instants of the rollbacks.

    Such a rollback has a young heartbeat.  A rollback of a completed write is not among them: it has to be finished
    before anything is built on the files that it deletes.

    Source: BaseHoodieTableServiceClient.rollback, acquireRollbackHeartbeatIfMultiWriter, Hudi 1.2.0.
    """
    options, timeline = state.options.concurrency, state.timeline
    pending = [one for one in timeline.pending if one.action is Action.ROLLBACK]
    if not (pending and options.has_other_writers):
        return {}
    beating = living_instants(state.storage, tolerance=options.heartbeat_tolerance)
    plans = {one.time: state.plan(one) for one in pending if one.time in beating}
    targets = {time: _target_of(plan).commit_time for time, plan in plans.items() if isinstance(plan, RollbackPlan)}
    completed = {done.time for done in timeline.completed}
    return {time: target for time, target in targets.items() if target not in completed}


def _has_savepoint(state: TableState, time: str) -> bool:
    """Return whether a write is complete and has a savepoint."""
    found = {one.action is Action.SAVEPOINT for one in state.timeline.completed if one.time == time}
    return found == {True, False}


def remove_write(state: TableState, target: InstantInfo, *, at: str) -> RollbackMetadata:
    """Delete what *target* has written, and its instant, as a part of the restore that began *at*."""
    return _execute(state, target, tuple(_requests_of(state, target.commit_time)), at=at)


def _run(state: TableState, rollback: Instant, plan: RollbackPlan) -> Instant:
    if rollback.state is State.REQUESTED:
        rollback = transition_inflight(state.storage, state.config, rollback)
    metadata = _execute(state, _target_of(plan), plan.rollback_requests or (), at=rollback.time)
    return publish(state, rollback, metadata)


def _execute(
    state: TableState, target: InstantInfo, requests: Sequence[RollbackRequest], *, at: str
) -> RollbackMetadata:
    began = time.monotonic()
    storage, config = state.storage, state.config
    state.context.confirm()
    # The order: first no reader sees the write any more, then its files are deleted, and its instant last: until then,
    # a rollback that was interrupted is found and finished.
    _make_pending(state, target)
    appended: dict[str, dict[str, int]] = {}
    if state.logs_name_slices:
        appended = run_requests(storage, requests, target=target.commit_time, at=at)
        delete_torn_logs(storage, config, target.commit_time)
        delete_traces(storage, target.commit_time)
    else:
        delete_files(storage, config, target.commit_time)
    delete_heartbeat(storage, target.commit_time)
    _remove(state, target)
    return RollbackMetadata(
        start_rollback_time=at,
        time_taken_in_millis=int((time.monotonic() - began) * 1000),
        total_files_deleted=sum(len(request.files_to_be_deleted) for request in requests),
        commits_rollback=(target.commit_time,),
        partition_metadata=_partition_metadata(requests, appended),
        instants_rollback=(target,),
    )


def _make_pending(state: TableState, target: InstantInfo) -> None:
    """Make a completed write pending again: nobody may read its files while they are deleted."""
    for instant in load_timeline(state.storage, state.config).completed:
        if instant.time == target.commit_time and instant.action.is_write:
            state.storage.delete(instant_path(state.config, instant))


def _remove(state: TableState, target: InstantInfo) -> None:
    # Load the timeline again: without the completed file, it shows the action under which the instant was requested.
    for instant in load_timeline(state.storage, state.config).pending:
        if instant.time == target.commit_time and instant.action is not Action.ROLLBACK:
            remove_pending(state.storage, state.config, instant)


def _requests_of(state: TableState, instant: str) -> Iterator[RollbackRequest]:
    storage = state.storage
    if state.logs_name_slices:
        yield from rollback_requests(storage, instant, ends_slice=_ends_slice(state, instant))
        return
    for path in sorted({*marked_files(storage, instant), *files_of(storage, instant)}):
        folder, _, name = path.rpartition("/")
        parsed = parse_data_file(name)
        if parsed is None:
            continue  # a marker of no data file
        yield RollbackRequest(
            partition_path=folder,
            file_id=parsed.file_id,
            latest_base_instant=instant,
            files_to_be_deleted=(f"{storage.root}/{path}",),
            log_blocks_to_be_deleted={},
        )


def _ends_slice(state: TableState, target: str) -> bool:
    """Return whether no write is left that came after *target*."""
    instants = load_timeline(state.storage, state.config).instants
    return not any(one.time > target and one.action.completed_as.is_write for one in instants)


def _read_plan(state: TableState, rollback: Instant) -> RollbackPlan:
    requested = Instant(rollback.time, rollback.action, State.REQUESTED)
    plan = state.content(requested)
    if not isinstance(plan, RollbackPlan) or plan.instant_to_rollback is None:
        path = f"{state.storage.root}/{instant_path(state.config, requested)}"
        raise CorruptTableError(f"{path}: expected the plan of a rollback that names an instant", path=path)
    return plan


def _target_of(plan: RollbackPlan) -> InstantInfo:
    assert plan.instant_to_rollback is not None  # noqa: S101 - _read_plan has checked
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


def run_restore(state: TableState, restoring: Instant) -> Instant:
    """Run the plan of a pending restore, or what is left of it, and return the completed restore.

    Raises:
        CorruptTableError: the restore has no plan.
        StorageError: a file cannot be deleted; the restore stays pending.
        LockError: this writer has lost the table's lock; the restore stays pending.
    """
    began = time.monotonic()
    storage, config = state.storage, state.config
    plan = restore_plan(storage, config, restoring)
    if restoring.state is State.REQUESTED:
        restoring = transition_inflight(storage, config, restoring)
    done: dict[str, tuple[RollbackMetadata, ...]] = {}
    for target in plan.instants_to_rollback:
        state.context.confirm()
        done[target.commit_time] = (remove_write(state, target, at=restoring.time),)
    metadata = RestoreMetadata(
        start_restore_time=restoring.time,
        time_taken_in_millis=int((time.monotonic() - began) * 1000),
        instants_to_rollback=tuple(target.commit_time for target in plan.instants_to_rollback),
        hoodie_restore_metadata=done,
        restore_instant_info=plan.instants_to_rollback,
    )
    completed = publish(state, restoring, metadata)
    _delete_rollbacks(state, plan.savepoint_to_restore_timestamp or "")
    return completed


def finish_restores(state: TableState) -> TableState:
    """Finish the restores that were interrupted, and return the state of the table after that."""
    pending = [one for one in state.timeline.pending if one.action is Action.RESTORE]
    for one in pending:
        run_restore(state, one)
    return state.context.state() if pending else state


def _delete_rollbacks(state: TableState, after: str) -> None:
    """Delete the rollbacks after the savepoint: the restore has deleted the writes that they rolled back."""
    for one in state.timeline.instants:
        if one.action is Action.ROLLBACK and one.time > after:
            for step in (one, *(Instant(one.time, one.action, step) for step in (State.INFLIGHT, State.REQUESTED))):
                state.storage.delete(instant_path(state.config, step))
