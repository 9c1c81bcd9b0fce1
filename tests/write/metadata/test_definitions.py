"""The definitions of indexes follow the table's columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudiformat import Table, open_table
from hudiformat.errors import StorageError
from hudiformat.metadata_table.column_stats import COLUMN_STATS
from hudiformat.metadata_table.definitions import load_definitions
from tests.metadata_statistics import check_statistics, records_of
from tests.metadata_tables import indexed_table
from tests.tables import rows

META = ("_hoodie_commit_time", "_hoodie_partition_path", "_hoodie_record_key")


def named(table: Table) -> tuple[str, ...]:
    return load_definitions(table._context.storage, table._context.state().config)[COLUMN_STATS].fields


def by_ids(path: Path) -> Table:
    """Open a table so that its columns can be dropped."""
    return open_table(path, options={"hoodie.schema.on.read.enable": "true"})


def recorded(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """The records of the column statistics, by file and column."""
    found = [record["ColumnStatsMetadata"] for record in records_of(path, "column_stats").values()]
    return {(one["fileName"], one["columnName"]): one for one in found}


def wider(table: Table, name: str, value: int) -> None:
    one = rows(("b", 2, "y", 2))
    table.upsert(one.append_column(name, pa.array([value], pa.int32())))


@pytest.mark.parametrize("version", [6, 8, 9])
@pytest.mark.parametrize("kind", ["MERGE_ON_READ", "COPY_ON_WRITE"])
def test_a_new_column_has_statistics_at_once_and_records_of_older_files(
    tmp_path: Path, version: int, kind: str
) -> None:
    """Hudi loses rows of a file that has records of some columns of the definition only."""
    table = indexed_table(tmp_path / "t", version=version, table_type=kind)
    table.upsert(rows(("a", 1, "x", 1)))
    wider(table, "new", 7)
    check_statistics(tmp_path / "t")
    if version > 6:
        assert named(table) == (*META, "k", "ts", "p", "v", "new")
    found = recorded(tmp_path / "t")
    assert {file for file, column in found if column == "new"} == {file for file, _ in found}
    assert table.snapshot(filter="new = 7")["k"].to_pylist() == ["b"]
    assert "a" in table.snapshot(filter="new is null")["k"].to_pylist()


def test_a_base_file_without_a_column_has_only_nulls_of_it(tmp_path: Path) -> None:
    table = indexed_table(tmp_path / "t", table_type="COPY_ON_WRITE")
    table.upsert(rows(("q", 1, "z", 1)))
    wider(table, "new", 7)
    table.drop_index("partition_stats")
    open_table(tmp_path / "t").drop_index("column_stats")
    open_table(tmp_path / "t").create_index("column_stats")
    older = [one for (_, column), one in recorded(tmp_path / "t").items() if column == "new" and one["nullCount"]]
    assert {(one["valueCount"], one["nullCount"], one["minValue"]) for one in older} == {(1, 1, None)}


def test_a_dropped_column_leaves_the_definition_and_joins_again_as_a_new_one(tmp_path: Path) -> None:
    indexed_table(tmp_path / "t").upsert(rows(("a", 1, "x", 1)))
    by_ids(tmp_path / "t").evolve(drop=["v"])
    assert named(by_ids(tmp_path / "t")) == (*META, "k", "ts", "p")
    by_ids(tmp_path / "t").evolve(add={"v": pa.string()})
    assert named(by_ids(tmp_path / "t")) == (*META, "k", "ts", "p", "v")
    assert by_ids(tmp_path / "t").snapshot(filter="v is null").num_rows == by_ids(tmp_path / "t").count()


def test_columns_of_the_users_choice_stay_those(tmp_path: Path) -> None:
    chosen = {"hoodie.metadata.index.column.stats.column.list": "k,ts"}
    table = indexed_table(tmp_path / "t", options=chosen)
    wider(table, "new", 7)
    assert named(table) == (*META, "k", "ts")
    check_statistics(tmp_path / "t")


def test_a_definition_that_could_not_be_written_is_written_by_the_next_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    indexed_table(tmp_path / "t")
    table = by_ids(tmp_path / "t")

    def refuse(*_: object) -> None:
        raise StorageError("no space")

    with monkeypatch.context() as patch:
        patch.setattr("hudiformat.write.commit.publishing.define_columns", refuse)
        table.evolve(drop=["v"])
    assert "v" in named(table)
    by_ids(tmp_path / "t").upsert(rows(("c", 1, "x", 1)).drop_columns(["v"]))
    assert "v" not in named(table)
    check_statistics(tmp_path / "t")
