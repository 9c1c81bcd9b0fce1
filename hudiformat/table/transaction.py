"""One write from its instant to its commit, and the taking away of writes that never got there.

A write becomes visible in one step: the completed instant appears on the timeline, whole.  Before that step nothing of
it can be seen, after it nothing is left to do that matters.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timezone

from hudiformat.errors import CommitError, HudiFormatError, NameFormatError, StorageError
from hudiformat.naming import BaseFileName, LogFileName, next_instant
from hudiformat.storage import Storage
from hudiformat.table.markers import delete_markers, marked_files, marked_instants
from hudiformat.table.plan import Operation
from hudiformat.timeline import (
    Action,
    CommitMetadata,
    Instant,
    TableConfig,
    TableType,
    Timeline,
    TimelineZone,
    WriteStat,
    complete,
    create_requested,
    load_timeline,
    remove_pending,
    transition_inflight,
)
from hudiformat.view import PARTITION_METADATA_FILE, list_partitions

Clock = Callable[[], datetime]

_HEARTBEATS = ".hoodie/.heartbeat"  # Hudi's writers touch a file there for as long as they live


@dataclass(frozen=True, slots=True)
class TableClock:
    """The present moment in the time zone that a table's instants are written in.  It travels to other processes."""

    zone: TimelineZone

    def __call__(self) -> datetime:
        """The moment, without a zone."""
        if self.zone is TimelineZone.UTC:
            return datetime.now(timezone.utc).replace(tzinfo=None)
        return datetime.now()  # noqa: DTZ005 - LOCAL, Hudi's default, is the machine's own zone


class Transaction:
    """A write that has an instant: requested and inflight on the timeline, until it commits or is abandoned."""

    def __init__(self, storage: Storage, config: TableConfig, instant: Instant, clock: Clock) -> None:
        self._storage = storage
        self._config = config
        self._clock = clock
        self._is_committed = False
        self.instant = instant

    @classmethod
    def begin(cls, storage: Storage, config: TableConfig, operation: Operation, clock: Clock) -> Transaction:
        """Take away what failed writes have left, choose the next instant, and put it on the timeline."""
        timeline = load_timeline(storage, config)
        for pending in timeline.pending:
            if pending.action in (Action.COMMIT, Action.DELTA_COMMIT):
                roll_back(storage, config, pending)
        for time_ in _orphans(storage, timeline):
            _take_files_away(storage, time_)
        time_ = next_instant(clock(), timeline.latest_instant_time)
        is_cow = config.table_type is TableType.COPY_ON_WRITE
        instant = create_requested(storage, config, time_, Action.COMMIT if is_cow else Action.DELTA_COMMIT)
        metadata = CommitMetadata(operation_type=operation.value)
        instant = transition_inflight(storage, config, instant, metadata)
        return cls(storage, config, instant, clock)

    def commit(self, operation: Operation, stats: Iterable[WriteStat], schema: str) -> tuple[Instant, CommitMetadata]:
        """Make the write visible, whole.

        Files that were begun and are in no statistic, those of failed attempts of a task, are taken away first.

        Raises:
            CommitError: the completed instant could not be written; the table is as it was.
        """
        by_partition: dict[str, list[WriteStat]] = {}
        for stat in stats:
            by_partition.setdefault(stat.partition_path or "", []).append(stat)
        kept = {stat.path for group in by_partition.values() for stat in group}
        for path in marked_files(self._storage, self.instant.time):
            if path not in kept:
                self._storage.delete(path)
        metadata = CommitMetadata(
            operation_type=operation.value,
            partition_to_write_stats={path: tuple(group) for path, group in sorted(by_partition.items())},
            extra_metadata={"schema": schema},
        )
        latest = load_timeline(self._storage, self._config).latest_instant_time
        completed_at = next_instant(self._clock(), latest)
        try:
            done = complete(self._storage, self._config, self.instant, metadata, completion_time=completed_at)
        except HudiFormatError as error:
            found = self._completed_instant()  # the file may be there although its creation failed, in a sync say
            if found is None:
                raise CommitError(
                    f"the instant {self.instant.time} could not be completed: {error}", path=self._storage.root
                ) from error
            done = found
        self._is_committed = True
        with contextlib.suppress(StorageError):  # the write is visible; markers that stay behind mean nothing
            delete_markers(self._storage, self.instant.time)
        return done, metadata

    def abandon(self) -> None:
        """Take away everything that the write has left, unless it has been committed."""
        if self._is_committed:
            return
        timeline = load_timeline(self._storage, self._config)
        if any(pending.time == self.instant.time for pending in timeline.pending):
            roll_back(self._storage, self._config, self.instant)

    def _completed_instant(self) -> Instant | None:
        completed = load_timeline(self._storage, self._config).completed
        return next((done for done in completed if done.time == self.instant.time), None)


def roll_back(storage: Storage, config: TableConfig, pending: Instant) -> None:
    """Take away the files of a write that did not complete, and then its instant.

    The instant goes last: whoever is stopped half-way leaves the next one something to find.
    """
    _take_files_away(storage, pending.time)
    storage.delete(f"{_HEARTBEATS}/{pending.time}")
    remove_pending(storage, config, pending)


def _orphans(storage: Storage, timeline: Timeline) -> list[str]:
    """Instants that are nowhere but have markers: a task of a write that had been rolled back was still at work.

    An instant before the timeline's first may have been committed and archived, and is none.
    """
    on_timeline = {instant.time for instant in timeline.instants}
    first = timeline.first_active or ""
    return [time for time in marked_instants(storage) if time > first and time not in on_timeline]


def _take_files_away(storage: Storage, instant: str) -> None:
    for path in marked_files(storage, instant):
        storage.delete(path)
    # Markers alone do not do: Hudi's may have been kept by its timeline server, and a partition is made before them.
    for folder, entries in list(list_partitions(storage)):
        for name in (entry.name for entry in entries if _instant_of(entry.name) == instant):
            storage.delete(f"{folder}/{name}" if folder else name)
        _leave_partition(storage, folder, instant)
    delete_markers(storage, instant)


def _instant_of(name: str) -> str | None:
    try:
        return (LogFileName.parse(name) if name.startswith(".") else BaseFileName.parse(name)).instant
    except NameFormatError:
        return None


def _leave_partition(storage: Storage, folder: str, instant: str) -> None:
    """Take away a partition that the failed write had just made."""
    entries = [entry.name for entry in storage.list(folder)]
    metadata = f"{folder}/{PARTITION_METADATA_FILE}" if folder else PARTITION_METADATA_FILE
    if entries == [PARTITION_METADATA_FILE] and f"commitTime={instant}\n".encode() in storage.read(metadata):
        storage.delete(metadata)
        while folder and not storage.list(folder):
            storage.delete(folder)
            folder = folder.rpartition("/")[0]
