"""The rows of a base file, batch by batch, and what log files leave of each key -> the rows of the slice.  Pure.

Hudi merges in two steps, and so does this: the log files among themselves, which leaves one entry per key, then that
entry over the base row.  The entry wins, under event time only when its ordering value is not lower.  A delete without
an ordering value always does.
Source: BufferedRecordMergerFactory, KeyBasedFileGroupRecordBuffer, PositionBasedFileGroupRecordBuffer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from hudiformat.merge.custom import merged
from hudiformat.merge.ordering import comparable
from hudiformat.merge.partial import combine, set_values
from hudiformat.merge.rule import Booleans, Integers, MergeRule
from hudiformat.merge.survivors import Survivors

ROW = "hudiformat.row"
"""A column of base rows: their numbers in the file, in ascending order."""


def merge_slice(base: Iterable[pa.RecordBatch], logs: Survivors, rule: MergeRule) -> Iterator[pa.RecordBatch]:
    """The rows of a slice: those of *base* in file order, then those of the logs that were not met there.

    Batches of *base* have the schema of ``logs.records``, and a column ROW where rows are left out, which may be those
    whose keys are not in the logs.  Of several base rows with one key only the first meets the log, as in Hudi, which
    takes a key off its map.
    """
    met = np.zeros(len(logs), np.bool_)
    lost = logs.deleted.copy()
    start = 0
    for batch in base:
        rows, keys = _meeting(batch, start, logs, rule)
        batch = batch.drop_columns([ROW]) if ROW in batch.schema.names else batch  # noqa: PLW2901
        new = ~met[keys]
        keys, first = np.unique(keys[new], return_index=True)
        rows = rows[new][first]
        met[keys] = True
        start += batch.num_rows
        yield from _met(_Meeting(batch, rows, keys), logs, rule, lost)
    yield from _rows_of(logs, ~lost)


def _meeting(batch: pa.RecordBatch, start: int, logs: Survivors, rule: MergeRule) -> tuple[Integers, Integers]:
    """The rows of *batch* that the logs say something about, and of which key; it begins at row *start* of the file."""
    if not isinstance(logs.keys, np.ndarray):
        return logs.keys.find(rule.keys(pa.Table.from_batches([batch])))
    if ROW not in batch.schema.names:
        first, last = np.searchsorted(logs.keys, [start, start + batch.num_rows])
        return logs.keys[first:last] - start, np.arange(first, last)
    _, rows, keys = np.intersect1d(np.asarray(batch[ROW]), logs.keys, assume_unique=True, return_indices=True)
    return rows, keys


@dataclass(frozen=True, slots=True)
class _Meeting:
    """Rows of a base batch, and the keys of the logs that are theirs."""

    batch: pa.RecordBatch
    rows: Integers
    keys: Integers

    def where(self, flags: Booleans) -> _Meeting:
        return _Meeting(self.batch, self.rows[flags], self.keys[flags])


def _met(found: _Meeting, logs: Survivors, rule: MergeRule, lost: Booleans) -> Iterator[pa.RecordBatch]:
    """The batch after its rows have met what the logs say of their keys; *lost* learns what is done with."""
    logs_first = logs.resets[found.keys] | _not_lower(found, logs, rule)
    combined = (rule.merger is not None or logs.set is not None) & ~logs.deleted[found.keys]
    kept = np.ones(found.batch.num_rows, np.bool_)
    kept[found.rows[logs_first | combined]] = False
    lost[found.keys[~logs_first | combined]] = True
    yield from _chosen(found.batch, kept)
    if combined.any():
        yield from _combined(found.where(combined), logs, rule, logs_first[combined])


def _combined(found: _Meeting, logs: Survivors, rule: MergeRule, logs_first: Booleans) -> Iterator[pa.RecordBatch]:
    """Rows that are made of both sides."""
    log_rows = logs.row[found.keys]
    older = pa.Table.from_batches([found.batch.take(pa.array(found.rows))])
    newer = pa.Table.from_batches(logs.records).take(pa.array(log_rows))
    if rule.merger is not None:
        yield from merged(rule.merger, older, newer).to_batches()
        return
    older_set = set_values(older, [None], [older.num_rows], rule)
    older_set |= {name: np.zeros(len(log_rows), np.bool_) for name in (rule.partial.newest if rule.partial else ())}
    newer_set = {name: values[log_rows] for name, values in (logs.set or {}).items()}
    yield combine(older, older_set, newer, newer_set, logs_first)


def _not_lower(found: _Meeting, logs: Survivors, rule: MergeRule) -> Booleans:
    """Which of the log's entries have ordering values that are not lower than those of the base rows they meet."""
    if not logs.ordering:
        return np.ones(len(found.rows), np.bool_)
    columns = []
    entries = pa.array(logs.entry[found.keys])
    for name, column in zip(rule.ordering_fields, logs.ordering, strict=True):
        sides = (column.take(entries).chunks, [found.batch[name].take(pa.array(found.rows))])
        columns.append(pa.chunked_array([chunk for side in sides for chunk in side], column.type))
    count = len(found.rows)
    ranks = comparable(tuple(columns), 2 * count)
    not_lower: Booleans = ranks[:count] >= ranks[count:]
    return not_lower


def _rows_of(logs: Survivors, keys: Booleans) -> Iterator[pa.RecordBatch]:
    """The rows of some *keys*, in the order of the log."""
    wanted = np.zeros(sum(batch.num_rows for batch in logs.records), np.bool_)
    wanted[logs.row[keys]] = True
    start = 0
    for batch in logs.records:
        yield from _chosen(batch, wanted[start : start + batch.num_rows])
        start += batch.num_rows


def _chosen(batch: pa.RecordBatch, rows: Booleans) -> Iterator[pa.RecordBatch]:
    if rows.all() and batch.num_rows:
        yield batch
    elif rows.any():
        yield batch.filter(pa.array(rows))
