"""Queries of tables to which an older Hudi gave other answers than Hudi 1.2.0 does, whose answer counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat import StorageError, open_table
from tests.conformance.hudi import RealHudi, RealHudiError
from tests.conformance.test_slices import with_times
from tests.effort import sample
from tests.tables import OF_AN_OLDER_HUDI, multiset, new_table, rows, unpack

INCREMENTAL = {"hoodie.datasource.query.type": "incremental"}
BEGIN = "hoodie.datasource.read.begin.instanttime"


@pytest.mark.hudi
@pytest.mark.parametrize("name", sample(OF_AN_OLDER_HUDI, of=2))
def test_time_travel_and_incremental_queries(
    name: str, hudi: RealHudi, tmp_path_factory: pytest.TempPathFactory
) -> None:
    case = with_times(unpack(name, tmp_path_factory.mktemp("queries")))
    table = open_table(case.table)
    for answer in case.manifest["as_of"]:
        instant = answer["instant"]
        theirs = hudi.read(case.table, {"as.of.instant": instant})
        assert multiset(table.snapshot(as_of=instant)) == multiset(theirs), instant
    begin = case.manifest["incremental"]["begin"]
    assert multiset(table.incremental(begin)) == multiset(hudi.read(case.table, {**INCREMENTAL, BEGIN: begin}))


@pytest.mark.parametrize("blocks", [0, 1])
def test_a_log_file_that_lost_whole_blocks_reads_alike(hudi: RealHudi, tmp_path: Path, blocks: int) -> None:
    options = {"hoodie.index.type": "SIMPLE", "hoodie.metadata.enable": "false"}
    table = new_table(tmp_path / "t", options={**options, "hoodie.logfile.data.block.max.size": "200"})
    table.bulk_insert(rows(("a", 1, "x", 1), ("b", 1, "x", 1)))
    table.upsert(rows(("a", 2, "x", 2), ("b", 2, "x", 2)))
    (log,) = Path(table.path).glob("x/.*log*")
    data = log.read_bytes()
    log.write_bytes(data[: data.index(b"#HUDI#", 1) * blocks])
    left = {"a": 2 if blocks else 1, "b": 1}
    for found in (table.snapshot(), hudi.read(table.path)):
        assert dict(zip(found["k"].to_pylist(), found["v"].to_pylist(), strict=True)) == left


def test_change_queries_fail_without_a_change_log(hudi: RealHudi, tmp_path: Path) -> None:
    options = {"hoodie.index.type": "SIMPLE", "hoodie.table.cdc.enabled": "true", "hoodie.metadata.enable": "false"}
    table = new_table(tmp_path / "t", table_type="COPY_ON_WRITE", options=options)
    table.upsert(rows(("a", 1, "x", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    changes = {**INCREMENTAL, "hoodie.datasource.query.incremental.format": "cdc", BEGIN: "0"}
    assert hudi.read(table.path, changes).num_rows == table.cdc("0").num_rows == 2
    (log,) = Path(table.path).glob("x/.*.cdc")
    log.unlink()
    with pytest.raises(RealHudiError, match="SparkException"):
        hudi.read(table.path, changes)
    with pytest.raises(StorageError, match="No such file"):
        table.cdc("0")
    assert hudi.read(table.path)["v"].to_pylist() == table.snapshot()["v"].to_pylist() == [2]
