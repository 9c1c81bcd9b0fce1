"""Pairs of faults for so many minutes: some of each operation on each kind of table in turn, until the time is over.

There are millions of pairs, and each takes a tenth of a second.  A log names those that were tried: a later run with
the same log and another seed goes on from there, and what both tried is counted once.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from random import Random

from tests.fire import pairs
from tests.fire.crashes import check
from tests.fire.harness import Work

FIRSTS, SECONDS = 3, 4
"""In each turn so many first faults of an operation, and for each so many second ones."""
_SOUND = "sound"


@dataclass(frozen=True, slots=True)
class Turn:
    """What came of some pairs of a piece of work: the name of each, and what is wrong after it."""

    work: Work
    drawn: pairs.Drawn
    tried: tuple[tuple[str, str | None], ...]


def take_turns(works: Sequence[Work], *, until: float, seed: int, processes: int) -> Iterator[Turn]:
    """Try pairs of all works in turn, until that time."""
    number = 0
    with get_context("spawn").Pool(processes) as pool:
        while time.time() < until:
            order = Random(f"{seed} {number}").sample(works, len(works))
            turns = pool.imap_unordered(partial(take_turn, seed=f"{seed} {number}", until=until), order)
            yield from (turn for turn in turns if turn is not None)
            number += 1


def take_turn(work: Work, *, seed: str, until: float) -> Turn | None:
    """Try some pairs of a piece of work; None where the time is over."""
    if time.time() >= until:
        return None
    random = Random(f"{work} {seed}")
    drawn = pairs.draw(work.kind, work.operation, random, firsts=FIRSTS, seconds=SECONDS)
    return Turn(work, drawn, tuple((str(case), check(case)) for case in drawn.cases))


@dataclass
class Tally:
    """The pairs that were tried, each once, and about how many there are; with a log, those of earlier runs too."""

    log: Path | None = None
    wrong: dict[str, str | None] = field(default_factory=dict)
    """The pairs that were tried, and what is wrong after each."""
    drawn: dict[Work, list[pairs.Drawn]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        lines = self.log.read_text().splitlines() if self.log is not None and self.log.exists() else []
        for name, _, said in (line.partition("\t") for line in lines):
            self.wrong[name] = None if said == _SOUND else said

    def add(self, turn: Turn) -> list[tuple[str, str]]:
        """Count what is new, and return what is wrong of it."""
        new = {name: wrong for name, wrong in turn.tried if name not in self.wrong}
        self.wrong |= new
        self.drawn.setdefault(turn.work, []).append(turn.drawn)
        if self.log is not None:
            with self.log.open("a") as file:
                file.writelines(
                    f"{name}\t{_SOUND if said is None else ' '.join(said.split())}\n" for name, said in new.items()
                )
        return [(name, wrong) for name, wrong in new.items() if wrong is not None]

    def sum(self) -> str:
        """Say in a line how many pairs were tried so far."""
        violations = sum(wrong is not None for wrong in self.wrong.values())
        possible = f"{self._possible().total():,} of {len(self.drawn)} operations on kinds of tables"
        return f"{len(self.wrong):,} pairs tried of about {possible}, {violations} violations"

    def lines(self) -> list[str]:
        """Return the rows of a table: operation, kinds of tables, pairs possible, pairs tried, violations."""
        possible = self._possible()
        tried = Counter(_operation(name) for name in self.wrong)
        violations = Counter(_operation(name) for name, wrong in self.wrong.items() if wrong is not None)
        kinds = Counter(work.operation for work in self.drawn)
        return [
            f"| {name} | {kinds[name]} | {possible[name]:,} | {tried[name]:,} | {violations[name]} |"
            for name in sorted(tried)
        ]

    def _possible(self) -> Counter[str]:
        """About so many pairs an operation has: first faults, times those that can follow one on the average."""
        found: Counter[str] = Counter()
        for work, drawn in self.drawn.items():
            followers, firsts = sum(one.followers for one in drawn), sum(one.firsts for one in drawn)
            found[work.operation] += round(drawn[0].possible_firsts * followers / firsts)
        return found


def _operation(name: str) -> str:
    return name.split(": ")[1]
