"""A sample of the harness: crashes, pairs of faults, two writers, readers; all of it by ``python -m tests.fire``."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.effort import every, sample
from tests.fire.crashes import Case, How, check
from tests.fire.harness import Work, run_work, works
from tests.fire.pairs import completing_request, requests_after
from tests.fire.pairs_by_time import Tally, take_turn
from tests.fire.scenes import Kind

pytestmark = pytest.mark.unmeasured

EVERY = {"crashes": 1511, "two writers": 4001, "readers": 499}
"""One of so many moments, in a long run ten times as many."""
EVERY_PAIR = 9973
"""One of so many pairs of faults, of which there are millions."""


def jobs() -> list[tuple[Work, int]]:
    """Few operations on few kinds of tables at some moments, in a long run more; all by ``python -m tests.fire``."""
    counts = EVERY | {"pairs of faults": EVERY_PAIR}
    chosen = [(attack, every(count, long=count // 10)) for attack, count in counts.items()]
    return [(work, count) for attack, count in chosen for work in works(attack)[:: every(197, long=19)]]


@pytest.mark.slow
@pytest.mark.parametrize("job", jobs(), ids=lambda job: str(job[0]))
def test_nothing_is_lost_doubled_or_mixed(job: tuple[Work, int]) -> None:
    result = run_work(job)
    assert result.violations == ()
    assert result.count


def test_pairs_of_two_runs_are_counted_once(tmp_path: Path) -> None:
    log, work = tmp_path / "pairs.log", Work("pairs of faults", Kind(), "savepoint")
    turn = take_turn(work, seed="1", until=math.inf)
    assert turn is not None
    first = Tally(log)
    assert first.add(turn) == []
    assert len(first.wrong) == len(turn.tried) > 1
    again = Tally(log)
    again.add(turn)
    assert again.lines() == first.lines()
    assert len(log.read_text().splitlines()) == len(turn.tried)
    assert take_turn(work, seed="1", until=0) is None


SERVED = (Kind(), Kind(6), Kind(mode="OPTIMISTIC_CONCURRENCY_CONTROL"), Kind(has_metadata_table=True))
"""Kinds of tables whose services are tried at each fault after an unclear completion."""


def unclear_completions() -> list[tuple[Kind, str]]:
    names = ("compaction", "planned compaction", "clustering", "planned clustering", "log_compact", "upsert", "clean")
    return sample([(kind, name) for kind in SERVED for name in names], of=10)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "operation"), unclear_completions(), ids=str)
def test_what_was_completed_keeps_its_files_though_the_answer_was_lost_and_another_request_fails(
    kind: Kind, operation: str
) -> None:
    completing = completing_request(kind, operation)
    count, _ = requests_after(kind, operation, completing)
    cases = [Case(kind, operation, (completing, (at, How.FAILS))) for at in range(completing[0] + 1, count + 1)]
    assert [(str(case), wrong) for case in cases if (wrong := check(case)) is not None] == []
    assert cases
