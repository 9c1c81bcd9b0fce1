"""Signs of life: whether whoever began an instant, or is writing a file, may still be at work."""

from __future__ import annotations

import time
from dataclasses import dataclass

from hudiformat.exclusion import is_of_ended_process, living
from hudiformat.naming import join_path
from hudiformat.storage import Storage
from hudiformat.table import TableState
from hudiformat.timeline import Instant
from hudiformat.transaction import dead_writes


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
        if is_of_ended_process(self.storage, instant.time):
            return None
        if instant.time in living(self.storage, tolerance=tolerance):
            return f"the heartbeat of {instant.time} is not {tolerance:g} seconds old"
        if instant in state.pending_writes and instant not in dead_writes(state):
            return f"{instant} is being written by this process, or writers never roll back for others"
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
        reasons = (self.of_instant(state, one) for one in state.pending_writes)
        return next(filter(None, reasons), None)

    def _recent(self, what: str, age: float) -> str:
        return (
            f"{what} {max(age, 0):.0f} seconds ago, and its writer counts as dead after {self.seconds:g}: wait, or "
            "give a shorter time as dead_after (on the command line --dead-after)"
        )
