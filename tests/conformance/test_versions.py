"""Tables that change their version, by us and by real Hudi: the other reads them, and goes on writing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import hudiformat as hf
from tests.conformance.hudi import RealHudi
from tests.conformance.test_both_ways import WRITE, assert_reads_alike, create, kept_at, things, write_ours
from tests.effort import LONG, only_long

NO_METADATA_TABLE = {"hoodie.metadata.enable": "false"}
WORDS = {6: "SIX", 8: "EIGHT", 9: "NINE"}
OF_HUDI = {6: "0.15.0", 8: "1.0.2", 9: "1.1.1"}
ARCHIVING = {"hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3", "hoodie.clean.commits.retained": "1"}


def of_hudi(version: int, table_type: str) -> dict[str, str]:
    return {**WRITE, "hoodie.datasource.write.table.type": table_type, **kept_at(version), **NO_METADATA_TABLE}


def assert_values_alike(hudi: RealHudi, table: hf.Table) -> None:
    """The keys and ordering values that both see; older versions of Hudi write some types otherwise."""
    columns = ["_hoodie_record_key", "ts", "p", "small"]
    ours, theirs = (rows.select(columns) for rows in (table.snapshot(), hudi.read(table.path)))
    assert ours.sort_by("_hoodie_record_key").to_pylist() == theirs.sort_by("_hoodie_record_key").to_pylist()


@pytest.mark.parametrize("table_type", ["MERGE_ON_READ", *(["COPY_ON_WRITE"] if LONG else [])])
def test_hudi_goes_on_in_each_version_that_we_make(hudi: RealHudi, tmp_path: Path, table_type: str) -> None:
    table = create(tmp_path / "t", {}, table_type=table_type, version=6)
    table = hf.open_table(table.path, options=ARCHIVING)
    write_ours(table)
    for number, to in enumerate((8, 9, 8, 6) if LONG else (8, 9, 6)):
        before = table.snapshot().num_rows
        table.change_version(to)
        assert assert_reads_alike(hudi, table).num_rows == before
        hudi.write(things(range(20 * number, 20 * number + 30), ts=20 + number), table.path, of_hudi(to, table_type))
        assert table.config.version == hf.open_table(table.path).config.version == to
        assert_reads_alike(hudi, table)
        table.upsert(things(range(20 * number, 20 * number + 10), ts=21 + number))
        assert_reads_alike(hudi, table)
        assert table.verify() == []


@only_long
@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", *(["MERGE_ON_READ"] if LONG else [])])
def test_we_go_on_in_each_version_that_hudi_makes(hudi: RealHudi, tmp_path: Path, table_type: str) -> None:
    table = create(tmp_path / "t", {}, table_type=table_type, version=6)
    write_ours(hf.open_table(table.path, options=ARCHIVING))
    name = f"versions_{table_type.lower()}"
    hudi.sql(f"create table {name} using hudi location '{table.path}'")
    for number, (procedure, to) in enumerate([("upgrade_table", 9), ("downgrade_table", 6), ("upgrade_table", 8)]):
        expected = table.snapshot().select(["id", "ts", "small"]).sort_by("id")
        hudi.sql(f"call {procedure}(table => '{name}', to_version => '{WORDS[to]}')")
        table = hf.open_table(table.path)
        assert table.config.version == to
        assert table.snapshot().select(["id", "ts", "small"]).sort_by("id") == expected
        table.upsert(things(range(10 * number, 10 * number + 10), ts=30 + number))
        assert_reads_alike(hudi, table)


@pytest.fixture(params=sorted(OF_HUDI))
def older(request: pytest.FixtureRequest, hudi: RealHudi) -> Iterator[tuple[int, RealHudi]]:
    """The newest version of a table that an older Hudi writes, and that Hudi."""
    with RealHudi(OF_HUDI[request.param]) as running:
        yield request.param, running


@pytest.mark.skipif(not LONG, reason="HUDIFORMAT_LONG=1 runs older versions of Hudi")
@pytest.mark.parametrize("table_type", ["MERGE_ON_READ", "COPY_ON_WRITE"])
def test_an_older_hudi_takes_its_table_and_hands_it_back(
    older: tuple[int, RealHudi], tmp_path: Path, table_type: str
) -> None:
    version, hudi = older
    start = 9 if version != 9 else 6
    table = create(tmp_path / "t", {}, table_type=table_type, version=start)
    write_ours(hf.open_table(table.path, options=ARCHIVING))
    for number in range(2):
        table.change_version(version)
        assert_values_alike(hudi, table)
        options = {**of_hudi(version, table_type), "hoodie.datasource.write.precombine.field": "ts"}
        hudi.write(things(range(20 * number, 20 * number + 30), ts=20 + number), table.path, options)
        assert_values_alike(hudi, table)
        table.change_version(start)
        table.upsert(things(range(5), ts=40 + number))
        written = table.snapshot().filter(pc.field("ts") == 40 + number)
        assert written.num_rows == len(pa.array(range(5)))
