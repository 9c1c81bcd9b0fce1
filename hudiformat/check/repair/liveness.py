"""Check for signs of life: whether the writer of an instant or of a file may still be running."""

from __future__ import annotations

import time
from dataclasses import dataclass

from hudiformat.errors import HudiFormatError
from hudiformat.naming.file_names import join_path
from hudiformat.storage.protocol import Storage
from hudiformat.table.state import TableState
from hudiformat.timeline.timeline import Instant
from hudiformat.write.commit.changing import dead_writes
from hudiformat.write.commit.heartbeats import is_of_ended_process, living_instants


@dataclass(frozen=True, slots=True)
class WriterTimeout:
    """The limit of ``seconds`` without a sign of life after which a writer is considered dead."""

    storage: Storage
    seconds: float

    def of_file(self, path: str) -> str | None:
        """Return why the writer of the file *path* may be alive; None if it is dead or the file's time is unknown."""
        folder, _, name = path.rpartition("/")
        for entry in self.storage.list(folder):
            if entry.name == name and entry.modified is not None:
                age = time.time() - entry.modified / 1000
                if age < self.seconds:
                    return self._recent(f"{join_path(folder, name)} was written", age)
        return None

    def of_instant(self, state: TableState, instant: Instant) -> str | None:
        """Return why the writer of a pending *instant* may be alive; None if it is dead.

        Its heartbeat and the time of the instant's files are checked.
        """
        tolerance = state.options.concurrency.heartbeat_tolerance
        if not state.options.concurrency.has_other_writers and is_of_ended_process(self.storage, instant.time):
            return None
        if instant.time in living_instants(self.storage, tolerance=tolerance):
            return f"the heartbeat of {instant.time} is not {tolerance:g} seconds old"
        if is_pending_write(state, instant) and instant in begun_writes(state):
            return f"{instant} is being written by another thread, or hoodie.clean.failed.writes.policy is NEVER"
        ages = [
            time.time() - entry.modified / 1000
            for entry in self.storage.list(state.config.timeline_folder)
            if entry.modified is not None and entry.name.startswith(f"{instant.time}.")
        ]
        if ages and min(ages) < self.seconds:
            return self._recent(f"{instant} has begun", min(ages))
        return None

    def of_writers(self, state: TableState) -> str | None:
        """Return why any writer of the table may be alive; None if all are dead."""
        pending = (one for one in state.timeline.pending if is_pending_write(state, one))
        reasons = (self.of_instant(state, one) for one in pending)
        return next(filter(None, reasons), None)

    def _recent(self, what: str, age: float) -> str:
        return (
            f"{what} {max(age, 0):.0f} seconds ago, and its writer counts as dead after {self.seconds:g}: wait, or "
            "give a shorter time as dead_after (on the command line --dead-after)"
        )


def is_pending_write(state: TableState, instant: Instant) -> bool:
    """Return whether a pending instant is a write and no clustering; False if that cannot be read from its plan."""
    if instant.is_completed or not instant.action.is_write:
        return False
    try:
        return not state.is_clustering(instant)
    except HudiFormatError:
        return False


def begun_writes(state: TableState) -> list[Instant]:
    """Return the pending writes that a writer would not roll back; none if the plan of one cannot be read."""
    try:
        dead = dead_writes(state)
        return [one for one in state.pending_writes if one not in dead]
    except HudiFormatError:
        return []
