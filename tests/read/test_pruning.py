"""A filter decides what is looked at: partitions, row groups, columns."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudiformat import SchemaError, Table, open_table
from hudiformat.conditions.filters import as_filter
from hudiformat.file_group.base_file.filters import FileFilter, can_match
from hudiformat.file_group.base_file.read import read_base_file
from hudiformat.file_group.key_filter import plain_comparisons
from hudiformat.read.skipping import PartitionPruner
from hudiformat.schema.partition_columns import PartitionColumns
from hudiformat.storage.local import LocalStorage
from hudiformat.storage.protocol import FileInfo
from tests.effort import BUSY, examples
from tests.tables import GoldenTable, multiset, new_table, rows

P, YEAR, KEY = pc.field("p"), pc.field("year"), pc.field("k")
SHOWN = pa.schema([("k", pa.string()), ("p", pa.string()), ("year", pa.int32())])
PATHS = ("a/2023", "a/2024", "b/2023", "__HIVE_DEFAULT_PARTITION__/2023", "p=b/year=2024")


def columns(*, escaped: bool = True) -> PartitionColumns:
    return PartitionColumns(("p", "year"), frozenset(), escaped=escaped, dropped=False)


@pytest.mark.parametrize(
    ("filter_", "left"),
    [
        (P == "a", PATHS[:2]),
        ((P == "a") & (YEAR == 2024) & (KEY > "x"), PATHS[1:2]),
        ((P == "a") | (KEY > "x"), PATHS),
        (P.is_null(), PATHS[3:4]),
        (~(P == "a"), (PATHS[2], PATHS[4])),
        (P.isin(["b", "c"]), (PATHS[2], PATHS[4])),
        (YEAR > 2023, (PATHS[1], PATHS[4])),
        (KEY == "x", PATHS),
    ],
    ids=str,
)
def test_partitions_in_which_a_filter_can_be_true(filter_: pc.Expression, left: tuple[str, ...]) -> None:
    pruner = PartitionPruner(columns(), SHOWN, filter_)
    assert tuple(path for path in PATHS if pruner.may_hold(path)) == left
    assert tuple(pruner.holding(PATHS)) == left
    assert pruner.may_hold("no/such/depth"), "it tells nothing"


def test_what_a_path_tells_is_decided_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def counted(*given: Any) -> list[bool]:
        asked.append(len(given[2]))
        return can_match(*given)

    monkeypatch.setattr("hudiformat.read.skipping.can_match", counted)
    pruner = PartitionPruner(columns(), SHOWN, P == "a")
    assert pruner.holding(PATHS[:3]) == [*PATHS[:2]]
    assert pruner.holding(PATHS) == [*PATHS[:2]]
    assert pruner.holding(PATHS[::-1]) == [*PATHS[1::-1]]
    assert len(asked) == 2, "once for the first three, once for the others"


def test_only_a_whole_path_without_slashes_in_values_can_be_left_out_unseen() -> None:
    pruner = PartitionPruner(columns(), SHOWN, P == "a")
    assert pruner.entering(["b", "b/2023", "a/2023"]) == ["b", "a/2023"]
    unsure = PartitionPruner(columns(escaped=False), SHOWN, P == "a")
    assert unsure.entering(["b/2023"]) == ["b/2023"]


@pytest.mark.parametrize(
    ("filter_", "left"),
    [
        (P == "2024/01/02", ["2024", "p=2024"]),
        (P == "2024-01-02", ["2024", "p=2024"]),
        (P == "2024", ["2024", "p=2024"]),
        (P >= "2024/06", ["2024", "2025", "a%2Fb", "ab", "p=2024"]),
        (P < "2024", ["2023"]),
        (P.isin(["a/b", "2025x"]), ["a%2Fb"]),
        (P == "a/b/c", ["a%2Fb"]),
        (P.is_null(), []),
        (KEY == "x", ["2023", "2024", "2025", "a%2Fb", "ab", "p=2024"]),
    ],
    ids=str,
)
def test_a_text_with_slashes_is_looked_for_in_the_folders_that_it_begins_with(
    filter_: pc.Expression, left: list[str]
) -> None:
    pruner = PartitionPruner(PartitionColumns(("p",), frozenset(), escaped=False, dropped=False), SHOWN, filter_)
    assert pruner.entering(["2023", "2024", "2025", "a%2Fb", "ab", "p=2024"]) == left


VALUES = (
    "a",
    "a/b",
    "a-b",
    "a.b",
    "ab",
    "a0",
    "a/b-c",
    "2024/01/02",
    "2024",
    "2024/01",
    "2023/12/31",
    "p=x/y",
    "%41/x",
)
CUTS = (*VALUES, "a/", "a-", "2024-", "2024/0", "2024-01", "", "zz")


@given(st.sampled_from(CUTS), st.sampled_from(["=", "<", ">=", ">", "!="]))
@settings(max_examples=examples(200), suppress_health_check=BUSY)
def test_folders_that_are_not_listed_have_no_row_that_is_asked_for(value: str, operator: str) -> None:
    """Of each value: whether its folder, and those above it, are entered if the filter is true for it."""
    filter_ = as_filter([("p", {"=": "=="}.get(operator, operator), value)], SHOWN)
    assert filter_ is not None
    columns_ = PartitionColumns(("p",), frozenset(), escaped=False, dropped=False)
    pruner = PartitionPruner(columns_, SHOWN, filter_)
    true_for = pa.table({"p": list(VALUES)}).filter(filter_)["p"].to_pylist()
    for one in true_for:
        for prefix in ("", "p="):
            parts = f"{prefix}{one}".split("/")
            above = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
            assert pruner.entering(above) == above


class Listed(LocalStorage):
    """Notes the folders that are listed."""

    def list(self, path: str) -> list[FileInfo]:
        seen.append(path)
        return super().list(path)


seen: list[str] = []


def test_escaped_partitions_are_left_out_before_they_are_listed(golden: Callable[[str], GoldenTable]) -> None:
    case = golden("v9-mor-multilevel-hive-h120")
    table = open_table(Listed(str(case.table)))
    seen.clear()
    found = table.snapshot(filter=(pc.field("year") == 2023) & (pc.field("city") == "Oslo"))
    expected = case.answer("expected/snapshot.parquet")
    kept = expected.filter((pc.field("year") == 2023) & (pc.field("city") == "Oslo"))
    assert kept.num_rows
    assert multiset(found) == multiset(kept)
    assert [path for path in seen if "city=" in path] == ["year=2023/city=Oslo"]


@pytest.mark.parametrize("name", ["v9-mor-metadata-table-h120", "v9-mor-avro-h120", "v6-cow-multilevel-h0150"])
def test_a_filter_of_partitions_and_rows_gives_the_rows_for_which_it_is_true(
    name: str, golden: Callable[[str], GoldenTable]
) -> None:
    case = golden(name)
    table, expected = open_table(case.table), case.answer("expected/snapshot.parquet")
    (partition,) = set(case.manifest["partition_fields"][-1:])
    values = sorted({value for value in expected[partition].to_pylist() if value is not None})
    for condition in (
        pc.field(partition) == values[0],
        (pc.field(partition) != values[0]) & (pc.field("k") > "key-0020"),
        pc.field("_hoodie_commit_time") > expected["_hoodie_commit_time"].to_pylist()[0],
    ):
        assert multiset(table.snapshot(filter=condition)) == multiset(expected.filter(condition))
        found = table.snapshot(columns=["k"], filter=condition)
        assert multiset(found) == multiset(expected.filter(condition).select(["k"])), "a filter of other columns"


def test_a_filter_that_fits_no_column(table: Table) -> None:
    table.insert(rows(("a", 1, "x", 1)))
    with pytest.raises(SchemaError, match="does not fit the columns"):
        table.snapshot(filter=pc.field("nothing") == 1)


def test_row_groups_that_hold_nothing_are_not_read(tmp_path: Path) -> None:
    content = pa.table({"n": list(range(100)), "t": [str(i) for i in range(100)], "m": list(range(100))})
    pq.write_table(content, tmp_path / "f.parquet", row_group_size=10)
    storage = LocalStorage(str(tmp_path))
    schema = pa.schema([("n", pa.int64()), ("t", pa.string()), ("newer", pa.int64()), ("m", pa.float64())])

    def read(expression: pc.Expression) -> list[int]:
        filter_ = FileFilter.of(expression, schema)
        found: list[int] = read_base_file(storage, "f.parquet", schema, may_hold=filter_)["n"].to_pylist()
        return found

    assert read(pc.field("n") == 25) == list(range(20, 30))
    assert read(pc.field("n") > 1000) == []
    assert read(pc.field("newer") == 1) == list(range(100)), "a column that the file does not have yet"
    assert read(pc.field("m") > 1000) == list(range(100)), "a column of another type"


def test_row_groups_whose_statistics_leave_nan_out_are_read(tmp_path: Path) -> None:
    point = [{"y": 1.0}, {"y": 2.0}]
    content = pa.table({"x": [1.0, math.nan], "n": [1, 2], "s": point})
    pq.write_table(content, tmp_path / "f.parquet")
    storage, schema = LocalStorage(str(tmp_path)), content.schema

    def count(expression: pc.Expression) -> int:
        filter_ = FileFilter.of(expression, schema)
        return int(read_base_file(storage, "f.parquet", schema, may_hold=filter_).num_rows)

    assert count(~(pc.field("x") <= 5)) == 2, "true of a NaN"
    assert count(~(pc.field("s", "y") <= 5)) == 2
    assert count(pc.field("x") > 5) == 0
    assert count(~(pc.field("n") <= 5)) == 0


def test_a_filter_is_not_pushed_under_log_files(tmp_path: Path) -> None:
    table = new_table(tmp_path / "table", partition_by=[])
    table.insert(rows(("a", 1, None, 1), ("b", 1, None, 1)))
    table.upsert(rows(("a", 2, None, 9)))
    assert table.snapshot(columns=["k"], filter=pc.field("v") == 1)["k"].to_pylist() == ["b"]


def test_a_column_is_filtered_by_what_is_shown_not_by_what_is_stored(tmp_path: Path) -> None:
    """An empty text names the default partition, and so is shown as null."""
    table = new_table(tmp_path / "table")
    table.insert(rows(("a", 1, "", 1), ("b", 1, "x", 1)))
    assert table.snapshot(columns=["k", "p"], filter=pc.field("p").is_null()).to_pylist() == [{"k": "a", "p": None}]


def test_row_groups_are_ruled_out_by_bounds_of_numbers_and_texts(tmp_path: Path) -> None:
    content = pa.table(
        {
            "n": pa.array([5, 7, None, 9], pa.int32()),
            "t": ["b", "d", "é", None],
            "d": pa.array([1, 2, 3, 4], pa.date32()),
            "x": [1.5, math.nan, 2.5, 3.5],
            "u": pa.array([1, 2**32 - 1, 3, 4], pa.uint32()),
            "none": pa.nulls(4, pa.int64()),
        }
    )
    pq.write_table(content, tmp_path / "f.parquet")
    storage = LocalStorage(str(tmp_path))

    def count(column: str, sign: str, value: object) -> int:
        expression = as_filter([(column, sign, value)], content.schema)
        assert expression is not None
        filter_ = FileFilter.of(expression, content.schema, plain_comparisons(expression))
        return int(read_base_file(storage, "f.parquet", content.schema, may_hold=filter_).num_rows)

    within = [
        ("n", "=", 6),
        ("n", "<", 6),
        ("n", "<=", 5),
        ("n", ">", 8),
        ("n", ">=", 9),
        ("t", "=", "c"),
        ("t", ">", "z"),
    ]
    within += [("u", "=", 2**32 - 1), ("x", ">", 3.0), ("n", "!=", 5)]
    assert [count(*one) for one in within] == [4] * len(within)
    outside = [
        ("n", "=", 4),
        ("n", "<", 5),
        ("n", "<=", 4),
        ("n", ">", 9),
        ("n", ">=", 10),
        ("t", "=", "a"),
        ("t", "<", "b"),
    ]
    outside += [("t", ">", "é"), ("d", "=", dt.date(1980, 1, 1)), ("none", "=", 1)]
    assert [count(*one) for one in outside] == [0] * len(outside)
