"""Combine the rows of a write that have the same key: in memory, or in a stream that may be larger than memory.

With a global index a key is a record key, otherwise a partition path and a record key.  Of several rows with one key,
the row with the highest ordering values is kept; if these are equal, the last row.  In a table with partial updates the
rows are merged column by column instead.

Source: HoodieWriteHelper.deduplicateRecords, Hudi 1.2.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa

from hudiformat.file_group.merging.combining import merge_rows
from hudiformat.file_group.merging.keys import KeyIndex, all_differ
from hudiformat.file_group.merging.rule import Combining, comparable_integers, ordering_values
from hudiformat.file_group.merging.spill import KeyParts
from hudiformat.storage.spill_folders import spill_folder
from hudiformat.write.commit.plan import WritePlan
from hudiformat.write.rows import Integers, KeyedRows

_PARTS_ON_DISK = 16
_ROWS = "rows"


def combine_keyed(plan: WritePlan, rows: KeyedRows) -> KeyedRows:
    """Return *rows* with one row per key, if the write combines duplicates; else return them as they are."""
    combined = combine_rows(rows.table, keys_of(plan, rows), plan.combining) if plan.combines else None
    if combined is None:
        return rows
    counting, table = combined
    chosen = pa.array(counting)
    return KeyedRows(table, rows.keys.take(chosen), rows.paths.take(chosen))


def keys_of(plan: WritePlan, rows: KeyedRows) -> list[pa.Array]:
    """Return the arrays that together identify the record of each row: with a global index, the record key alone."""
    return [rows.keys] if plan.options.is_global else [rows.paths, rows.keys]


def combine_rows(rows: pa.Table, groups: Sequence[pa.Array], how: Combining) -> tuple[Integers, pa.Table] | None:
    """Return one row per key, and for each the index in *rows* of the row that counts, ascending; None for all rows.

    *groups* are arrays that together are the key, the record key last, after the partition path if that is part of it.
    """
    if all_differ(pa.chunked_array([groups[-1]])):
        return None
    codes = np.zeros(rows.num_rows, dtype=np.int64)
    for group in groups:
        known = KeyIndex.of(pa.chunked_array([group]))
        codes = codes * len(known) + known.numbers()
    if how.rule is not None:
        return None if len(np.unique(codes)) == len(codes) else merge_rows(rows.combine_chunks(), codes, how.rule)
    # Three rows with the keys a, b, a and the ordering values 2, 1, 1:
    #   codes          0  1  0    a number for each key
    #   order          2  0  1    the rows by key, then ordering value, then index
    #   codes[order]   0  0  1
    #   last           1  2       where the next row in `order` has another key
    #   order[last]    0  1       the rows that are kept
    ranks = comparable_integers(tuple(ordering_values(rows, how.ordering_fields)), rows.num_rows)
    order = np.lexsort((np.arange(rows.num_rows), ranks, codes))
    last = np.flatnonzero(np.diff(codes[order], append=-1))
    if len(last) == rows.num_rows:
        return None
    kept = np.sort(order[last])
    return kept, rows.take(pa.array(kept))


def combine(rows: pa.Table, groups: Sequence[pa.Array], how: Combining) -> pa.Table:
    """Return *rows* with one row per key; arguments as for :func:`combine_rows`."""
    combined = combine_rows(rows, groups, how)
    return rows if combined is None else combined[1]


def combine_stream(
    parts: Iterable[pa.RecordBatch], key: str, how: Combining, *, memory: int
) -> Iterator[pa.RecordBatch]:
    """Combine rows that come in *parts*, as ``combine`` does for one table.

    Rows with the same value in the column *key* are combined, whichever part they are in.  If the rows have more than
    *memory* bytes, they are spilled to disk, divided by their keys, and combined one share at a time.
    """
    waiting, size, rest = [], 0, iter(parts)
    for rows in rest:
        waiting.append(rows)
        size += rows.nbytes
        if size > memory:
            yield from _combine_on_disk(chain(waiting, rest), key, how)
            return
    if waiting:
        yield from _combine_in_memory(pa.Table.from_batches(waiting), key, how)


def _combine_on_disk(parts: Iterable[pa.RecordBatch], key: str, how: Combining) -> Iterator[pa.RecordBatch]:
    with spill_folder() as folder:
        aside = KeyParts(Path(folder), _PARTS_ON_DISK)
        try:
            for rows in parts:
                aside.add(_ROWS, rows, rows[key])
            for part in range(_PARTS_ON_DISK):
                yield from _combine_in_memory(aside.read(_ROWS, part, rows.schema), key, how)
        finally:
            aside.close()


def _combine_in_memory(rows: pa.Table, key: str, how: Combining) -> Iterator[pa.RecordBatch]:
    yield from combine(rows, [rows[key].combine_chunks()], how).to_batches()
