"""Spark's types and Arrow's map onto each other."""

from __future__ import annotations

from datetime import datetime, time
from typing import Any

import pyarrow as pa
import pytest

from hudiformat import DataError, SchemaError
from hudiformat.schema.table_schema import TableSchema

types = pytest.importorskip("pyspark.sql.types")

from hudiformat.spark.write.schema import arrow_schema, as_table_has, fit_shown, spark_schema

EVERY_TYPE = pa.schema(
    [
        pa.field("b", pa.bool_()),
        pa.field("i8", pa.int8()),
        pa.field("i16", pa.int16()),
        pa.field("i32", pa.int32(), nullable=False),
        pa.field("i64", pa.int64()),
        pa.field("f", pa.float32()),
        pa.field("d", pa.float64()),
        pa.field("s", pa.string()),
        pa.field("bin", pa.binary()),
        pa.field("date", pa.date32()),
        pa.field("at", pa.timestamp("us", tz="UTC")),
        pa.field("local", pa.timestamp("us")),
        pa.field("dec", pa.decimal128(20, 3)),
        pa.field("list", pa.list_(pa.field("element", pa.int32(), nullable=False))),
        pa.field("map", pa.map_(pa.string(), pa.field("value", pa.date32(), nullable=False))),
        pa.field("st", pa.struct([pa.field("x", pa.list_(pa.field("element", pa.string())))])),
    ]
)


def test_every_type_goes_there_and_back() -> None:
    assert arrow_schema(spark_schema(EVERY_TYPE)) == EVERY_TYPE


@pytest.mark.parametrize(
    ("kind", "read_as"),
    [
        (pa.binary(4), types.BinaryType()),
        (pa.time32("ms"), types.IntegerType()),
        (pa.time64("us"), types.LongType()),
    ],
)
def test_what_spark_has_no_type_for_is_read_as_the_nearest(kind: pa.DataType, read_as: object) -> None:
    assert spark_schema(pa.schema([("x", kind)]))["x"].dataType == read_as


@pytest.mark.parametrize("kind", [types.CharType(5), types.VarcharType(5)])
def test_texts_of_limited_length_are_texts(kind: Any) -> None:
    assert arrow_schema(types.StructType([types.StructField("x", kind)])).field("x").type == pa.string()


@pytest.mark.parametrize("kind", [pa.uint64(), pa.dense_union([pa.field("a", pa.int32())])])
def test_what_has_no_type_in_spark_is_refused(kind: pa.DataType) -> None:
    with pytest.raises(SchemaError, match=r"'x' of type .* has no type in Spark"):
        spark_schema(pa.schema([("x", kind)]))


def test_a_column_that_avro_cannot_hold_is_named_with_its_path() -> None:
    inner = types.StructType([types.StructField("b", types.DayTimeIntervalType())])
    with pytest.raises(SchemaError, match=r"'a\.b' has the type interval") as error:
        arrow_schema(types.StructType([types.StructField("a", inner)]))
    assert error.value.column == "a.b"


INNER = pa.struct([("t", pa.time64("us")), ("n", pa.int32())])
OF_TABLE = pa.schema(
    {
        "at": pa.timestamp("ms", "UTC"),
        "local": pa.timestamp("ms"),
        "fixed": pa.binary(2),
        "t": pa.time32("ms"),
        "list": pa.list_(pa.field("element", INNER)),
        "map": pa.map_(pa.string(), pa.field("value", INNER)),
        "wide": pa.int64(),
        "one": pa.struct([("x", pa.int64())]),
    }
)
ROW = {
    "at": datetime(2024, 1, 1, 12),
    "local": datetime(2024, 1, 1, 12),
    "fixed": b"ab",
    "t": time(1, 2, 3),
    "list": [{"t": time(1, 2, 3, 4), "n": 1}, None],
    "map": [("a", {"t": None, "n": 1}), ("b", None)],
    "wide": 1,
    "one": {"x": 2},
}


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_what_spark_shows_of_a_table_goes_back_into_it(zone: str) -> None:
    table = TableSchema.from_arrow(OF_TABLE, "t")
    nothing = dict.fromkeys(OF_TABLE.names)
    rows = pa.Table.from_pylist([ROW, nothing], table.arrow)
    shown = arrow_schema(spark_schema(table.arrow))
    shown = shown.set(0, pa.field("at", pa.timestamp("us", zone)))  # as a session of this zone hands it over
    [batch] = rows.cast(shown).to_batches()
    assert fit_shown(table, batch).to_pylist() == rows.to_pylist()
    assert as_table_has(arrow_schema(spark_schema(table.arrow)), table.arrow) == table.arrow


def test_other_types_than_those_that_spark_shows_stay_as_they_are() -> None:
    given = pa.schema({"local": pa.int64(), "t": pa.int64(), "wide": pa.int32(), "one": pa.int32(), "new": pa.int32()})
    assert as_table_has(given, OF_TABLE) == given
    more = pa.schema({"one": pa.struct([("x", pa.int64()), ("y", pa.int32())])})
    assert as_table_has(more, OF_TABLE) == more


@pytest.mark.parametrize(
    ("name", "value"),
    [("local", datetime(2024, 1, 1, 12, 0, 0, 1)), ("fixed", b"abc")],
)
def test_a_value_that_the_column_of_the_table_cannot_hold_is_refused(name: str, value: object) -> None:
    schema = pa.schema([OF_TABLE.field(name)])
    [batch] = pa.Table.from_pylist([{name: value}], arrow_schema(spark_schema(schema))).to_batches()
    with pytest.raises(DataError, match=f"column {name} of type .* in the table: "):
        fit_shown(TableSchema.from_arrow(schema, "t"), batch)
