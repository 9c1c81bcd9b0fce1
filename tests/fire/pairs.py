"""Pairs of faults: two requests of one operation fail, and the second often meets what the first made it do.

What follows is checked as after one fault: :mod:`tests.fire.crashes`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from hudiformat import HudiFormatError
from tests.fire.crashes import PASSING, Case, Died, How, Moments, ready, run, undisturbed, writer
from tests.fire.memory import MemoryStorage, in_time_of
from tests.fire.scenes import Kind, table_in

T = TypeVar("T")
Strike = tuple[int, How]


@dataclass(frozen=True, slots=True)
class Drawn:
    """Pairs of an operation, and of how many they are: each first fault has to be tried to know what can follow."""

    cases: tuple[Case, ...]
    possible_firsts: int
    firsts: int
    followers: int
    """Faults that can follow those of the first faults that were drawn."""


def cases(kind: Kind, operation: str, *, every: int = 1, seed: int = 1) -> Iterator[Case]:
    """All pairs; or one of *every* so many, drawn by *seed*: of the first faults one of so many, and of the second."""
    random = Random(f"{kind} {operation} {seed}")
    _, _, requests, changes = undisturbed(kind, operation)
    firsts = _strikes(1, requests, changes)
    pairs = [pair for first in _draw(firsts, every, random) for pair in _pairs(kind, operation, first, every, random)]
    for first in random.sample(firsts, len(firsts)):
        if pairs:
            break
        pairs += _pairs(kind, operation, first, every, random)  # at each of those drawn the operation ends
    yield from (Case(kind, operation, pair) for pair in pairs)


def _pairs(kind: Kind, operation: str, first: Strike, every: int, random: Random) -> list[tuple[Strike, Strike]]:
    """The first fault, and each of those drawn among the requests that come after it."""
    count, changed = requests_after(kind, operation, first)
    return [(first, second) for second in _draw(_strikes(first[0] + 1, count, changed), every, random)]


def draw(kind: Kind, operation: str, random: Random, *, firsts: int, seconds: int) -> Drawn:
    """Some pairs: a few first faults, and for each a few of those that can follow it, all as likely as each other."""
    _, _, requests, changes = undisturbed(kind, operation)
    possible = _strikes(1, requests, changes)
    pairs: list[tuple[Strike, Strike]] = []
    followers = 0
    chosen = random.sample(possible, min(firsts, len(possible)))
    for first in chosen:
        count, changed = requests_after(kind, operation, first)
        following = _strikes(first[0] + 1, count, changed)
        followers += len(following)
        pairs += [(first, second) for second in random.sample(following, min(seconds, len(following)))]
    return Drawn(tuple(Case(kind, operation, pair) for pair in pairs), len(possible), len(chosen), followers)


def _strikes(first: int, last: int, changes: Sequence[int]) -> list[Strike]:
    """The faults at requests: each fails, and those that change something fail after they took effect, too."""
    chosen = set(changes)
    return [(at, how) for at in range(first, last + 1) for how in PASSING if how is How.FAILS or at in chosen]


def completing_request(kind: Kind, operation: str) -> Strike:
    """The request that completes the operation, and fails after it took effect."""
    storage = ready(kind, operation).copy()
    before = table_in(storage, storage.time, kind).timeline.completed
    for at in undisturbed(kind, operation)[3]:
        cut = ready(kind, operation).copy()
        _try(cut, kind, operation, (at, How.DIES_AFTER))
        if table_in(cut, cut.time, kind).timeline.completed != before:
            return at, How.FAILS_AFTER
    raise AssertionError(f"{operation} completes nothing")


def _draw(values: Sequence[T], every: int, random: Random) -> list[T]:
    """Each value with the probability that leaves one of *every* so many pairs; at least one, if there are any."""
    drawn = [value for value in values if random.random() < every**-0.5]
    return drawn or ([random.choice(values)] if values else [])


def requests_after(kind: Kind, operation: str, strike: Strike) -> tuple[int, list[int]]:
    """The number of requests of the operation with one fault, and the numbers of those that change something."""
    moments = _try(ready(kind, operation).copy(), kind, operation, strike)
    return moments.count, moments.changes


def _try(storage: MemoryStorage, kind: Kind, operation: str, strike: Strike) -> Moments:
    moments = Moments(storage, dict([strike]))
    with in_time_of(storage.time), warnings.catch_warnings(), suppress(HudiFormatError, Died):
        warnings.simplefilter("ignore")
        run(writer(storage, kind, operation, moments), operation)
    return moments
