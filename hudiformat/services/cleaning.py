"""Cleaning: delete the file slices that no query of the retained window needs.

The plan is on the timeline before the first file is deleted.  Rules and words: spec/services.md.

Source: CleanPlanner, CleanerUtils, CleanPlanActionExecutor, CleanActionExecutor, Hudi 1.2.0.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property, partial
from itertools import groupby

from hudiformat.errors import CorruptTableError, StorageError
from hudiformat.file_group.slices import FileSlice, build_slices
from hudiformat.naming.checks import check_data_file, check_partition_path
from hudiformat.naming.file_names import LogFileName, base_name, join_path, parse_data_file, stored_name
from hudiformat.naming.instants import format_instant
from hudiformat.services.leftovers import delete_leftovers
from hudiformat.services.service_result import ServiceResult
from hudiformat.storage.opening import open_storage
from hudiformat.storage.protocol import FileInfo
from hudiformat.table.listing import PartitionFiles
from hudiformat.table.options.values import CleanPolicy
from hudiformat.table.state import TableContext, TableState
from hudiformat.timeline.cleans import (
    SAVEPOINTED_TIMESTAMPS,
    ActionInstant,
    CleanerPlan,
    CleanFileInfo,
    CleanMetadata,
    CleanPartitionMetadata,
)
from hudiformat.timeline.commit_metadata import CommitMetadata
from hudiformat.timeline.contents import Content, transition_inflight
from hudiformat.timeline.rollbacks import SavepointMetadata
from hudiformat.timeline.timeline import Action, Instant, State
from hudiformat.write.commit.changing import change_timeline
from hudiformat.write.commit.partitions import data_files, remove_partition
from hudiformat.write.commit.publishing import announce, publish
from hudiformat.write.commit.sweeping import sync_deletions
from hudiformat.write.reporting.commits import send_metrics

_FILES_AT_ONCE, _SHARES = 10_000, 16
"""The number of files that tasks delete between two checks of the lock, and the number of tasks."""

_PENDING = (Action.COMMIT, Action.DELTA_COMMIT, Action.REPLACE_COMMIT, Action.CLUSTERING)


def clean(context: TableContext, seen: TableState | None = None) -> ServiceResult[Instant]:
    """Finish what an earlier clean left, then delete what the policy no longer keeps.

    *seen* is the state of the table, just read: if it has nothing to clean, the lock is not taken.  Without *seen*, a
    user has asked for the clean, and temporary files of killed processes are deleted as well.

    Raises:
        LockError: another writer keeps the table's lock.
        StorageError: a file cannot be deleted; the clean stays pending, and the next one continues it.
    """
    planned: CleanerPlan | None = None
    if seen is None:
        delete_leftovers(context.storage)
    elif not _pending_cleans(seen):
        planned = None if _is_as_clean_as_before(seen) else plan_clean(seen)
        if planned is None:
            _FoundNothing.remember(seen)
            return _result([])
    done = []
    with change_timeline(context, seen) as state:
        for pending in _pending_cleans(state):
            done.append(_run(state, pending, _read_plan(state, pending)))
            state = context.state()  # noqa: PLW2901 - the clean has changed the table
        is_as_seen = seen is not None and state.timeline == seen.timeline
        plan = planned if is_as_seen else plan_clean(state)
        if plan is not None:
            done.append(_run(state, announce(state, Action.CLEAN, plan), plan))
    if done:
        send_metrics(context)
    return _result(done)


def _result(done: Sequence[tuple[Instant, int]]) -> ServiceResult[Instant]:
    """Return the result of cleans, of which each has an instant and a number of deleted files."""
    text = f"{sum(count for _, count in done)} files deleted" if done else ""
    return ServiceResult("clean", text, tuple(instant for instant, _ in done))


def _is_as_clean_as_before(state: TableState) -> bool:
    """Return whether a plan would find nothing, as it did after an earlier commit; a plan would list all partitions.

    It would find nothing if only delta commits have been completed since, and if all writes that have left the window
    since have only added to log files: these make no slice older than another.
    """
    found = state.context.parsed.cache.get(_KEY, _FoundNothing)
    earliest, completed = _earliest_to_retain(state), state.timeline.completed
    if found is None or earliest is None or found.options != state.options.services or earliest.time < found.earliest:
        return False
    since = [one for one in completed if one not in found.completed]
    saved = {one for one in found.completed if one.action is Action.SAVEPOINT}
    if not all(one.action is Action.DELTA_COMMIT and one.time >= found.earliest for one in since):
        return False
    passed = [one for one in state.timeline.completed_writes if found.earliest <= one.time < earliest.time]
    if any(one.action is not Action.DELTA_COMMIT for one in passed):  # a replace commit need not write a file
        return False
    names = (base_name(stat.path or "") for one in passed for stat in state.metadata(one).write_stats)
    return saved.issubset(completed) and all(isinstance(parse_data_file(name), LogFileName) for name in names)


_KEY = "nothing to clean"
_INSTANT_BYTES = 300


@dataclass(frozen=True, slots=True)
class _FoundNothing:
    """What a table object remembers of a plan that found nothing to clean."""

    earliest: str
    completed: frozenset[Instant]
    options: object

    @classmethod
    def remember(cls, state: TableState) -> None:
        """Remember that a plan for *state* has found nothing, unless a log file can begin a slice."""
        if (earliest := _earliest_to_retain(state)) is not None and not state.logs_name_slices:
            found = cls(earliest.time, frozenset(state.timeline.completed), state.options.services)
            state.context.parsed.cache.put(_KEY, found, _INSTANT_BYTES * len(found.completed))


def _pending_cleans(state: TableState) -> list[Instant]:
    return [pending for pending in state.timeline.pending if pending.action is Action.CLEAN]


def plan_clean(state: TableState) -> CleanerPlan | None:
    """Return what a clean would delete now; None if that is nothing."""
    timeline, options = state.timeline, state.options.services
    earliest = _earliest_to_retain(state)
    if earliest is None and options.clean_policy is not CleanPolicy.BY_VERSIONS:
        return None
    planner = _Planner(state, earliest)
    files, emptied = {}, []
    for path, found, is_emptied in planner.partitions():
        if found:
            files[path] = found
        if is_emptied:
            emptied.append(path)
    if not files and not emptied:
        return None
    saved = [instant.time for instant in planner.savepoints]
    return CleanerPlan(
        earliest_instant_to_retain=None
        if earliest is None
        else ActionInstant(earliest.time, earliest.action.value, earliest.state.name),
        last_completed_commit_timestamp=timeline.completed_writes[-1].time,
        policy=options.clean_policy.value,
        file_paths_to_be_deleted_per_partition={
            path: tuple(CleanFileInfo(f"{state.storage.root}/{file}", is_bootstrap_base_file=False) for file in found)
            for path, found in files.items()
        },
        partitions_to_be_deleted=tuple(emptied),
        extra_metadata={SAVEPOINTED_TIMESTAMPS: ",".join(saved)} if saved else {},
    )


def _earliest_to_retain(state: TableState) -> Instant | None:
    """Return the first commit of the window that is kept; no pending instant may be older."""
    writes, options = state.timeline.completed_writes, state.options.services
    if options.clean_policy is CleanPolicy.BY_HOURS:
        begin = format_instant(state.context.clock() - timedelta(hours=options.clean_hours))
        return next((write for write in writes if write.time >= begin), None)
    first = options.first_retained(len(writes))
    if first is None:
        return None
    earliest = writes[first]
    pending = next((instant for instant in state.timeline.pending if instant.action in _PENDING), None)
    if pending is None or earliest.time <= pending.time:
        return earliest
    return next((write for write in reversed(writes) if write.time < pending.time), None)


@dataclass(frozen=True)
class _Planner:
    state: TableState
    earliest: Instant | None

    @property
    def savepoints(self) -> list[Instant]:
        return [instant for instant in self.state.timeline.completed if instant.action is Action.SAVEPOINT]

    def partitions(self) -> Iterator[tuple[str, list[str], bool]]:
        """Yield each partition path, the paths of its files that are to be deleted, and whether it is empty then."""
        visibility = self.state.visibility
        everything = replace(visibility, replaced={})
        saved, compacting, busy = self._saved_files(), self._compacting(), self.state.busy_groups
        for path, files in self._partitions_to_check():
            unwanted: list[FileSlice] = []
            slices = build_slices(path, files, everything)
            for file_id, group in groupby(slices, key=lambda item: item.file_id):
                replaced_by = visibility.replaced.get((path, file_id))
                if replaced_by is None:
                    unwanted += self._unneeded(list(group), compacting.get((path, file_id)))
                elif (self.earliest is None or replaced_by < self.earliest.time) and (path, file_id) not in busy:
                    unwanted += group  # neither a query nor a pending plan reads a group that was replaced so early
            names = [item.file_names + _change_logs(item, files) for item in unwanted]
            kept = saved.get(path, frozenset())
            deleted = [name for found in names if not kept.intersection(map(stored_name, found)) for name in found]
            yield path, [join_path(path, name) for name in deleted], self._is_emptied(path, files, deleted)

    def _is_emptied(self, path: str, files: Iterable[FileInfo], deleted: Sequence[str]) -> bool:
        """Return whether no data file is left in a partition, and no pending plan or write is known to need it.

        The folder itself is listed, as the metadata table lacks the files of pending writes.

        Source: CleanPlanner.getFilesToCleanKeepingLatestCommits, CleanPlanner.hasPendingFiles.
        """
        if not path or data_files({file.name for file in files}.difference(deleted)) or self._is_needed(path):
            return False
        return not data_files({file.name for file in self.state.storage.list(path)}.difference(deleted))

    def _is_needed(self, path: str) -> bool:
        """Return whether a pending plan has a file group of the partition *path*, or a pending write names it."""
        return any(partition == path for partition, _ in self.state.busy_groups) or path in self._announced

    @cached_property
    def _announced(self) -> frozenset[str]:
        """The partitions that pending writes have announced; Hudi's upserts and inserts do so before the first file."""
        found: set[str] = set()
        for pending in self.state.pending_writes:
            if pending.state is State.INFLIGHT:
                with suppress(StorageError):  # another process has rolled it back meanwhile
                    content = self.state.content(pending)
                    found |= content.partition_to_write_stats.keys() if isinstance(content, CommitMetadata) else set()
        return frozenset(found)

    def _partitions_to_check(self) -> Iterable[PartitionFiles]:
        """Return the partitions that may have something to clean.

        After a clean, these are the partitions with writes that have left the window since.

        Source: CleanPlanner.getPartitionPathsForIncrementalCleaning.
        """
        cleaned = next((one for one in reversed(self.state.timeline.completed) if one.action is Action.CLEAN), None)
        metadata = None if cleaned is None else self.state.content(cleaned)
        first = metadata.earliest_commit_to_retain if isinstance(metadata, CleanMetadata) else ""
        if (
            self.earliest is None
            or not first
            or first < (self.state.timeline.first_active or "")
            or self._lost_savepoint(metadata)
        ):
            return self.state.files()
        touched: dict[str, None] = {}
        for write in self.state.timeline.completed_writes:
            if first <= write.time < self.earliest.time:
                found = self.state.metadata(write)
                touched |= dict.fromkeys(
                    [*found.partition_to_write_stats, *(found.partition_to_replace_file_ids or {})]
                )
        return (files for path in sorted(touched) for files in self.state.files(path))

    def _lost_savepoint(self, metadata: Content | None) -> bool:
        """Return whether a savepoint that existed at the last clean has been deleted since."""
        extra = metadata.extra_metadata if isinstance(metadata, CleanMetadata) else None
        before = (extra or {}).get(SAVEPOINTED_TIMESTAMPS, "")
        return bool({time for time in before.split(",") if time} - {one.time for one in self.savepoints})

    def _unneeded(self, slices: list[FileSlice], compacted_from: str | None) -> list[FileSlice]:
        """Return which *slices* of one file group are to be deleted; they are given from the oldest to the newest."""
        if self.state.options.services.clean_policy is CleanPolicy.BY_VERSIONS:
            free = [item for item in slices if compacted_from is None or item.base_instant < compacted_from]
            kept = self.state.options.services.clean_versions - (compacted_from is not None)
            return free[: max(len(free) - kept, 0)]
        assert self.earliest is not None  # noqa: S101 - the other policies have one, or nothing is planned
        older = [item for item in slices[:-1] if item.base_instant < self.earliest.time]
        # A query at the beginning of the window reads the newest of the slices before it, so that one stays.
        newest_older = [item for item in slices if item.base_instant < self.earliest.time][-1:]
        return [
            item
            for item in older
            if item not in newest_older and (compacted_from is None or item.base_instant < compacted_from)
        ]

    def _saved_files(self) -> dict[str, frozenset[str]]:
        found: dict[str, frozenset[str]] = {}
        for instant in self.savepoints:
            metadata = self.state.content(instant)
            for path, partition in (
                metadata.partition_metadata.items() if isinstance(metadata, SavepointMetadata) else ()
            ):
                found[path] = found.get(path, frozenset()) | frozenset(partition.savepoint_data_file)
        return found

    def _compacting(self) -> dict[tuple[str, str], str]:
        """Return the file groups of pending compactions, and the base instants of the slices that these read."""
        compactions = (Action.COMPACTION, Action.LOG_COMPACTION)
        groups = (group for group in self.state.pending_groups if group.instant.action in compactions)
        return {group.key: group.base_instant for group in groups}


