"""Two moments of a table, compared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudiformat import Table, UnsupportedFeatureError
from hudiformat.file_group.slices import FileSlice
from hudiformat.read import diff as diff_module
from hudiformat.read.plan import SlicePlan, plan_snapshot
from hudiformat.table.state import TableContext
from tests.tables import SCHEMA, new_table, rows

Found = list[tuple[str, Any, Any]]


def found(table: Table, *moments: Any) -> Found:
    """The operation, and v before and after."""
    listed = table.diff(*moments).rows.to_pylist()
    return [(one["op"], one["before"] and one["before"]["v"], one["after"] and one["after"]["v"]) for one in listed]


@pytest.mark.all_sets
@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("version", [9, 6])
def test_rows_are_new_changed_or_gone(tmp_path: Path, table_type: str, version: int) -> None:
    table = new_table(tmp_path / "t", table_type=table_type, version=version)
    first = table.bulk_insert(rows(("a", 1, "x", 1), ("b", 1, "x", 2), ("c", 1, "y", 3), ("d", 1, "z", 4)))
    second = table.upsert(rows(("a", 2, "x", 10), ("e", 1, "y", 5)))
    table.delete(rows(("b", 3, "x", None)))
    assert found(table, first) == [("u", 1, 10), ("d", 2, None), ("i", None, 5)]
    assert found(table, first, second) == [("u", 1, 10), ("i", None, 5)]
    assert found(table, second, first) == [("u", 10, 1), ("d", 5, None)]
    assert found(table, first, first) == []


def test_a_row_that_is_written_again_as_it_was_is_no_difference(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    first = table.bulk_insert(rows(("a", 1, "x", 1), ("b", 1, "x", None)))
    table.upsert(rows(("a", 1, "x", 1), ("b", 1, "x", None)))
    difference = table.diff(first)
    assert difference.rows.num_rows == 0
    assert difference.files.num_rows == 1


def test_services_change_files_and_no_rows(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    table.bulk_insert(rows(("a", 1, "x", 1)))
    second = table.upsert(rows(("a", 2, "x", 2)))
    [compaction] = table.compact()
    difference = table.diff(second, compaction)
    assert difference.rows.num_rows == 0
    assert sorted(difference.files["change"].to_pylist()) == ["added", "removed", "removed"]
    assert repr(difference) == "<TableDiff: rows: 0 new, 0 changed, 0 gone; 3 files>"


def test_only_slices_that_differ_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = new_table(tmp_path / "t")
    first = table.bulk_insert(rows(("a", 1, "x", 1), ("b", 1, "y", 2)))
    table.upsert(rows(("a", 2, "x", 2)))
    read: list[FileSlice] = []
    original = diff_module._read

    def noted(context: TableContext, plan: SlicePlan, slices: Sequence[FileSlice]) -> pa.Table:
        read.extend(slices)
        return original(context, plan, slices)

    monkeypatch.setattr(diff_module, "_read", noted)
    assert found(table, first) == [("u", 1, 2)]
    assert {one.partition_path for one in read} == {"x"}


def test_columns_that_one_moment_has_are_no_change(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    first = table.bulk_insert(rows(("a", 1, "x", 1), ("b", 1, "x", 2)))
    table.upsert(rows(("b", 2, "x", 3, 7), schema=SCHEMA.append(pa.field("w", pa.int32()))))
    [row] = table.diff(first).rows.to_pylist()
    assert (row["before"], row["after"]) == (
        {"k": "b", "ts": 1, "p": "x", "v": 2},
        {"k": "b", "ts": 2, "p": "x", "v": 3, "w": 7},
    )


def test_nested_values_and_numbers_that_are_none_are_compared(tmp_path: Path) -> None:
    schema = SCHEMA.append(pa.field("l", pa.list_(pa.int32()))).append(pa.field("f", pa.float64()))
    table = new_table(tmp_path / "t", schema=schema)
    first = table.bulk_insert(rows(("a", 1, "x", 1, [1], math.nan), ("b", 1, "x", 1, [1, 2], 0.5), schema=schema))
    table.upsert(rows(("a", 1, "x", 1, [1], math.nan), ("b", 1, "x", 1, [1, 3], 0.5), schema=schema))
    assert [row["after"]["l"] for row in table.diff(first).rows.to_pylist()] == [[1, 3]]


def test_without_meta_fields_the_record_key_counts(tmp_path: Path) -> None:
    table = new_table(
        tmp_path / "t", table_type="COPY_ON_WRITE", options={"hoodie.populate.meta.fields": "false"}, ordering=[]
    )
    first = table.bulk_insert(rows(("a", 1, "x", 1)))
    table.bulk_insert(rows(("b", 1, "x", 2)))
    assert found(table, first) == [("i", None, 2)]


def test_rows_without_keys_cannot_be_compared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    first = table.insert(rows(("a", 1, "x", 1)))

    def without(*given: Any, **named: Any) -> Any:
        plan = plan_snapshot(*given, **named)
        config = replace(plan.query.reader.config, populate_meta_fields=False, record_key_fields=())
        return replace(plan, query=replace(plan.query, reader=replace(plan.query.reader, config=config)))

    monkeypatch.setattr(diff_module, "plan_snapshot", without)
    with pytest.raises(UnsupportedFeatureError, match="rows cannot be matched"):
        table.diff(first)
