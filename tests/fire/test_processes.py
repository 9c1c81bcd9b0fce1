"""Processes that are stopped and killed while they write one table; more by ``python -m tests.fire.processes``."""

from __future__ import annotations

import pytest

from tests.effort import LONG
from tests.fire.processes import SHAPES, race

pytestmark = pytest.mark.unmeasured


@pytest.mark.slow
@pytest.mark.parametrize("kind", SHAPES if LONG else ["optimistic"])
def test_processes_that_are_stopped_and_killed_lose_and_double_nothing(kind: str) -> None:
    processes, commits = (4, 100) if LONG else (2, 4)
    line = race(kind, processes=processes, commits=commits, seed=1, limit=3600 if LONG else 600, long_pauses=0)
    assert line.startswith(f"| {kind} | {processes} x {commits} |")
