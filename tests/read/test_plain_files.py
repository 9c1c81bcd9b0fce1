"""Base files that any reader of Parquet shows as a query does."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import hudiformat as hf
from hudiformat.read.plain_files import stored_columns
from tests.tables import new_table, rows, unpack

NAMES = ["k", "ts", "p", "v"]


def stored(table: hf.Table, columns: list[str] = NAMES) -> list[pa.Schema | None]:
    reader = table.slice_reader()
    return [stored_columns(reader, table._context.storage, one, columns) for one in table.file_slices()]


def filled(path: Path, partition: str | None = "a") -> hf.Table:
    table = new_table(path, table_type="COPY_ON_WRITE")
    table.insert(rows(("1", 1, partition, 1), ("2", 1, partition, 2)))
    return table


def test_the_columns_are_those_of_the_file(tmp_path: Path) -> None:
    table = filled(tmp_path / "t")
    assert [found and found.names for found in stored(table)] == [NAMES]
    assert [found and found.names for found in stored(table, ["v", "_hoodie_record_key"])] == [
        ["v", "_hoodie_record_key"]
    ]
    assert [found and found.names for found in stored(filled(tmp_path / "null", None))] == [NAMES]


def test_a_column_that_is_shown_as_null_is_left_out(tmp_path: Path) -> None:
    table = filled(tmp_path / "t")
    wider = pa.schema([*table.schema, pa.field("w", pa.string())])
    table.insert(rows(("3", 1, "b", 3, "new"), schema=wider))
    assert [found and found.names for found in stored(table, [*NAMES, "w"])] == [NAMES, [*NAMES, "w"]]


def test_partition_columns_have_the_values_of_the_file_but_for_nulls_and_dropped_ones(tmp_path: Path) -> None:
    table = filled(tmp_path / "t")
    (tmp_path / "t" / "a").rename(tmp_path / "t" / "z")
    reader = table.slice_reader()
    storage = table._context.storage
    moved = next(iter((tmp_path / "t" / "z").glob("*.parquet"))).name
    one = hf.open_table(filled(tmp_path / "other", "z").path).file_slices()[0]
    (tmp_path / "t" / "z" / moved).rename(tmp_path / "t" / "z" / str(one.base_file and one.base_file.name))
    assert stored_columns(reader, storage, one, NAMES) is not None  # its rows say a
    assert stored_columns(reader, storage, one, ["k", "v"]) is not None
    empty = filled(tmp_path / "empty", "")
    assert stored(empty, NAMES) == [None], "an empty text is shown as null"
    dropped = hf.open_table(unpack("v9-cow-dropped-partition-columns-h120", tmp_path).table)
    assert set(stored(dropped, list(dropped.schema.names))) == {None}


def test_columns_that_have_other_names_in_the_file(tmp_path: Path) -> None:
    table = hf.open_table(unpack("renamed-cow9", tmp_path).table)
    found = stored(table, list(table.schema.names))
    assert None in found


def test_slices_of_log_files_alone_have_none(tmp_path: Path) -> None:
    table = hf.open_table(unpack("v6-mor-log-only-h0150", tmp_path).table)
    assert set(stored(table, list(table.schema.names))) == {None}
