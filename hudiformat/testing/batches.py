"""Random Arrow schemas and batches, and the same rows in other types."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.types as pat
from hypothesis import strategies as st

from hudiformat.codec.avro.schema import avro_to_arrow
from hudiformat.testing.avro_schemas import row_values
from hudiformat.testing.values import fields, optional

_VIEWS: dict[pa.DataType, tuple[pa.DataType, ...]] = {
    pa.string(): (pa.large_string(), pa.string_view()),
    pa.binary(): (pa.large_binary(), pa.binary_view()),
}


def schemas(depth: int = 3) -> st.SearchStrategy[pa.Schema]:
    """Generate Arrow schemas of one to five columns of any type that Hudi can store, nested up to *depth*.

    Source: spec/avro-records.md, "Types".
    """
    return fields(depth).map(pa.schema)


@st.composite
def batches(
    draw: st.DrawFn, schema: pa.Schema | str | None = None, *, max_rows: int = 12, varied: bool = False
) -> pa.RecordBatch:
    """Generate batches of up to *max_rows* rows, with nulls, empty values and extreme values.

    *schema* is an Arrow schema from :func:`schemas`, or an Avro schema as JSON from :func:`avro_schemas`, which is
    converted to an Arrow schema; by default it is random.  *varied* applies :func:`variants`.

    Source: spec/avro-records.md, "Types".
    """
    if isinstance(schema, str):
        arrow, columns = avro_to_arrow(schema), list(row_values(schema).values())
    else:
        arrow = draw(schemas()) if schema is None else schema
        columns = [optional(field) for field in arrow]
    rows = draw(st.integers(0, max_rows))
    arrays = [
        pa.array(draw(st.lists(column, min_size=rows, max_size=rows)), field.type)
        for field, column in zip(arrow, columns, strict=True)
    ]
    batch = pa.RecordBatch.from_arrays(arrays, schema=arrow)
    return draw(variants(batch)) if varied else batch


@st.composite
def variants(draw: st.DrawFn, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Generate batches with the rows of *batch* in another form: slices, dictionary-encoded, large or view columns.

    Code that accepts batches has to return the same result for all of them.

    Source: spec/avro-records.md, "Types".
    """
    before = draw(st.integers(0, 3)) if batch.num_rows else 0
    after = draw(st.integers(0, 3)) if batch.num_rows else 0
    rows = [*[0] * before, *range(batch.num_rows), *[0] * after]
    longer = batch.take(pa.array(rows, pa.int64()))
    columns = [draw(_variants(column)) for column in longer.columns]
    schema = pa.schema([field.with_type(column.type) for field, column in zip(batch.schema, columns, strict=True)])
    return pa.RecordBatch.from_arrays(columns, schema=schema).slice(before, batch.num_rows)


def _variants(column: pa.Array) -> st.SearchStrategy[pa.Array]:
    others = [column, *(column.cast(kind) for kind in _VIEWS.get(column.type, ()))]
    if not pat.is_nested(column.type):
        others.append(column.dictionary_encode())
    return st.sampled_from(others)
