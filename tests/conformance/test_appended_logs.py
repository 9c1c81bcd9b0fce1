"""Real Hudi reads log files of table version 6 that several writes have appended to, and goes on with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat.storage.local import LocalStorage
from tests.conformance.hudi import RealHudi
from tests.effort import only_long
from tests.tables import content, rows
from tests.write.test_appended_logs import appended_table


def test_hudi_reads_blocks_that_were_appended(hudi: RealHudi, tmp_path: Path) -> None:
    table = appended_table(LocalStorage(tmp_path / "t"))
    found = hudi.read(tmp_path / "t").select(["k", "ts", "v"]).sort_by("k").to_pylist()
    assert found == table.snapshot(columns=["k", "ts", "v"]).sort_by("k").to_pylist()


@only_long
@pytest.mark.hudi
def test_hudi_0_15_reads_and_goes_on_with_blocks_that_were_appended(tmp_path: Path) -> None:
    table = appended_table(LocalStorage(tmp_path / "t"))
    table.rollback(table.timeline.completed_writes[-1].time)
    options = {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.recordkey.field": "k",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.partitionpath.field": "p",
        "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    }
    with RealHudi("0.15.0") as hudi:
        assert sorted(zip(*(hudi.read(tmp_path / "t")[name].to_pylist() for name in ("k", "v")), strict=True)) == [
            ("a", 3),
            ("b", 1),
        ]
        hudi.write(rows(("b", 9, "x", 9)), tmp_path / "t", options)
        table.upsert(rows(("a", 9, "x", 8)))
        found = hudi.read(tmp_path / "t")
    assert sorted(zip(found["k"].to_pylist(), found["v"].to_pylist(), strict=True)) == [("a", 8), ("b", 9)]
    assert content(table, columns=("k", "v")) == [("a", 8), ("b", 9)]
