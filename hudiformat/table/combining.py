"""One row per key: of several rows of a write that have one key, the one that counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

from hudiformat.merge import KeyIndex, all_differ
from hudiformat.merge.ordering import comparable
from hudiformat.table.key_parts import KeyParts
from hudiformat.table.merging import merge_mode
from hudiformat.table.options import WriteOptions
from hudiformat.table.plan import REPLACING, Operation
from hudiformat.timeline import MergeMode, TableConfig

_PARTS_ON_DISK = 16
_ROWS = "rows"


def combines(operation: Operation, options: WriteOptions) -> bool:
    """Whether a write keeps one row of several with one key."""
    if operation in (Operation.INSERT, Operation.BULK_INSERT, *REPLACING):
        return options.combine_before_insert
    return operation is Operation.DELETE or options.combine_before_upsert


def ordering_fields_of(config: TableConfig, operation: Operation) -> tuple[str, ...]:
    """The columns that say which row of several with one key is kept; without any, the last one is."""
    by_event_time = operation is not Operation.DELETE and merge_mode(config) is MergeMode.EVENT_TIME_ORDERING
    return config.ordering_fields if by_event_time else ()


def combine(rows: pa.Table, groups: list[pa.Array], ordering_fields: tuple[str, ...]) -> pa.Table:
    """*rows* with one row per key, the one with the highest ordering values; of equals the last.

    *groups* are arrays that together are the key, the record key last, after the partition path if that counts.

    Source: HoodieWriteHelper.deduplicateRecords.
    """
    if all_differ(pa.chunked_array(groups[-1:])):
        return rows
    codes = np.zeros(rows.num_rows, dtype=np.int64)
    for group in groups:
        known = KeyIndex.of(pa.chunked_array([group]))
        codes = codes * len(known) + known.numbers()
    ranks = comparable(tuple(rows[name] for name in ordering_fields), rows.num_rows)
    order = np.lexsort((np.arange(rows.num_rows), ranks, codes))
    last = np.flatnonzero(np.diff(codes[order], append=-1))
    return rows if len(last) == rows.num_rows else rows.take(pa.array(np.sort(order[last])))


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
    with TemporaryDirectory(prefix="hudiformat-") as folder:
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
