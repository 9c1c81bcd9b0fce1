"""How much a run tries: the more, the less somebody waits for it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from random import Random
from typing import TypeVar

import pytest
from hypothesis import HealthCheck

T = TypeVar("T")

BUSY = (HealthCheck.too_slow,)
"""What Hypothesis must not complain of: on a busy machine a draw may take long.  Lists of a test's own have it too."""

LONG = "HUDIFORMAT_LONG" in os.environ
only_long = pytest.mark.skipif(not LONG, reason="HUDIFORMAT_LONG=1 runs it")
"""Marks a test that takes a minute, of code that has faster tests."""


def examples(count: int) -> int:
    """So many of Hypothesis's examples where ``HUDIFORMAT_LONG`` is set, a tenth of them elsewhere."""
    return count if LONG else max(count // 10, 2)


def every(count: int, *, long: int = 1) -> int:
    """The step through moments that are alike: *count*, and *long* in a long run, by default each of them."""
    return long if LONG else count


def sample(values: Iterable[T], *, of: int) -> list[T]:
    """All of *values* in a long run, and one *of* so many elsewhere: the same in every run.

    They are drawn: in lists of combinations each n-th would be of one kind.
    """
    found = list(values)
    drawn = Random(len(found)).sample(range(len(found)), -(-len(found) // every(of)))
    return [found[place] for place in sorted(drawn)]


COSTLY = ("spark", "hudi", "s3", "metastore", "browser", "slow")
"""The markers of tests that take seconds."""


def some_sets(test: str, items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Of *items*, which are *test* with its sets of parameters: all in a long run, elsewhere some, always the same.

    They are drawn, so that each value of each parameter is in one of them; of a test that is costly with each of its
    sets it is one of eight, at least one and at most two.  A test with the marker ``all_sets`` takes all in every run.
    """
    if LONG or len(items) == 1 or items[0].get_closest_marker("all_sets"):
        return list(items)
    is_costly = all(any(item.get_closest_marker(name) for name in COSTLY) for item in items)
    return list(islice(_with_each_value(test, items), min(-(-len(items) // 8), 2) if is_costly else None))


def _with_each_value(test: str, items: Sequence[pytest.Item]) -> Iterator[pytest.Item]:
    seen: set[tuple[int, str]] = set()
    for item in Random(test).sample(items, len(items)):
        assert isinstance(item, pytest.Function)
        values = set(enumerate(item.callspec._idlist))
        if not values <= seen:
            seen |= values
            yield item


def is_in_part(place: int, part: str) -> bool:
    """Return whether the test at *place*, from 0 on, is in a *part* such as ``2/3``, the second of three.

    Raises:
        ValueError: there is no such part.
    """
    number, _, count = part.partition("/")
    if not 1 <= int(number) <= int(count):
        raise ValueError(f"expected a part such as 2/3, found {part}")
    return place % int(count) == int(number) - 1


def steps(*, long: int, short: int) -> int:
    """The steps of a state machine in a long run, and elsewhere; or ``HUDIFORMAT_MODEL_STEPS``."""
    return int(os.environ.get("HUDIFORMAT_MODEL_STEPS", long if LONG else short))
