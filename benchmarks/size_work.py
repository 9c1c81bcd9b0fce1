"""What the works of large sizes share: what they find out, and how many files are open meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from hudiformat.storage.local import LocalStorage
from tests.requests import RecordingStorage

_EVERY = 0.02


@dataclass(slots=True)
class Outcome:
    """What a work counts besides its time: ``requests`` to a table's storage, and ``bytes`` of the metadata it made."""

    requests: int | None = None
    bytes: int | None = None


Work = Callable[[Outcome], None]
"""Does the work; an AssertionError if what comes of it is wrong."""


class OpenFiles:
    """How many files this process has open at most, as seen fifty times a second."""

    def __init__(self) -> None:
        self.most = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> OpenFiles:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(_EVERY):
            self.most = max(self.most, sum(1 for _ in Path("/proc/self/fd").iterdir()))


def recorded(folder: Path) -> RecordingStorage:
    """The storage of a table, which counts the requests."""
    return RecordingStorage(LocalStorage(folder))


def expect(found: object, expected: object) -> None:
    """What is fast has to be right, too."""
    if found != expected:
        raise AssertionError(f"expected {expected}, found {found}")


Bounds = tuple[tuple[str, str, float | None], ...]
"""Figures of the largest size: their name, their unit, and the most that they may be."""

Works = Mapping[str, Bounds]
