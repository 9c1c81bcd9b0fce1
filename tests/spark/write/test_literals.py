"""Values of Python become those of the table's columns, whatever the zone of the session."""

from __future__ import annotations

from datetime import date, datetime, time, timezone
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import hudiformat as hf

pytest.importorskip("pyspark.sql")

from pyspark.sql import Row, functions

import hudiformat.spark as hudi_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VALUES = {
    "local": (pa.timestamp("us"), datetime(2024, 1, 1, 12, 0, 0, 5)),
    "st": (pa.struct([("x", pa.int32()), ("at", pa.timestamp("us"))]), {"x": 2, "at": datetime(2024, 1, 1, 12)}),
    "m": (pa.map_(pa.string(), pa.int64()), {"a": 1, "b": None}),
    "nothing": (pa.map_(pa.string(), pa.int64()), {}),
    "li": (pa.list_(pa.struct([("x", pa.int32())])), [{"x": 1}, {}, None]),
    "empty": (pa.list_(pa.struct([("x", pa.int32())])), []),
    "t": (pa.time64("us"), time(1, 2, 3, 4)),
    "t32": (pa.time32("ms"), time(1, 2, 3, 4000)),
    "by": (pa.binary(), b"xy"),
    "x": (pa.decimal128(10, 2), Decimal("1.25")),
    "moment": (pa.timestamp("us", "UTC"), datetime(2024, 1, 1, 12, tzinfo=timezone.utc)),
    "pairs": (pa.map_(pa.string(), pa.int64()), [("a", 1)]),
    "d": (pa.date32(), date(2024, 1, 1)),
}


@pytest.mark.parametrize("by", ["update", "merge"])
def test_values_of_each_type_are_those_that_one_process_writes(spark: SparkSession, tmp_path: Path, by: str) -> None:
    schema = pa.schema({"k": pa.string(), **{name: kind for name, (kind, _) in VALUES.items()}})
    tables = [hf.create_table(tmp_path / name, name="t", schema=schema, record_key="k") for name in ("one", "other")]
    for table in tables:
        table.insert(pa.Table.from_pylist([{"k": "a"}, {"k": "b"}], schema=schema))
    values = {name: value for name, (_, value) in VALUES.items()}
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        if by == "update":
            hudi_spark.update(spark, tables[0].path, values, "k = 'a'")
        else:
            source = spark.createDataFrame([("a",)], "k string")
            hudi_spark.merge(source, tables[0].path, when_matched=[hudi_spark.Update(values)])
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    tables[1].update(values, where="k = 'a'")
    found = [table.snapshot(columns=schema.names).sort_by("k").to_pylist() for table in tables]
    assert found[0] == found[1]


@pytest.mark.all_sets
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("st", 7, "column st of type struct<x:int>: expected a dict, found int 7"),
        ("st", {"y": 1}, "no column 'st.y'.*st.x"),
        ("li", 7, "column li of type array<int>: expected a list, found int 7"),
        ("li", "abc", "column li of type array<int>: expected a list, found"),
        ("m", 7, "column m of type map<string,int>: expected a dict, found int 7"),
        ("m", [1], "column m of type map<string,int>: expected a dict, found"),
    ],
)
def test_what_is_no_value_of_the_column_is_refused(
    spark: SparkSession, tmp_path: Path, name: str, value: object, message: str
) -> None:
    kinds = {"st": pa.struct([("x", pa.int32())]), "li": pa.list_(pa.int32()), "m": pa.map_(pa.string(), pa.int32())}
    schema = pa.schema({"k": pa.string(), **kinds})
    table = hf.create_table(tmp_path / "t", name="t", schema=schema, record_key="k")
    table.insert(pa.Table.from_pylist([{"k": "a"}], schema=schema))
    with pytest.raises(hf.SchemaError, match=message):
        hudi_spark.update(spark, table.path, {name: value})
    assert not table.timeline.pending


def test_structures_may_be_rows_and_have_columns_inside(spark: SparkSession, tmp_path: Path) -> None:
    schema = pa.schema({"k": pa.string(), "st": pa.struct([("x", pa.string()), ("y", pa.int32())])})
    table = hf.create_table(tmp_path / "t", name="t", schema=schema, record_key="k")
    table.insert(pa.Table.from_pylist([{"k": "a"}], schema=schema))
    hudi_spark.update(spark, table.path, {"st": Row(y=1)})
    assert table.snapshot(columns="st")["st"].to_pylist() == [{"x": None, "y": 1}]
    hudi_spark.update(spark, table.path, {"st": {"x": functions.col("k"), "y": functions.expr("st.y + 1")}})
    assert table.snapshot(columns="st")["st"].to_pylist() == [{"x": "a", "y": 2}]
