"""Faults of an object store: a sample of ``python -m tests.fire.object_store``."""

from __future__ import annotations

import uuid

import pytest

from tests.effort import every, sample
from tests.fire.object_store import OUTAGE, Expected, Result, chosen, prepared, run, table_of
from tests.fire.object_store_cases import CASES
from tests.fire.object_store_proxy import Fault, Kind
from tools.s3_server import S3Server

pytestmark = pytest.mark.unmeasured

FAULTS = 2
"""Of each operation."""


def test_faults_of_an_object_store_lose_and_double_nothing(s3: S3Server) -> None:
    cases, bucket = CASES[:: every(48, long=8)], f"faults-{uuid.uuid4()}"
    expected = prepared(s3.port, bucket, cases)
    work = chosen(expected, FAULTS * len(cases), seed=11)
    results = run(s3.port, bucket, expected, work)
    assert len(results) == FAULTS * len(cases)
    assert [f"{one.case}: {one.fault}: {one.violation}" for one in results if one.violation is not None] == []


@pytest.mark.parametrize("kind", sample(list(Kind), of=3))
def test_a_single_fault_is_no_error(s3: S3Server, kind: Kind) -> None:
    case, bucket = next(case for case in CASES if case.name == "insert"), f"faults-{uuid.uuid4()}"
    expected = prepared(s3.port, bucket, [case])
    moments = range(3, expected["insert"].requests, every(58, long=11))
    results = run(s3.port, bucket, expected, [("insert", Fault(kind, at)) for at in moments])
    assert {(one.outcome, one.violation) for one in results} == {("committed", None)}


def test_faults_are_spread_over_cases_and_the_same_for_a_seed() -> None:
    expected = {name: Expected(requests, None, (), ()) for name, requests in (("a", 2), ("b", 500))}
    picked = chosen(expected, 400, seed=1)
    assert picked == chosen(expected, 400, seed=1)
    assert len(picked) == len(set(picked)) == 400
    names = [name for name, _ in picked]
    assert names.count("a") == 2 * len(Kind) * 6  # all that there are
    assert {fault.count for _, fault in picked} >= {1, 6, OUTAGE}


def test_the_table_counts_outcomes_and_violations() -> None:
    fault = Fault(Kind.RESET, 3)
    results = [Result("insert", fault, "committed", 1.0), Result("insert", fault, "refused", 2.5, "lost a row")]
    assert "| insert | 2 | 1 | 1 | 0 | 2.5 | 1 |" in table_of(results).splitlines()
    assert "| reset, not done | 2 | 1 | 1 | 0 | 2.5 | 1 |" in table_of(results).splitlines()
