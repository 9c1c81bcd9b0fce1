"""Columns with one value in all rows that are read, as the statistics of a Parquet file show, are not decoded.

The partition columns of a base file are such columns, its ordering column is after one insert, and so are columns that
nobody fills.  Decoding texts takes more time than all else that reading does.

Source: Statistics of parquet.thrift.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as pat

from hudiformat.codec.conversion import batch_of

_WORTH_ASKING = 1 << 14
"""Row groups with fewer rows are decoded in about the time that it takes to look at their statistics."""
_NEVER_CUT = 64
"""Bounds of so many bytes and more may have been cut by their writer; then equal bounds do not mean equal values."""


def constant_columns(file: pq.ParquetFile, names: Sequence[str], groups: Sequence[int]) -> dict[str, pa.Scalar]:
    """Return the columns among *names* with the same value in all rows of the row groups *groups*, and the values.

    Only columns of integers and texts are told: the bounds of numbers with a fraction leave out NaN.  Two row groups::

        column  bounds, nulls, rows
        p       x to x, 0, 9    x to x, 0, 9    -> x
        ts      1 to 1, 0, 9    2 to 2, 0, 9    two values
        note    none,   9, 9    none,   9, 9    -> null
    """
    metadata, schema = file.metadata, file.schema_arrow
    described = [metadata.row_group(number) for number in groups]
    if not described or min(group.num_rows for group in described) < _WORTH_ASKING:
        return {}
    if metadata.num_columns != len(schema):  # with nested columns, leaves have other numbers
        return {}
    found = {}
    for name in names:
        position = schema.get_field_index(name)
        kind = pa.null() if position < 0 else schema.field(position).type  # a name that comes twice has no position
        if not (pat.is_signed_integer(kind) or pat.is_string(kind)):
            continue
        values = [_only_value(group, group.column(position)) for group in described]
        if values[0] is not None and all(value == values[0] for value in values):
            found[name] = pa.scalar(values[0][0], kind)
    return found


def add_constants(
    batches: Iterable[pa.RecordBatch], names: Sequence[str], constants: Mapping[str, pa.Scalar]
) -> Iterator[pa.RecordBatch]:
    """Yield *batches* with the columns *names*, some of which are *constants*."""
    repeated: dict[str, pa.Array] = {}
    for batch in batches:
        rows = batch.num_rows
        if not repeated or len(next(iter(repeated.values()))) < rows:
            repeated = {name: pa.repeat(value, rows) for name, value in constants.items()}
        columns = [repeated[name].slice(0, rows) if name in repeated else batch[name] for name in names]
        yield pa.RecordBatch.from_arrays(columns, list(names))


def batches_without_columns(rows: int, batch_rows: int) -> Iterator[pa.RecordBatch]:
    """Yield batches of together *rows* rows without a column, at most *batch_rows* rows at a time."""
    for start in range(0, rows, batch_rows):
        yield batch_of([], pa.schema([]), min(batch_rows, rows - start))


def _only_value(group: Any, chunk: Any) -> tuple[int | str | None] | None:
    """Return the value of all rows of a column chunk, which may be null, in a tuple; None if there may be several."""
    known = chunk.statistics
    if known is None or not known.has_null_count or chunk.num_values != group.num_rows:
        return None
    if known.null_count == group.num_rows:
        return (None,)
    if known.null_count or not known.has_min_max or known.min != known.max:
        return None
    value: int | str = known.min
    return (value,) if isinstance(value, int) or len(value.encode()) < _NEVER_CUT else None
