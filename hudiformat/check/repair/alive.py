"""Signs of life: whether whoever began an instant, or is writing a file, may still be at work."""

from __future__ import annotations

import time
from dataclasses import dataclass

from hudiformat.errors import HudiFormatError
from hudiformat.naming.file_names import join_path
from hudiformat.storage.protocol import Storage
from hudiformat.table.state import TableState
from hudiformat.timeline.timeline import Instant
from hudiformat.write.commit.changing import dead_writes
from hudiformat.write.commit.heartbeats import is_of_ended_process, living


@dataclass(frozen=True, slots=True)
class Patience:
    """After how many ``seconds`` without a sign of life a writer counts as dead."""

    storage: Storage
    seconds: float

    def of_file(self, path: str) -> str | None:
        """Why the writer of the file *path* may be alive; None where it is not, or the storage does not say when."""
        folder, _, name = path.rpartition("/")
        for entry in self.storage.list(folder):
            if entry.name == name and entry.modified is not None:
                age = time.time() - entry.modified / 1000
                if age < self.seconds:
                    return self._recent(f"{join_path(folder, name)} was written", age)
        return None

    def of_instant(self, state: TableState, instant: Instant) -> str | None:
        """Why whoever began a pending *instant* may be alive: by its heartbeat, or by the time of its files."""
        tolerance = state.options.concurrency.heartbeat_tolerance
        if not state.options.concurrency.has_other_writers and is_of_ended_process(self.storage, instant.time):
            return None
        if instant.time in living(self.storage, tolerance=tolerance):
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
        """Why some writer of the table may be alive; None where none is."""
        pending = (one for one in state.timeline.pending if is_pending_write(state, one))
        reasons = (self.of_instant(state, one) for one in pending)
        return next(filter(None, reasons), None)

    def _recent(self, what: str, age: float) -> str:
        return (
            f"{what} {max(age, 0):.0f} seconds ago, and its writer counts as dead after {self.seconds:g}: wait, or "
            "give a shorter time as dead_after (on the command line --dead-after)"
        )


def is_pending_write(state: TableState, instant: Instant) -> bool:
    """Whether a pending instant is a write, by its action; a clustering whose plan is damaged may be one too."""
    if instant.is_completed or not instant.action.is_write:
        return False
    try:
        return not state.is_clustering(instant)
    except HudiFormatError:
        return False


def begun_writes(state: TableState) -> list[Instant]:
    """The pending writes that no writer would roll back; none while the plan of one cannot be read."""
    try:
        dead = dead_writes(state)
        return [one for one in state.pending_writes if one not in dead]
    except HudiFormatError:
        return []
