"""Rows of a write before they are assigned: rows flagged as deletes, and one row of several with one key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.index import Booleans, Integers, KeyedRows
from hudiformat.merge import KeyIndex, all_differ, comparable
from hudiformat.query import KeyParts, spill_folder

_PARTS_ON_DISK = 16
_ROWS = "rows"


def deleted_rows(rows: pa.RecordBatch | pa.Table, column: str | None) -> Booleans:
    """Which of *rows* are flagged as deletes in *column*, which they may lack."""
    if column is None or column not in rows.schema.names:
        return np.zeros(rows.num_rows, np.bool_)
    return np.asarray(pc.fill_null(rows[column], False))


def without_deletes(rows: KeyedRows, column: str | None) -> KeyedRows:
    """The *rows* that are not flagged as deletes in *column*."""
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


def combined_rows(rows: pa.Table, groups: Sequence[pa.Array], ordering_fields: Sequence[str]) -> Integers | None:
    """The indices of the rows to keep, in ascending order: one per key; None for all rows.

    *groups* are arrays that together are the key, the record key last, after the partition path if that is part of it.
    Of several rows with one key, the row with the highest ordering values is kept; of equals, the last.

    Source: HoodieWriteHelper.deduplicateRecords.
    """
    if all_differ(pa.chunked_array([groups[-1]])):
        return None
    # Three rows with the keys a, b, a and the ordering values 2, 1, 1:
    #   codes          0  1  0    a number for each key
    #   order          2  0  1    the rows by key, then ordering value, then index
    #   codes[order]   0  0  1
    #   last           1  2       where the next row in `order` has another key
    #   order[last]    0  1       the rows that are kept
    codes = np.zeros(rows.num_rows, dtype=np.int64)
    for group in groups:
        known = KeyIndex.of(pa.chunked_array([group]))
        codes = codes * len(known) + known.numbers()
    ranks = comparable(tuple(rows[name] for name in ordering_fields), rows.num_rows)
    order = np.lexsort((np.arange(rows.num_rows), ranks, codes))
    last = np.flatnonzero(np.diff(codes[order], append=-1))
    return None if len(last) == rows.num_rows else np.sort(order[last])


def combine(rows: pa.Table, groups: Sequence[pa.Array], ordering_fields: Sequence[str]) -> pa.Table:
    """*rows* with one row per key; arguments as for :func:`combined_rows`."""
    kept = combined_rows(rows, groups, ordering_fields)
    return rows if kept is None else rows.take(pa.array(kept))


def combine_parts(
    parts: Iterable[pa.RecordBatch], key: str, ordering_fields: tuple[str, ...], *, memory: int
) -> Iterator[pa.RecordBatch]:
    """As :func:`combine`, for rows that come in *parts*; *key* is the column that they are told apart by.

    More than *memory* bytes of them are put aside on disk, in parts by their keys, and combined one part at a time.
    """
    waiting, size, rest = [], 0, iter(parts)
    for rows in rest:
        waiting.append(rows)
        size += rows.nbytes
        if size > memory:
            yield from _combined_on_disk(chain(waiting, rest), key, ordering_fields)
            return
    if waiting:
        yield from _combined(pa.Table.from_batches(waiting), key, ordering_fields)


def _combined_on_disk(
    parts: Iterable[pa.RecordBatch], key: str, ordering_fields: tuple[str, ...]
) -> Iterator[pa.RecordBatch]:
    with spill_folder() as folder:
        aside = KeyParts(Path(folder), _PARTS_ON_DISK)
        try:
            for rows in parts:
                aside.add(_ROWS, rows, rows[key])
            for part in range(_PARTS_ON_DISK):
                yield from _combined(aside.read(_ROWS, part, rows.schema), key, ordering_fields)
        finally:
            aside.close()


def _combined(rows: pa.Table, key: str, ordering_fields: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    yield from combine(rows, [rows[key].combine_chunks()], ordering_fields).to_batches()
