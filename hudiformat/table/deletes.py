"""Deletes: the rows that say of themselves that they are some, and their ordering values in delete blocks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.table.keyed_rows import KeyedRows

Booleans = npt.NDArray[np.bool_]


def deleted_rows(rows: pa.RecordBatch | pa.Table, column: str | None) -> Booleans:
    """Which of *rows* are deletes by their own *column*, which they may not have."""
    if column is None or column not in rows.schema.names:
        return np.zeros(rows.num_rows, np.bool_)
    return np.asarray(pc.fill_null(rows[column], False))


def without_deletes(rows: KeyedRows, column: str | None) -> KeyedRows:
    """Those of *rows* that are no deletes."""
    deleted = deleted_rows(rows.rows, column)
    return rows.where(~deleted) if deleted.any() else rows


def ordering_of_deletes(rows: pa.RecordBatch, fields: Sequence[str]) -> pa.Array | None:
    """The ordering values of *rows* as a delete block takes them; None where they have none."""
    if not fields or not all(name in rows.schema.names for name in fields):
        return None
    return delete_ordering([rows[name] for name in fields], fields)


def delete_ordering(values: Sequence[pa.Array], fields: Sequence[str]) -> pa.Array:
    """The ordering values of deletes as a delete block takes them."""
    held = [_as_spark_holds(array) for array in values]
    return held[0] if len(held) == 1 else pa.StructArray.from_arrays(held, names=list(fields))


def _as_spark_holds(values: pa.Array) -> pa.Array:
    """Ordering values of deletes: moments and dates as the numbers that Spark's rows hold.

    Hudi on Spark cannot compare a java.sql.Timestamp or Date with those, and lets the delete win.  It writes longs.
    """
    if pa.types.is_timestamp(values.type):
        return values.cast(pa.int64())
    return values.cast(pa.int32()) if pa.types.is_date32(values.type) else values
