"""The values of partition columns are those of the files, whatever the key generator made of them in the path."""

from __future__ import annotations

from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import hudiformat as hf
from hudiformat.schema.partition_columns import PartitionColumns
from tests.foreign.foreign_tables import names, unpack
from tests.tables import edit, make_partition, new_table, rows

UTC = timezone.utc
MOMENTS = [
    datetime(2024, 1, 1, 18, 0, 0, 789000, UTC),
    datetime(2024, 1, 2, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, 500000, UTC),
]
DATES = [date(2024, 1, 1), date(1969, 12, 31), date(2024, 1, 2)]
MILLIS = [1704069015000, 1704189844004, -5]
EXES = ["x0", "x1", "x2"]
STORED: dict[str, dict[str, list[Any]]] = {
    "timestamp": {"p": MOMENTS},
    "timestamp-encoded": {"p": MOMENTS},
    "timestamp-hive": {"p": MOMENTS},
    "two-moments": {"p": MOMENTS, "q": ["x", "x", "x"]},
    "date": {"p": [*DATES[:2], None]},
    "date-slashes": {"p": DATES},
    "date-slashes-hive": {"p": DATES},
    "text-slashes": {"p": [str(one) for one in DATES]},
    "int": {"p": [1, -2, None]},
    "double": {"p": [1.5, 1e10, -0.0]},
    "float": {"p": [1.5, 1e10, 0.10000000149011612]},
    "decimal": {"p": [Decimal("1.50"), Decimal("-0.01"), None]},
    "boolean": {"p": [True, False, None]},
    "binary": {"p": [b"ab", b"c", b"d"]},
    "folders": {"dt": ["2018/10/05", "2018/10/06", "2018/10/07"], "hh": ["10", "11", "12"]},
    "folders-int": {"dt": ["2018/10/05", "2018/10/06", "2018/10/07"], "hh": [10, 11, 12]},
    "folders-one": {"dt": ["2018/10/05", "2018/10/06", "a"]},
    "two": {"dt": [date(2024, 1, 1), date(2024, 1, 2), None], "hh": [1, 2, None]},
    "timed-millis": {"p": MILLIS},
    "timed-slashes": {"p": MILLIS},
    "timed-moment": {"p": MOMENTS},
    "timed-date": {"p": DATES},
    "timed-text": {"p": ["2024-01-01 01:02:03", "2024-01-02 01:02:03", "1969-12-31 01:02:03"]},
    "timed-text-slashes": {"p": ["2024-01-01", "2024-01-02", "1969-12-31"]},
    "timed-seconds": {"p": [1704069015, 1704189844, 5]},
    "timed-double": {"p": [1704069015.0, 1704189844.0, 5.0]},
    "custom": {"r": EXES, "p": MILLIS},
    "custom-moment": {"r": EXES, "p": MOMENTS},
    "custom-one": {"p": MILLIS},
    "custom-text": {"r": EXES, "p": ["2024-01-01", "2024-01-02", "1969-12-31"]},
    "custom-simple": {"r": EXES, "p": MOMENTS},
}
TABLES = names("partition-")


def stored(name: str) -> dict[str, list[Any]]:
    return STORED[name.removeprefix("partition-").rsplit("-", 2)[0]]


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_partition_columns_have_the_values_and_types_of_the_files(name: str, tmp_path: Path) -> None:
    table = hf.open_table(unpack(name, tmp_path).path)
    for found in (
        table.snapshot(),
        table.incremental("000"),
        table.snapshot(as_of=table.history()["instant"][-1].as_py()),
    ):
        shown = found.sort_by("k")
        assert {one: shown[one].to_pylist() for one in stored(name)} == stored(name)
        own = table._context.state().schema.arrow
        assert all(shown.schema.field(one).type == own.field(one).type for one in stored(name))
    assert table.verify() == []


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_filters_on_partition_columns_find_each_row_by_its_value(name: str, tmp_path: Path) -> None:
    table = hf.open_table(unpack(name, tmp_path).path)
    for column, values in stored(name).items():
        kind = table._context.state().schema.arrow.field(column).type
        for value in values:
            where = pc.field(column).is_null() if value is None else pc.field(column) == pa.scalar(value, kind)
            expected = [key for key, one in zip("abc", values, strict=True) if one == value]
            assert sorted(table.snapshot(columns=["k"], filter=where)["k"].to_pylist()) == expected, (column, value)
        found = table.snapshot(columns=["k"], filter=pc.field(column).is_valid())["k"].to_pylist()
        assert sorted(found) == [key for key, one in zip("abc", values, strict=True) if one is not None]


