"""A sample of the harness: crashes, two writers, and readers; all of it by ``python -m tests.fire``."""

from __future__ import annotations

import pytest

from tests.effort import every
from tests.fire.harness import Work, run_work, works

pytestmark = pytest.mark.unmeasured

EVERY = {"crashes": 1511, "two writers": 4001, "readers": 499}
"""One of so many moments, but in a long run."""


def jobs() -> list[tuple[Work, int]]:
    """In a long run all operations on all kinds of tables at all moments, elsewhere few at some."""
    return [(work, every(count)) for attack, count in EVERY.items() for work in works(attack)[:: every(97)]]


@pytest.mark.parametrize("job", jobs(), ids=lambda job: str(job[0]))
def test_nothing_is_lost_doubled_or_mixed(job: tuple[Work, int]) -> None:
    result = run_work(job)
    assert result.violations == ()
    assert result.count
