"""Spark's schemas <-> Arrow's."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from hudiformat.errors import SchemaError


def arrow_schema(schema: StructType) -> pa.Schema:
    """The Arrow schema in which Spark hands over rows of *schema*.

    Raises:
        SchemaError: a column that Arrow cannot hold.
    """
    fields = []
    for field in schema.fields:
        try:
            fields.append(to_arrow_schema(StructType([field])).field(0))
        except (PySparkException, TypeError, ValueError) as error:
            raise SchemaError(
                f"the column {field.name!r} has the type {field.dataType.simpleString()}, which neither Arrow nor "
                "Hudi's Avro can hold; cast it or leave it out",
                column=field.name,
            ) from error
    return pa.schema(fields)


def spark_schema(schema: pa.Schema) -> StructType:
    """The Spark schema of rows that are read as *schema*."""
    result: Any = from_arrow_schema(schema)
    return StructType(list(result.fields))