@pytest.mark.parametrize("name", [one for one in TABLES if "moment" not in one and "timestamp" not in one])
def test_where_hudi_shows_the_values_of_the_files_so_does_hudiformat(name: str, tmp_path: Path) -> None:
    foreign = unpack(name, tmp_path)
    answer = foreign.answers["snapshot"]
    if isinstance(answer, str):
        return  # Hudi could not read its own table
    answer = answer.sort_by("k")
    own = hf.open_table(foreign.path).snapshot().sort_by("k")
    for column in stored(name):
        if (
            answer.schema.field(column).type == own.schema.field(column).type
            and "mor" in name
            and "slashes" not in name
        ):
            is_hex = answer[column].to_pylist() == [b"6162", b"63", b"64"]
            assert is_hex or own[column].to_pylist() == answer[column].to_pylist()


def test_a_file_without_the_column_has_the_value_of_its_path(tmp_path: Path) -> None:
    table = new_table(tmp_path / "table", partition_by=["v"])
    table.insert(rows(("a", 1, "x", 7), ("b", 1, "y", None)))
    for path in tmp_path.rglob("*.parquet"):
        if ".hoodie" not in path.parts:
            content = pq.read_table(path, partitioning=None)
            pq.write_table(content.drop_columns(["v"]), path)
    found = table.snapshot(columns=["k", "v"]).sort_by("k").to_pylist()
    assert found == [{"k": "a", "v": 7}, {"k": "b", "v": None}]
    assert table.snapshot(columns=["k"], filter="v = 7")["k"].to_pylist() == ["a"]


@pytest.mark.parametrize("fields", ["p,v", "v"])
def test_a_value_that_neither_file_nor_path_tells_is_an_error_by_name(fields: str, tmp_path: Path) -> None:
    table = new_table(tmp_path / "table", partition_by=["p"])
    table.insert(rows(("a", 1, "x", 7)))
    edit(tmp_path / "table", "hoodie.table.partition.fields", fields)
    for path in tmp_path.rglob("*.parquet"):
        if ".hoodie" not in path.parts:
            content = pq.read_table(path, partitioning=None)
            pq.write_table(content.drop_columns(["v"]), path)
    again = hf.open_table(tmp_path / "table")
    with pytest.raises(hf.UnsupportedFeatureError, match=r"the partition 'x': expected the column v of type int32"):
        again.snapshot()
    assert again.snapshot(columns=["k"])["k"].to_pylist() == ["a"]


def test_texts_of_a_path_that_are_no_values_rule_nothing_out() -> None:
    columns = PartitionColumns(("p",), frozenset(), escaped=False, dropped=False)
    for kind in (pa.timestamp("us", "UTC"), pa.timestamp("us"), pa.binary()):
        assert columns.cases("1704132000789000", pa.schema([("p", kind)])) == []
    assert columns.cases("a/b/c", pa.schema([("q", pa.string())])) == []
    timed = PartitionColumns(("p",), frozenset("p"), escaped=False, dropped=False)
    assert timed.cases("20240101", pa.schema([("p", pa.int64())])) == []


@pytest.mark.parametrize("value", ["a=b", "%41", "p=x", "a%2Fb", "50%", "A"])
def test_texts_are_found_by_their_values_whatever_a_path_makes_of_them(value: str, tmp_path: Path) -> None:
    table = new_table(tmp_path / "table")
    make_partition(tmp_path / "table", value)
    table.insert(rows(("a", 1, value, 1), ("b", 1, "other", 1)))
    assert table.snapshot(columns=["k", "p"], filter=pc.field("p") == value).to_pylist() == [{"k": "a", "p": value}]
