"""A sample of the harness: crashes, two writers, and readers; all of it by ``python -m tests.fire``."""

from __future__ import annotations

import pytest

from tests.effort import LONG, THOROUGH
from tests.fire.harness import Work, run_work, works

pytestmark = pytest.mark.unmeasured

EVERY = {"crashes": (1, 397, 1511), "two writers": (1, 997, 4001), "readers": (1, 211, 499)}
"""One of so many moments: in a long run, in CI, elsewhere."""


def jobs() -> list[tuple[Work, int]]:
    """In a long run all operations on all kinds of tables; in CI one of eleven, elsewhere fewer, at some moments."""
    found = []
    for attack, (long, thorough, quick) in EVERY.items():
        every = long if LONG else thorough if THOROUGH else quick
        found += [(work, every) for work in works(attack)[:: 1 if LONG else 11 if THOROUGH else 43]]
    return found


@pytest.mark.parametrize("job", jobs(), ids=lambda job: str(job[0]))
def test_nothing_is_lost_doubled_or_mixed(job: tuple[Work, int]) -> None:
    result = run_work(job)
    assert result.violations == ()
    assert result.count
