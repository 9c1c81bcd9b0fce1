"""What the files of a table show of its properties."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat import open_table
from hudiformat.check.repair.inferring import of_files, of_metadata_table, whole_lines
from hudiformat.storage.local import LocalStorage
from tests.effort import sample
from tests.tables import NAMES, new_table, rows, unpack

CHECKED = (
    "hoodie.table.type",
    "hoodie.table.recordkey.fields",
    "hoodie.table.partition.fields",
    "hoodie.table.cdc.enabled",
    "hoodie.timeline.layout.version",
    "hoodie.datasource.write.hive_style_partitioning",
)


@pytest.mark.parametrize("name", sample(NAMES, of=17))
def test_what_is_inferred_of_hudis_tables_is_right(name: str, tmp_path: Path) -> None:
    storage = LocalStorage(unpack(name, tmp_path).table)
    real, found = open_table(storage).config.properties, of_files(storage)
    for key in CHECKED:
        if key in found:
            assert found[key] == real.get(key, ""), key
    assert "hoodie.table.version" not in found  # tables of several versions look alike
    assert found["hoodie.table.type"] == real["hoodie.table.type"]


def test_most_tables_show_their_keys(tmp_path: Path) -> None:
    storage = LocalStorage(unpack("v9-mor-multilevel-hive-h120", tmp_path).table)
    found = of_files(storage)
    assert found["hoodie.table.partition.fields"] == "year,city"
    assert found["hoodie.datasource.write.hive_style_partitioning"] == "true"
    assert found["hoodie.table.name"] == open_table(storage).config.name


def test_keys_of_several_columns_and_escaped_partitions(tmp_path: Path) -> None:
    options = {"hoodie.datasource.write.partitionpath.urlencode": "true"}
    table = new_table(tmp_path / "t", record_key=["k", "ts"], options=options)
    table.bulk_insert(rows(("a", 1, "x/y", 7)))
    found = of_files(table._context.storage)
    assert found["hoodie.table.recordkey.fields"] == "k,ts"
    assert found["hoodie.table.partition.fields"] == "p"
    assert found["hoodie.datasource.write.partitionpath.urlencode"] == "true"


def test_columns_that_have_the_same_values_are_not_told_apart(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    table.bulk_insert(rows(("x", 1, "x", 1)))
    found = of_files(table._context.storage)
    assert "hoodie.table.recordkey.fields" not in found
    assert "hoodie.table.partition.fields" not in found


def test_a_table_without_partitions_or_rows(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", partition_by=[])
    assert of_files(table._context.storage) == {"hoodie.timeline.layout.version": "2"}
    table.bulk_insert(rows(("a", 1, "x", 1)))
    assert of_files(table._context.storage)["hoodie.table.partition.fields"] == ""


def test_damaged_base_files_and_commits_are_passed_over(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    table.bulk_insert(rows(("a", 1, "x", 1)))
    for path in [*Path(table.path).glob("x/*.parquet"), *Path(table.path).glob(".hoodie/timeline/*.deltacommit")]:
        path.write_bytes(b"no longer")
    found = of_files(table._context.storage)
    assert found == {"hoodie.timeline.layout.version": "2", "hoodie.table.type": "MERGE_ON_READ"}


def test_a_metadata_table_repeats_some(tmp_path: Path) -> None:
    storage = LocalStorage(unpack("v9-mor-metadata-table-h120", tmp_path).table)
    real, found = open_table(storage).config.properties, of_metadata_table(storage)
    assert found
    assert {key: real.get(key) for key in found if "index.defs" not in key} == {
        key: value for key, value in found.items() if "index.defs" not in key
    }
    assert of_metadata_table(LocalStorage(tmp_path)) == {}


def test_whole_lines_of_a_file_that_was_cut(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    assert whole_lines(storage, "p") == {}
    storage.create("p", b"#\na=1\nb=2\nc=")
    assert whole_lines(storage, "p") == {"a": "1", "b": "2"}
    storage.create("p", b"a=\\u12\n", overwrite=True)
    assert whole_lines(storage, "p") == {}
