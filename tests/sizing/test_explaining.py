"""A plan says of each file group why it takes records or none, and what would have to change."""

from __future__ import annotations

import pytest

from hudiformat.sizing import Kind, Pending, Verdict, plan_partition, spark_small_files
from hudiformat.sizing.explaining import GroupReason, reasons_of
from hudiformat.sizing.small_files import GroupVerdict
from tests.sizing.support import KB, LIMITS, MB, group


def explained(*sizes: int, inserts: int) -> dict[str | None, GroupReason]:
    slices = [group(f"{size}", size * MB) for size in sizes]
    plan = plan_partition("p", inserts, spark_small_files(slices, Kind.COW, LIMITS), KB, LIMITS)
    return {one.file_id: one for one in plan.explain()}


def test_files_of_40_80_90_130_and_105_mb() -> None:
    found = explained(40, 80, 90, 130, 105, inserts=450_000)
    assert {name: one.records for name, one in found.items()} == {
        "40": 80_000,
        "80": 40_000,
        "90": 30_000,
        "130": 0,
        "105": 0,
        None: 60_000,
    }
    assert found["105"].to_change == "hoodie.parquet.small.file.limit would have to be above 105,000,000"
    assert found["40"].to_change == ""
    assert str(found["40"]) == (
        "40 takes 80,000 records: takes records (40,000,000 bytes, room for 80,000 records of 1,000 bytes)"
    )
    assert str(found[None]) == (
        "a new file group takes 60,000 records: no small file group has room for them; a new one takes 120,000"
    )


def test_a_group_in_a_pending_clustering_names_it() -> None:
    slices = [group("a", MB)]
    verdicts = spark_small_files(slices, Kind.COW, LIMITS, Pending(clustering=frozenset("a")))
    (reason, _) = plan_partition("p", 1, verdicts, KB, LIMITS).explain()
    assert "in a pending clustering" in reason.why
    assert "run or rolled back" in reason.to_change


@pytest.mark.parametrize("verdict", [one for one in Verdict if one is not Verdict.TAKEN])
def test_every_reason_not_to_be_taken_says_what_would_have_to_change(verdict: Verdict) -> None:
    (reason,) = reasons_of((GroupVerdict("a", 7, verdict),), (), record_size=3, per_group=9)
    assert reason.to_change
    assert str(reason).startswith("a takes none: ")
    assert "{" not in str(reason)