def _change_logs(file_slice: FileSlice, files: Iterable[FileInfo]) -> list[str]:
    """Return the change-data logs of the write that created the slice's base file."""
    beginning = f".{file_slice.file_id}_{file_slice.base_instant}."
    return [file.name for file in files if file.name.startswith(beginning) and file.name.endswith(".cdc")]


def _read_plan(state: TableState, instant: Instant) -> CleanerPlan:
    plan = state.content(Instant(instant.time, instant.action, State.REQUESTED))
    if not isinstance(plan, CleanerPlan):
        raise CorruptTableError(
            f"{state.storage.root}: expected a plan for {instant}, found none; repair the table",
            path=state.storage.root,
        )
    return plan


def _run(state: TableState, instant: Instant, plan: CleanerPlan) -> tuple[Instant, int]:
    """Run a clean, and return its completed instant and the number of files that it has deleted."""
    began = time.monotonic()
    if instant.state is State.REQUESTED:
        instant = transition_inflight(state.storage, state.config, instant)
    planned = plan.file_paths_to_be_deleted_per_partition or {}
    named = {path: [one.file_path or "" for one in files] for path, files in planned.items()}
    names = {path: _listed_names(state, path, paths) for path, paths in named.items()}
    _delete(state, [(path, name) for path, found in names.items() for name in found])
    emptied = set(_delete_partitions(state, plan.partitions_to_be_deleted or ()))
    partitions = {
        path: _partition_metadata(path, plan.policy, names.get(path, ()), is_deleted=path in emptied)
        for path in [*names, *sorted(emptied - names.keys())]
    }
    sync_deletions(state, names)  # if a file came back after the clean is completed, nobody would delete it again
    earliest = plan.earliest_instant_to_retain
    metadata = CleanMetadata(
        start_clean_time=instant.time,
        time_taken_in_millis=int((time.monotonic() - began) * 1000),
        total_files_deleted=sum(len(partition.success_delete_files) for partition in partitions.values()),
        earliest_commit_to_retain=earliest.timestamp if earliest else "",
        last_completed_commit_timestamp=plan.last_completed_commit_timestamp,
        partition_metadata=partitions,
        extra_metadata=plan.extra_metadata,
    )
    return publish(state, instant, metadata), metadata.total_files_deleted


