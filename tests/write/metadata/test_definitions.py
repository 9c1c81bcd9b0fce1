"""The definitions of indexes follow the table's columns."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from hudiformat import Table, open_table
from hudiformat.errors import StorageError
from hudiformat.metadata_table.column_stats import COLUMN_STATS
from hudiformat.metadata_table.definitions import load_definitions
from tests.metadata_statistics import check_statistics
from tests.metadata_tables import indexed_table, set_properties
from tests.tables import rows

META = ("_hoodie_commit_time", "_hoodie_partition_path", "_hoodie_record_key")


def named(table: Table) -> tuple[str, ...]:
    return load_definitions(table._context.storage, table._context.state().config)[COLUMN_STATS].fields


def wider(table: Table, name: str, value: int) -> None:
    one = rows(("b", 2, "y", 2))
    table.upsert(one.append_column(name, pa.array([value], pa.int32())))


@pytest.mark.parametrize("version", [6, 8, 9])
@pytest.mark.parametrize("kind", ["MERGE_ON_READ", "COPY_ON_WRITE"])
def test_a_new_column_has_statistics_from_its_first_commit_on(tmp_path: Path, version: int, kind: str) -> None:
    table = indexed_table(tmp_path / "t", version=version, table_type=kind)
    table.upsert(rows(("a", 1, "x", 1)))
    wider(table, "new", 7)
    check_statistics(tmp_path / "t")
    if version > 6:
        assert named(table) == (*META, "k", "ts", "p", "v", "new")


def test_a_column_that_others_have_added_is_indexed_by_the_next_write(tmp_path: Path) -> None:
    """Tables that Hudi makes of a data frame have no schema in their properties."""
    table = indexed_table(tmp_path / "t")
    table.upsert(rows(("a", 1, "x", 1)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hudiformat.write.commit.publishing.name_new_columns", lambda *_: None)
        table.evolve(add={"new": pa.int32()})
    set_properties(tmp_path / "t", {"hoodie.table.create.schema": ""})
    assert "new" not in named(table)
    wider(open_table(tmp_path / "t"), "new", 7)
    assert "new" in named(table)
    check_statistics(tmp_path / "t")


def test_columns_of_the_users_choice_stay_those(tmp_path: Path) -> None:
    chosen = {"hoodie.metadata.index.column.stats.column.list": "k,ts"}
    table = indexed_table(tmp_path / "t", options=chosen)
    wider(table, "new", 7)
    assert named(table) == (*META, "k", "ts")
    check_statistics(tmp_path / "t")


def test_a_definition_that_could_not_be_written_is_written_by_the_next_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = indexed_table(tmp_path / "t")

    def refuse(*_: object) -> None:
        raise StorageError("no space")

    with monkeypatch.context() as patch:
        patch.setattr("hudiformat.write.commit.publishing.name_new_columns", refuse)
        wider(table, "new", 7)
    assert "new" not in named(table)
    open_table(tmp_path / "t").upsert(rows(("c", 1, "x", 1)).append_column("new", pa.array([3], pa.int32())))
    assert "new" in named(table)
    check_statistics(tmp_path / "t")
