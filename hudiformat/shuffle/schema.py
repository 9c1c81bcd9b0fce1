"""Spark's types <-> Arrow's.

PySpark has these mappings too, but as internal functions whose arguments change from release to release.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import types as spark

from hudiformat.errors import SchemaError

_SIMPLE: tuple[tuple[type[spark.DataType], pa.DataType], ...] = (
    (spark.BooleanType, pa.bool_()),
    (spark.ByteType, pa.int8()),
    (spark.ShortType, pa.int16()),
    (spark.IntegerType, pa.int32()),
    (spark.LongType, pa.int64()),
    (spark.FloatType, pa.float32()),
    (spark.DoubleType, pa.float64()),
    (spark.StringType, pa.string()),
    (spark.CharType, pa.string()),
    (spark.VarcharType, pa.string()),
    (spark.BinaryType, pa.binary()),
    (spark.DateType, pa.date32()),
    (spark.TimestampType, pa.timestamp("us", tz="UTC")),
    (spark.TimestampNTZType, pa.timestamp("us")),
)

_BARE_NUMBERS: tuple[tuple[type[spark.DataType], pa.DataType], ...] = (
    # Spark before 4.1 has no time of day; Hudi on Spark reads the bare number, too.
    (spark.IntegerType, pa.time32("ms")),
    (spark.LongType, pa.time64("us")),
)


def arrow_schema(schema: spark.StructType) -> pa.Schema:
    """The Arrow schema of rows of *schema*.

    Raises:
        SchemaError: a column that Hudi's Avro cannot hold.
    """
    return pa.schema([_arrow_field(field, field.name) for field in schema.fields])


def spark_schema(schema: pa.Schema) -> spark.StructType:
    """The Spark schema of rows that are read as *schema*."""
    return spark.StructType([_spark_field(field) for field in schema])


def with_times(batch: pa.RecordBatch, target: pa.Schema) -> pa.RecordBatch:
    """*batch* with times of day in the columns that have them in *target*, of the numbers that Spark has of them."""
    for number, one in enumerate(batch.schema):
        kind = target.field(one.name).type if one.name in target.names else one.type
        if kind != one.type and has_time_of_day(kind):
            batch = batch.set_column(number, one.with_type(kind), batch.column(number).cast(kind))
    return batch


def has_time_of_day(kind: pa.DataType) -> bool:
    """Whether values of *kind* are times of day, or have some."""
    if pa.types.is_nested(kind):
        return any(has_time_of_day(kind.field(number).type) for number in range(kind.num_fields))
    return bool(pa.types.is_time(kind))


def _arrow_field(field: spark.StructField, path: str) -> pa.Field:
    return pa.field(field.name, _arrow_type(field.dataType, path), nullable=field.nullable)


def _arrow_type(kind: spark.DataType, path: str) -> pa.DataType:
    if isinstance(kind, spark.StructType):
        return pa.struct([_arrow_field(field, f"{path}.{field.name}") for field in kind.fields])
    if isinstance(kind, spark.ArrayType):
        return pa.list_(pa.field("element", _arrow_type(kind.elementType, path), nullable=kind.containsNull))
    if isinstance(kind, spark.MapType):
        value = pa.field("value", _arrow_type(kind.valueType, path), nullable=kind.valueContainsNull)
        return pa.map_(_arrow_type(kind.keyType, path), value)
    if isinstance(kind, spark.DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    for simple, arrow in _SIMPLE:
        if isinstance(kind, simple):
            return arrow
    raise SchemaError(
        f"the column {path!r} has the type {kind.simpleString()}, which Hudi's Avro cannot hold; cast it "
        "or leave it out",
        column=path,
    )


def _spark_field(field: pa.Field) -> spark.StructField:
    return spark.StructField(field.name, _spark_type(field.type, field.name), field.nullable)


def _spark_type(kind: pa.DataType, path: str) -> spark.DataType:
    if pa.types.is_nested(kind):
        return _spark_nested_type(kind, path)
    if pa.types.is_decimal128(kind):
        return spark.DecimalType(kind.precision, kind.scale)
    if pa.types.is_timestamp(kind):
        return spark.TimestampType() if kind.tz else spark.TimestampNTZType()
    if pa.types.is_fixed_size_binary(kind):
        return spark.BinaryType()
    for simple, arrow in (*_SIMPLE, *_BARE_NUMBERS):
        if arrow == kind:
            return simple()
    raise _no_type_in_spark(kind, path)


def _spark_nested_type(kind: pa.DataType, path: str) -> spark.DataType:
    if pa.types.is_struct(kind):
        return spark.StructType([_spark_field(field) for field in kind.fields])
    if pa.types.is_list(kind):
        return spark.ArrayType(_spark_type(kind.value_type, path), kind.value_field.nullable)
    if pa.types.is_map(kind):
        value = kind.item_field
        return spark.MapType(_spark_type(kind.key_type, path), _spark_type(value.type, path), value.nullable)
    raise _no_type_in_spark(kind, path)


def _no_type_in_spark(kind: pa.DataType, path: str) -> SchemaError:
    return SchemaError(f"the column {path!r} of type {kind} has no type in Spark", column=path)
