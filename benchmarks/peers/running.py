"""Run what a library does, and compare what comes of it."""

from __future__ import annotations

import inspect
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.peers.features import Feature, Peer

EMPTY_FOLDER = ("create", "adopt")


@dataclass(frozen=True)
class Outcome:
    """What came of a feature: seconds and lines, or why not."""

    seconds: float
    lines: int
    problem: str = ""

    def __str__(self) -> str:
        return f"**{self.problem}**" if self.problem else f"yes: {self.seconds:.2f} s, {self.lines} lines"


def lines_of(action: Any) -> int:
    """The lines of a method's body."""
    source = [line for line in inspect.getsource(action).splitlines() if line.strip()]
    return len(source) - 1


def outcome(peer: type[Peer], feature: Feature) -> Outcome | None:
    """Do it twice, and compare what comes of it: the faster run; None where the library has no method for it."""
    if not hasattr(peer, feature.name):
        return None
    return min((run(peer, feature) for _ in range(2)), key=lambda what: (bool(what.problem), what.seconds))


def run(peer: type[Peer], feature: Feature) -> Outcome:
    """Do it once, to a new table."""
    action = getattr(peer, feature.name)
    with tempfile.TemporaryDirectory() as scratch:
        folder, library = Path(scratch, "t"), peer()
        given = folder if feature.name in EMPTY_FOLDER else library.prepare(folder, feature.name)
        began = time.perf_counter()
        try:
            found = action(library, given)
        except Exception as error:  # noqa: BLE001 - whatever a library raises is its answer
            return Outcome(0, 0, f"{type(error).__name__}: {str(error).splitlines()[0][:100]}")
        seconds = time.perf_counter() - began
    if found != feature.expected:
        return Outcome(0, 0, f"expected {feature.expected}, found {found}")
    return Outcome(seconds, lines_of(action))
