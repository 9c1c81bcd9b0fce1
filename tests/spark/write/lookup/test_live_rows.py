"""The rows of file slices as a data frame."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tests.tables import SCHEMA, new_table, rows

pytest.importorskip("pyspark.sql")

from hudiformat.spark.write.lookup.live_rows import comparable_columns, keep_one_per_key, live_rows
from hudiformat.spark.write.lookup.tagging import GROUP, KEY, PATH

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("count", [2, 0])
def test_rows_come_merged_with_their_key_partition_and_file_group(
    spark: SparkSession, tmp_path: Path, count: int
) -> None:
    table = new_table(tmp_path / "t")
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "y", 2)))
    table.upsert(rows(("b", 2, "y", 3)))
    slices = sorted(table.file_slices(), key=lambda one: one.partition_path)[:count]
    columns = pa.schema([SCHEMA.field("v"), SCHEMA.field("ts")])
    found = live_rows(spark, table.path, table.slice_reader(), slices, columns, group=GROUP)
    assert found.columns == ["v", "ts", PATH, KEY, GROUP]
    expected = [(1, 1, "x", "a"), (3, 2, "y", "b")][:count]
    assert sorted(map(tuple, found.collect())) == [
        (*row, one.file_id) for row, one in zip(expected, slices, strict=True)
    ]


def test_of_rows_with_one_key_the_one_with_the_greatest_ordering_values_is_kept(spark: SparkSession) -> None:
    values = [("a", 1, 1), ("a", 2, None), ("a", 2, 1), ("b", None, 5)]
    frame = spark.createDataFrame(values, "key string, ts int, n int")
    assert sorted(map(tuple, keep_one_per_key(frame, ["key"], ["ts", "n"]).collect())) == [("a", 2, 1), ("b", None, 5)]
    assert keep_one_per_key(frame, ["key"], []).count() == 2


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("int", [-1, None, 1]),
        ("decimal(3,1)", [Decimal("-1.0"), None, Decimal("1.0")]),
        ("double", [-1.0, -0.0, 0.0, 1.0, float("nan")]),
        ("float", [-1.0, None, 1.0]),
        ("string", [None, "", "a"]),
        ("date", [None, date(1900, 1, 1), date(2024, 1, 1)]),
    ],
)
def test_ordering_values_compare_as_in_one_process_null_as_zero_among_numbers(
    spark: SparkSession, kind: str, values: list[object]
) -> None:
    pairs = list(pairwise(values))
    both = [*pairs, *((greater, lower) for lower, greater in pairs)]
    frame = spark.createDataFrame([(n, value) for n, pair in enumerate(both) for value in pair], f"key int, n {kind}")
    lower_first = frame.coalesce(1).sortWithinPartitions("key", *comparable_columns(frame.schema, ["n"]))
    greatest = [greater for _, greater in pairs] * 2
    assert repr([row.n for row in keep_one_per_key(frame, ["key"], ["n"]).sort("key").collect()]) == repr(greatest)
    assert repr([row.n for row in lower_first.collect()][1::2]) == repr(greatest)
