"""Base rows that no log file touches, or that every entry wins over, are not read to be merged: answers stay the same.

What is told without merging is compared with the merged rows.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudiformat import Table, open_table
from hudiformat.api.reading import context_of
from hudiformat.file_group.base_file.parquet import ParquetBaseFile
from hudiformat.read.plan import plan_snapshot
from tests.effort import examples
from tests.tables import SCHEMA, content, new_table, rows, unpack

BY_COMMIT: dict[str, Any] = {"options": {"hoodie.record.merge.mode": "COMMIT_TIME_ORDERING"}}
BY_KEY: dict[str, Any] = {"options": {"hoodie.write.record.positions": "false"}}
UTC = dt.timezone.utc
KINDS: list[dict[str, Any]] = [{}, BY_COMMIT, BY_KEY, {"ordering": []}]

writes = st.lists(
    st.tuples(
        st.sampled_from(["upsert", "delete"]),
        st.lists(
            st.tuples(st.integers(0, 11), st.integers(1, 4)), min_size=1, max_size=4, unique_by=lambda one: one[0]
        ),
    ),
    min_size=1,
    max_size=4,
)


def counted(table: Table) -> list[int | None]:
    """For each file slice the number of rows that is told without merging them; None where they are merged."""
    context = context_of(table)
    plan = plan_snapshot(context)
    return plan.query.reader.count_merged(context.storage, plan.slices)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@settings(max_examples=examples(6))
@given(writes=writes)
def test_counts_and_filtered_rows_are_those_of_merged_rows(
    kind: dict[str, Any], writes: list[Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    table = new_table(tmp_path_factory.mktemp("t") / "t", table_type="MERGE_ON_READ", **kind)
    expected = {f"k{number}": (2, number) for number in range(10)}
    table.insert(rows(*((key, ts, "x", v) for key, (ts, v) in expected.items())))
    for number, (action, changes) in enumerate(writes, 100):
        given = rows(*((f"k{key}", ts, "x", number) for key, ts in changes))
        if action == "upsert":
            table.upsert(given)
        else:
            table.delete(given)
    merged = content(table)
    assert table.count() == len(merged)
    context = context_of(table)
    plan = plan_snapshot(context)
    for one, told in zip(plan.slices, counted(table), strict=True):
        assert told in (None, plan.query.reader.read(context.storage, one).num_rows)
    assert content(table, ["v"]) == sorted([(row[3],) for row in merged], key=repr)
    for value in (3, 100, 999):
        assert content(table, filter=[("v", "=", value)]) == [row for row in merged if row[3] == value]
        assert content(table, ["k"], filter=[("v", ">", value)]) == [row[:1] for row in merged if row[3] > value]


@pytest.mark.parametrize("name", ["v9-mor-event-time-h120", "v9-mor-commit-time-h120", "v8-mor-avro-h102"])
def test_log_files_of_hudi_are_counted_as_they_are_merged(name: str, tmp_path: Path) -> None:
    table = open_table(unpack(name, tmp_path).table)
    context = context_of(table)
    plan = plan_snapshot(context)
    merged = [one for one in plan.slices if one.log_files]
    told = plan.query.reader.count_merged(context.storage, merged)
    rows = [plan.query.reader.read(context.storage, one).num_rows for one in merged]
    assert all(count in (None, found) for count, found in zip(told, rows, strict=True))
    assert table.count() == table.snapshot().num_rows


@pytest.fixture
def table(tmp_path: Path) -> Table:
    found = new_table(tmp_path / "t", table_type="MERGE_ON_READ")
    found.insert(rows(*((f"k{number}", 5, "x", number) for number in range(10))))
    return found


def test_a_count_is_told_by_positions(table: Table) -> None:
    table.upsert(rows(("k1", 1, "x", 100), ("k2", 9, "x", 100)))
    assert counted(table) == [10]  # whichever row wins, it is one
    table.delete(rows(("k2", 9, "x", 0), ("k3", 5, "x", 0)))
    assert counted(table) == [8] == [table.count()]


def test_rows_are_merged_to_count_without_positions(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", table_type="MERGE_ON_READ", **BY_KEY)
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "x", 1)))
    table.delete(rows(("a", 2, "x", 1)))
    assert counted(table) == [None]
    assert table.count() == 1


def test_rows_are_merged_to_count_if_a_column_marks_deletes(tmp_path: Path) -> None:
    schema = SCHEMA.append(pa.field("_hoodie_is_deleted", pa.bool_()))
    table = new_table(tmp_path / "t", table_type="MERGE_ON_READ", schema=schema)
    table.insert(rows(("a", 1, "x", 1, False), ("b", 1, "x", 1, False), schema=schema))
    table.upsert(rows(("a", 2, "x", 1, True), schema=schema))
    assert counted(table) == [None]
    assert table.count() == 1


@pytest.mark.parametrize(
    ("kind", "values", "is_told"),
    [
        (pa.int32(), (1, 2), True),
        (pa.date32(), (dt.date(1970, 1, 2), dt.date(1970, 1, 3)), True),
        (pa.timestamp("us", "UTC"), (dt.datetime(1970, 1, 2, tzinfo=UTC), dt.datetime(1970, 1, 3, tzinfo=UTC)), True),
        (pa.int64(), (None, 2), False),
        (pa.string(), ("a", "b"), False),
        (pa.float64(), (1.0, 2.0), False),
    ],
    ids=str,
)
def test_ordering_values_that_are_numbers_have_bounds_in_a_base_file(
    kind: pa.DataType, values: tuple[object, object], is_told: bool, tmp_path: Path, columns_read: set[str]
) -> None:
    schema = SCHEMA.set(1, pa.field("ts", kind))
    table = new_table(tmp_path / "t", table_type="MERGE_ON_READ", schema=schema)
    table.insert(rows(("a", values[0], "x", 1), ("b", values[0], "x", 2), schema=schema))
    table.upsert(rows(("a", values[1], "x", 3), schema=schema))
    columns_read.clear()
    assert content(table, ["v"]) == [(2,), (3,)]
    assert ("ts" not in columns_read) is is_told


@pytest.fixture
def columns_read(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    read: set[str] = set()
    stored = ParquetBaseFile.batches

    def batches(self: ParquetBaseFile, names: list[str], **options: Any) -> Iterator[pa.RecordBatch]:
        read.update(names)
        return stored(self, names, **options)

    monkeypatch.setattr(ParquetBaseFile, "batches", batches)
    return read


def test_ordering_values_are_read_only_where_an_entry_may_lose(table: Table, columns_read: set[str]) -> None:
    table.upsert(rows(("k1", 6, "x", 100)))
    columns_read.clear()
    assert len(content(table, ["v"])) == 10
    assert columns_read == {"v"}
    table.upsert(rows(("k2", 4, "x", 100)))
    columns_read.clear()
    assert len(content(table, ["v"])) == 10
    assert columns_read == {"v", "ts"}


def test_nothing_is_read_of_a_base_file_whose_bounds_rule_the_filter_out(table: Table, columns_read: set[str]) -> None:
    table.upsert(rows(("k1", 6, "x", 100)))
    columns_read.clear()
    assert content(table, filter=[("v", "=", 100)]) == [("k1", 6, "x", 100)]
    assert not columns_read
    table.upsert(rows(("k2", 4, "x", 100)))  # it loses, which only the base row tells
    assert content(table, filter=[("v", "=", 100)]) == [("k1", 6, "x", 100)]
    assert "v" in columns_read
