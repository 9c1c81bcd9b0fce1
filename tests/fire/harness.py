"""All that is tried, in pieces that processes share, and the table of what came of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import Any, TypeVar

from tests.fire import crashes, interleavings, pairs, readers
from tests.fire.scenes import OPERATIONS, REPLACING, Kind, kinds

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Work:
    """What one process tries at a time: every moment of one operation on one kind of table."""

    attack: str
    kind: Kind
    operation: str

    def cases(self, every: int = 1, seed: int = 1) -> Iterator[Any]:
        """One of *every* so many cases; *seed* draws the pairs of faults."""
        if self.attack == "pairs of faults":
            return pairs.cases(self.kind, self.operation, every=every, seed=seed)
        return sample(self._all_cases(), every)

    def _all_cases(self) -> Iterator[Any]:
        if self.attack == "crashes":
            yield from crashes.cases(self.kind, self.operation)
        elif self.attack == "two writers":
            yield from interleavings.pairs(self.kind, self.operation)
        else:
            yield from readers.races(self.kind, self.operation)

    def check(self, case: Any) -> str | None:
        module = {"readers": readers, "two writers": interleavings}.get(self.attack, crashes)
        found: str | None = module.check(case)
        return found

    def __str__(self) -> str:
        return f"{self.attack}: {self.kind}: {self.operation}"


@dataclass(frozen=True, slots=True)
class Result:
    """How many cases of a piece of work were tried, and those that went wrong."""

    work: Work
    count: int
    violations: tuple[tuple[str, str], ...]


ATTACKS = ("crashes", "pairs of faults", "two writers", "readers")


def works(attack: str) -> list[Work]:
    """The pieces of work of an attack."""
    if attack == "two writers":
        return [Work(attack, kind, name) for kind in interleavings.KINDS for name in interleavings.names_of(kind)]
    names = readers.CHANGES if attack == "readers" else OPERATIONS
    possible = itertools.product(kinds(), names)
    return [
        Work(attack, kind, name)
        for kind, name in possible
        if (name not in OPERATIONS or OPERATIONS[name].is_for(kind)) and not (kind.keeps_groups and name in REPLACING)
    ]


def sample(cases: Iterable[T], every: int) -> Iterator[T]:
    """One of *every* so many cases, from the middle of the first so many on."""
    found = list(cases)
    return itertools.islice(found, min(every // 2, max(len(found) - 1, 0)), None, every)


def run_work(job: tuple[Work, int], seed: int = 1) -> Result:
    """Try one of so many cases of a piece of work."""
    work, every = job
    tried = [(str(case), work.check(case)) for case in work.cases(every, seed)]
    return Result(work, len(tried), tuple((case, wrong) for case, wrong in tried if wrong is not None))


def run(attack: str, *, every: int, processes: int, about: str = "", seed: int = 1) -> Iterator[Result]:
    """Try an attack in several processes, all of it or the works whose names contain *about*; results as they come."""
    with get_context("spawn").Pool(processes) as pool:
        yield from pool.imap_unordered(
            partial(run_work, seed=seed), [(work, every) for work in works(attack) if about in str(work)]
        )
