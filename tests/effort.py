"""How much a run tries: the more, the less somebody waits for it."""

from __future__ import annotations

import os
from collections.abc import Iterable
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
THOROUGH = LONG or os.environ.get("CI") == "true"


def examples(count: int) -> int:
    """So many of Hypothesis's examples where ``HUDIFORMAT_LONG`` is set, a quarter of them elsewhere."""
    return count if LONG else max(count // 4, 2)


def every(count: int, *, thorough: int = 3) -> int:
    """The step through moments that are alike: each in a long run, *thorough* in CI, *count* elsewhere."""
    return 1 if LONG else min(thorough, count) if THOROUGH else count


def sample(values: Iterable[T], *, of: int, thorough: int = 1) -> list[T]:
    """All of *values* in a long run, one of *thorough* in CI, and one *of* so many elsewhere: the same in every run.

    They are drawn: in lists of combinations each n-th would be of one kind.
    """
    found = list(values)
    count = 1 if LONG else min(thorough, of) if THOROUGH else of
    drawn = Random(len(found)).sample(range(len(found)), -(-len(found) // count))  # noqa: S311 - no secret
    return [found[place] for place in sorted(drawn)]


def steps(*, long: int, thorough: int, short: int) -> int:
    """The steps of a state machine in a long run, in CI, and elsewhere; or ``HUDIFORMAT_MODEL_STEPS``."""
    chosen = long if LONG else thorough if THOROUGH else short
    return int(os.environ.get("HUDIFORMAT_MODEL_STEPS", chosen))
