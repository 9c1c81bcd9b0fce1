"""Spark's types and Arrow's map onto each other."""

from __future__ import annotations

import pyarrow as pa
import pytest

from hudiformat import SchemaError

types = pytest.importorskip("pyspark.sql.types")

from hudiformat.shuffle.schema import arrow_schema, spark_schema  # noqa: E402 - needs PySpark

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
def test_texts_of_limited_length_are_texts(kind: types.DataType) -> None:
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
