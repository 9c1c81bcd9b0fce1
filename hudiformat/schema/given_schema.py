"""The schema of a new table, as a caller gives it: a schema of Arrow, or a data frame that has the columns."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from hudiformat.arguments import ArrowSchema
from hudiformat.codec.avro.incoming import adapt_to_schema
from hudiformat.errors import warn
from hudiformat.schema.table_schema import as_reader

_PER_MICROSECOND = 1000


def schema_of(given: ArrowSchema) -> pa.Schema:
    """Return the schema of *given*; a data frame's has the types that writes of it store, times in microseconds.

    Warns if the frame has times that are no whole microseconds: writes of them are errors.

    Raises:
        DataError: *given* has neither a schema nor rows.
    """
    if isinstance(given, pa.Schema):
        return given
    if not hasattr(given, "__arrow_c_stream__"):
        if hasattr(given, "collect_schema"):  # a lazy frame of Polars, whose schema is none of Arrow's in old releases
            return schema_of(given.collect_schema().to_frame())
        columns: Any = given
        return adapt_to_schema(pa.schema(columns).empty_table().to_reader(), pa.schema([])).schema
    reader = as_reader(given)
    schema = adapt_to_schema(pa.RecordBatchReader.from_batches(reader.schema, []), pa.schema([])).schema
    finer = [field.name for field in reader.schema if str(field.type).startswith(("timestamp[ns", "time64[ns"))]
    lost = {name for batch in (reader if finer else ()) for name in finer if _has_nanoseconds(batch.column(name))}
    if lost:
        warn(
            f"schema: {', '.join(sorted(lost))} will be stored in microseconds, and the data frame has finer times: "
            "round them before they are written, as with .dt.floor('us') in pandas"
        )
    return schema


def _has_nanoseconds(values: pa.Array) -> bool:
    return bool((values.cast(pa.int64()).drop_null().to_numpy() % _PER_MICROSECOND).any())
