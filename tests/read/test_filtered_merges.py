"""A filter is applied to base rows that no log file touches before all columns are read: the answer stays the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudiformat import Table
from hudiformat.file_group.base_file.parquet import ParquetBaseFile
from tests.tables import SCHEMA, content, new_table

pytestmark = pytest.mark.unmeasured

COUNT = 6000
KINDS = [
    {},
    {"ordering": []},
    {"options": {"hoodie.write.record.positions": "false"}},
    {"options": {"hoodie.record.merge.mode": "COMMIT_TIME_ORDERING"}},
]
CONDITIONS: list[Any] = [
    [("v", "=", 7)],
    [("v", "=", 100_007)],
    [("v", ">=", 100_000)],
    [("v", "<", 100_000), ("ts", "=", 5)],
    [("v", "in", [1, 2, 3, 100_001, 5990])],
    [("ts", ">", 5)],
    [("k", "=", "k0007")],
    [[("v", "=", 9)], [("ts", "=", 9)]],
]


def changed(numbers: range, ts: int, shift: int) -> pa.Table:
    names = [f"k{number:04}" for number in numbers]
    columns = [names, [ts] * len(numbers), ["x"] * len(numbers), [number + shift for number in numbers]]
    return pa.table(columns, schema=SCHEMA)


@pytest.fixture(params=KINDS, ids=str)
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    """Rows of which some were changed, some changed by an older row, some deleted and some are in log files alone."""
    found = new_table(tmp_path / "t", table_type="MERGE_ON_READ", **request.param)
    found.insert(changed(range(COUNT), 5, 0))
    found.upsert(changed(range(0, 40, 2), 9, 100_000))
    found.upsert(changed(range(1, 40, 4), 3, 100_000))
    found.delete(changed(range(3, 30, 7), 9, 0))
    return found


def test_filtered_rows_are_those_of_the_merged_ones(table: Table) -> None:
    merged = table.snapshot(columns=SCHEMA.names)
    for condition in CONDITIONS:
        groups = condition if isinstance(condition[0], list) else [condition]
        expected = [one for one in merged.to_pylist() if any(all(map(holds(one), group)) for group in groups)]
        found = table.snapshot(columns=SCHEMA.names, filter=condition)
        assert sorted(found.to_pylist(), key=str) == sorted(expected, key=str), condition
        assert table.count(condition) == len(expected)
        names = table.snapshot(columns=["k"], filter=condition)["k"].to_pylist()
        assert sorted(names) == sorted(one["k"] for one in expected), condition
    assert table.count() == merged.num_rows


def holds(row: dict[str, Any]) -> Callable[[tuple[str, str, Any]], bool]:
    def test(clause: tuple[str, str, Any]) -> bool:
        name, sign, value = clause
        found = row[name]
        return (
            bool({"=": found == value, ">=": found >= value, "<": found < value, ">": found > value}[sign])
            if (sign != "in")
            else found in value
        )

    return test


def test_other_columns_are_not_read_if_no_base_row_matches(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    read: set[str] = set()

    def batches(self: ParquetBaseFile, names: list[str], **options: Any) -> Iterator[pa.RecordBatch]:
        read.update(names)
        return stored(self, names, **options)

    stored = ParquetBaseFile.batches
    monkeypatch.setattr(ParquetBaseFile, "batches", batches)
    assert {row[0] for row in content(table, filter=[("v", "=", 100_014)])} == {"k0014"}
    assert "p" not in read
