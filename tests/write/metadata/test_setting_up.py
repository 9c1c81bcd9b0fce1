"""A new table gets its metadata table on request."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat import open_table
from tests.metadata_statistics import check_statistics, indexed_columns
from tests.metadata_table.tables import check_listing
from tests.metadata_tables import PARTITIONS, indexed_table, properties
from tests.tables import new_table, rows


def test_it_has_the_partitions_that_hudi_makes_by_default(tmp_path: Path) -> None:
    indexed_table(tmp_path / "t")
    assert properties(tmp_path / "t")[PARTITIONS] == "column_stats,files,partition_stats"
    own = tmp_path / "t/.hoodie/metadata"
    assert sorted(path.name for path in (own / "column_stats").iterdir()) == [
        ".col-stats-0000-0_00000000000000001.log.1_0-0-0",
        ".col-stats-0001-0_00000000000000001.log.1_0-0-0",
        ".hoodie_partition_metadata",
    ]
    assert {path.stat().st_size for path in (own / "column_stats").glob(".col*")} == {80}  # as Hudi's
    check_listing(tmp_path / "t")


def test_a_table_without_partitions_has_no_statistics_of_them(tmp_path: Path) -> None:
    indexed_table(tmp_path / "t", partition_by=[])
    assert properties(tmp_path / "t")[PARTITIONS] == "column_stats,files"


@pytest.mark.parametrize("kind", ["column.stats", "partition.stats"])
def test_partitions_can_be_left_out(tmp_path: Path, kind: str) -> None:
    indexed_table(tmp_path / "t", options={f"hoodie.metadata.index.{kind}.enable": "false"})
    left = "files" if kind == "column.stats" else "column_stats,files"
    assert properties(tmp_path / "t")[PARTITIONS] == left


def test_the_columns_and_the_file_groups_can_be_chosen(tmp_path: Path) -> None:
    chosen = {
        "hoodie.metadata.index.column.stats.column.list": "ts",
        "hoodie.metadata.index.column.stats.file.group.count": "3",
    }
    table = indexed_table(tmp_path / "t", options=chosen)
    assert indexed_columns(tmp_path / "t") == [
        "_hoodie_commit_time",
        "_hoodie_partition_path",
        "_hoodie_record_key",
        "ts",
    ]
    table.insert(rows(("a", 1, "x", 1)))
    assert len(list((tmp_path / "t/.hoodie/metadata/column_stats").glob("*-0000000*"))) <= 3
    check_statistics(tmp_path / "t")
    fewer = indexed_table(tmp_path / "u", options={"hoodie.metadata.index.column.stats.max.columns.to.index": "1"})
    fewer.insert(rows(("a", 1, "x", 1)))
    assert len(indexed_columns(tmp_path / "u")) == 4
    check_statistics(tmp_path / "u")


def test_one_that_an_earlier_attempt_has_left_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "t/.hoodie/metadata").mkdir(parents=True)
    indexed_table(tmp_path / "t").insert(rows(("a", 1, "x", 1)))
    check_listing(tmp_path / "t")


def test_without_a_request_there_is_none_and_later_requests_make_one(tmp_path: Path) -> None:
    new_table(tmp_path / "t")
    open_table(tmp_path / "t", options={"hoodie.metadata.enable": "true"}).insert(rows(("a", 1, "x", 1)))
    assert properties(tmp_path / "t")[PARTITIONS] == "column_stats,files,partition_stats"
    check_statistics(tmp_path / "t")


def test_a_table_of_version_6_has_no_statistics_of_partitions_and_no_definitions(tmp_path: Path) -> None:
    indexed_table(tmp_path / "t", version=6).insert(rows(("a", 1, "x", 1)))
    assert properties(tmp_path / "t")[PARTITIONS] == "column_stats,files"
    assert not (tmp_path / "t/.hoodie/.index_defs").exists()
    own = properties(tmp_path / "t/.hoodie/metadata")
    assert (own["hoodie.archivelog.folder"], own["hoodie.timeline.layout.version"]) == ("archived", "1")
    check_listing(tmp_path / "t")
