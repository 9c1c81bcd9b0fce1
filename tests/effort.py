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


def examples(count: int) -> int:
    """So many of Hypothesis's examples where ``HUDIFORMAT_LONG`` is set, a quarter of them elsewhere."""
    return count if LONG else max(count // 4, 2)


def every(count: int) -> int:
    """The step through moments that are alike: each in a long run, *count* elsewhere."""
    return 1 if LONG else count


def sample(values: Iterable[T], *, of: int) -> list[T]:
    """All of *values* in a long run, and one *of* so many elsewhere: the same in every run.

    They are drawn: in lists of combinations each n-th would be of one kind.
    """
    found = list(values)
    drawn = Random(len(found)).sample(range(len(found)), -(-len(found) // every(of)))  # noqa: S311 - no secret
    return [found[place] for place in sorted(drawn)]


def steps(*, long: int, short: int) -> int:
    """The steps of a state machine in a long run, and elsewhere; or ``HUDIFORMAT_MODEL_STEPS``."""
    return int(os.environ.get("HUDIFORMAT_MODEL_STEPS", long if LONG else short))
