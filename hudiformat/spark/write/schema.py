"""Convert between Spark's types and Arrow's.

PySpark has such functions too, but they are internal, and their arguments change from release to release.

Vectors are arrays in Spark, blobs and variants structs; the metadata of a field names them, as in Hudi's frames.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import types as spark

from hudiformat.codec.custom_types import BLOB, TYPE_KEY, VARIANT, format_vector, is_vector, named_type
from hudiformat.errors import DataError, SchemaError
from hudiformat.schema.table_schema import TableSchema

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

_TYPE_KEY = TYPE_KEY.decode()

_BARE_NUMBERS: tuple[tuple[type[spark.DataType], pa.DataType], ...] = (
    # Spark before 4.1 has no type for a time of day; Hudi on Spark reads the number, too.
    (spark.IntegerType, pa.time32("ms")),
    (spark.LongType, pa.time64("us")),
)


def arrow_schema(schema: spark.StructType) -> pa.Schema:
    """Return the Arrow schema for the Spark schema *schema*.

    Raises:
        SchemaError: Hudi's Avro cannot hold the type of a column.
    """
    return pa.schema([_arrow_field(field, field.name) for field in schema.fields])


def arrow_type(kind: spark.DataType) -> pa.DataType:
    """Return the Arrow type for the Spark type *kind*.

    Raises:
        SchemaError: Hudi's Avro cannot hold the type.
    """
    return arrow_schema(spark.StructType([spark.StructField("column", kind)])).field(0).type


def spark_schema(schema: pa.Schema) -> spark.StructType:
    """Return the Spark schema for the Arrow schema *schema*."""
    return spark.StructType([_spark_field(field) for field in schema])


def as_table_has(columns: pa.Schema, table: pa.Schema) -> pa.Schema:
    """Return *columns* of a data frame with the types of *table*, where Spark shows such a type as the frame's type."""
    own = {one.name: one.type for one in table}
    return pa.schema([one.with_type(_as_stored(one.type, own.get(one.name, one.type))) for one in columns])


def fit_shown(schema: TableSchema, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Fit *batch*, which comes from Spark, to *schema*; types that Spark does not have become those of the table.

    Raises:
        DataError: the table's column cannot hold a value.
        SchemaError: as for :meth:`TableSchema.fit`.
    """
    wanted = as_table_has(batch.schema, schema.arrow)
    for number, (own, one) in enumerate(zip(batch.schema, wanted, strict=True)):
        if own.type != one.type:
            batch = batch.set_column(number, one, _cast(batch.column(number), one))
    return schema.fit(batch)


def _cast(values: pa.Array, field: pa.Field) -> pa.Array:
    try:
        return values.cast(field.type)
    except pa.ArrowInvalid as error:
        raise DataError(f"column {field.name} of type {field.type} in the table: {error}", column=field.name) from None


def _as_stored(given: pa.DataType, own: pa.DataType) -> pa.DataType:
    """Return *own* if Spark shows it as *given*, else *given*; types inside of nested types are replaced alike."""
    if given == own or pa.types.is_null(given):
        return given
    if pa.types.is_struct(given) and pa.types.is_struct(own):
        inner = {one.name: one.type for one in own.fields}
        return pa.struct([one.with_type(_as_stored(one.type, inner.get(one.name, one.type))) for one in given.fields])
    if pa.types.is_list(given) and pa.types.is_list(own):
        return pa.list_(given.value_field.with_type(_as_stored(given.value_type, own.value_type)))
    if pa.types.is_map(given) and pa.types.is_map(own):
        return pa.map_(given.key_type, given.item_field.with_type(_as_stored(given.item_type, own.item_type)))
    if pa.types.is_nested(own):
        return given
    # The zone of a moment is the session's.
    known = pa.timestamp(given.unit, "UTC") if pa.types.is_timestamp(given) and given.tz else given
    return own if arrow_schema(spark_schema(pa.schema([("", own)]))).field(0).type == known != own else given


def has_time_of_day(kind: pa.DataType) -> bool:
    """Return whether *kind* is a time of day, or contains one."""
    if pa.types.is_nested(kind):
        return any(has_time_of_day(kind.field(number).type) for number in range(kind.num_fields))
    return bool(pa.types.is_time(kind))


def _arrow_field(field: spark.StructField, path: str) -> pa.Field:
    named, kind = str(field.metadata.get(_TYPE_KEY, "")), _arrow_type(field.dataType, path)
    if named.strip().upper() == BLOB and not pa.types.is_struct(kind):  # Hudi says it of the array, not of its elements
        kind, named = _with_named_elements(kind, named), ""
    return pa.field(field.name, kind, nullable=field.nullable, metadata={TYPE_KEY: named.encode()} if named else None)


def _with_named_elements(kind: pa.DataType, named: str) -> pa.DataType:
    """Return the type of an array or a map whose elements or values are of the type *named*."""
    metadata = {TYPE_KEY: named.encode()}
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_metadata(metadata))
    return pa.map_(kind.key_type, kind.item_field.with_metadata(metadata)) if pa.types.is_map(kind) else kind


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
    kind, named = field.type, named_type(field)
    if is_vector(kind):
        named = format_vector(kind)
    elif pa.types.is_list(kind):
        named = named_type(kind.value_field)
    elif pa.types.is_map(kind):
        named = named_type(kind.item_field)
    shown = _spark_type(kind, field.name)
    if named in (BLOB, VARIANT):
        shown = _nullable(shown)
    return spark.StructField(field.name, shown, field.nullable, {_TYPE_KEY: named} if named else None)


def _nullable(kind: spark.DataType) -> spark.DataType:
    """Return the type of blobs or variants whose fields are nullable, as Hudi shows them.

    So a null struct can be converted: Arrow cannot cast one with fields that are required.
    """
    if isinstance(kind, spark.StructType):
        return spark.StructType([spark.StructField(one.name, _nullable(one.dataType)) for one in kind])
    if isinstance(kind, spark.ArrayType):
        return spark.ArrayType(_nullable(kind.elementType), kind.containsNull)
    if isinstance(kind, spark.MapType):
        return spark.MapType(kind.keyType, _nullable(kind.valueType), kind.valueContainsNull)
    return kind


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
    if is_vector(kind):
        return spark.ArrayType(_spark_type(kind.value_type, path), containsNull=False)
    if pa.types.is_map(kind):
        value = kind.item_field
        return spark.MapType(_spark_type(kind.key_type, path), _spark_type(value.type, path), value.nullable)
    raise _no_type_in_spark(kind, path)


def _no_type_in_spark(kind: pa.DataType, path: str) -> SchemaError:
    return SchemaError(f"the column {path!r} of type {kind} has no type in Spark", column=path)
