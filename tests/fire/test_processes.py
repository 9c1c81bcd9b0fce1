"""Processes that are stopped and killed while they write one table; more by ``python -m tests.fire.processes``."""

from __future__ import annotations

import pytest

from tests.effort import only_long
from tests.fire.processes import SHAPES, race

pytestmark = pytest.mark.unmeasured


@only_long  # tests/write/commit has processes that are killed, and others beside them
@pytest.mark.slow
@pytest.mark.parametrize("kind", SHAPES)
def test_processes_that_are_stopped_and_killed_lose_and_double_nothing(kind: str) -> None:
    line = race(kind, processes=3, commits=12, seed=1, limit=900, long_pauses=0)
    assert line.startswith(f"| {kind} | 3 x 12 |")