def _listed_names(state: TableState, partition: str, paths: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the files *paths* as listings have them; those that are not listed any more are left out.

    Hudi plans to delete a registered file by its name in the folder.  It belongs to others, and stays there: what is
    deleted is its name in the list.
    """
    names = [base_name(check_data_file(path)) for path in paths]
    if all(map(parse_data_file, names)):
        return tuple(names)
    listed = {stored_name(file.name): file.name for _, files in state.files(partition) for file in files}
    return tuple(listed.get(name, name) for name in names if name in listed or parse_data_file(name) is not None)


def _delete(state: TableState, files: Sequence[tuple[str, str]]) -> None:
    """Delete *files*, given by partition path and name; tasks, which cannot check the lock, delete a number at a time.

    If another process takes the lock over in between, it continues the same plan, so that does no harm.
    """
    context = state.context
    if context.executor is None:
        for path, name in files:
            context.confirm()
            state.storage.delete(join_path(path, name))
        return
    for start in range(0, len(files), _FILES_AT_ONCE):
        context.confirm()
        some = files[start : start + _FILES_AT_ONCE]
        shares = [some[number::_SHARES] for number in range(_SHARES)]
        delete = partial(delete_files, state.storage.root)
        deque(context.each(delete, [one for one in shares if one], name=f"clean {state.config.name}"), maxlen=0)


def _delete_partitions(state: TableState, paths: Iterable[str]) -> Iterator[str]:
    """Delete those of the partitions *paths* that have no data file, and yield their paths."""
    for path in paths:
        state.context.confirm()
        if path and remove_partition(state.storage, check_partition_path(path)):
            yield path


def delete_files(root: str, files: Sequence[tuple[str, str]]) -> None:
    """Delete *files* of the table at *root*, given by partition path and name, in a task."""
    storage = open_storage(root)
    for path, name in files:
        storage.delete(join_path(path, name))


def _partition_metadata(
    partition: str, policy: str, names: tuple[str, ...], *, is_deleted: bool
) -> CleanPartitionMetadata:
    return CleanPartitionMetadata(
        partition_path=partition,
        policy=policy,
        delete_path_patterns=names,
        success_delete_files=names,
        failed_delete_files=(),
        is_partition_deleted=is_deleted,
    )
