"""What the log files of a slice leave of each key, ready to meet the rows of the base file.  Pure.

The rows of a base file, batch by batch, and what log files leave of each key -> the rows of the slice.  Pure.

Hudi merges in two steps, and so does this: the log files among themselves, which leaves one entry per key, then that
entry over the base row.  The entry wins, under event time only when its ordering value is not lower.  A delete without
an ordering value always does.
Source: BufferedRecordMergerFactory, KeyBasedFileGroupRecordBuffer, PositionBasedFileGroupRecordBuffer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from hudiformat.basefile import BaseRows
from hudiformat.merge.candidates import Candidates
from hudiformat.merge.custom import fold_custom, merged
from hudiformat.merge.fold import key_numbers, last_entries
from hudiformat.merge.keys import KeyIndex
from hudiformat.merge.partial import combine, fold_columns, set_values
from hudiformat.merge.rule import Booleans, Integers, MergeRule, comparable
from hudiformat.timeline import MergeMode


@dataclass(frozen=True, slots=True)
class Survivors:
    """One row or delete per key.

    ``keys`` find record keys, or are positions of base rows, ascending.  ``row`` is a key's row in ``records``, or -1;
    that of a delete does not count.  ``ordering`` is that of ``Candidates``, where a key's values are at its ``entry``;
    ``resets`` is by key.  ``set`` says by column, where records may leave values as they were, which rows say what the
    value is; without an item all do.
    """

    keys: KeyIndex | Integers
    records: tuple[pa.RecordBatch, ...]
    row: Integers
    entry: Integers
    ordering: tuple[pa.ChunkedArray, ...]
    deleted: Booleans
    resets: Booleans
    set: Mapping[str, Booleans] | None = None

    def __len__(self) -> int:
        return len(self.row)


def survivors(logs: Candidates, rule: MergeRule) -> Survivors:
    """What is left of *logs* by *rule*."""
    numbers, keys = key_numbers(logs)
    by_event_time = rule.mode is MergeMode.EVENT_TIME_ORDERING and rule.merger is None
    if rule.merger is not None:
        row, deleted, records = fold_custom(numbers, logs, rule.merger)
        return Survivors(keys, records, row, row, (), deleted, deleted)
    entries = last_entries(numbers, len(keys), logs, by_event_time=by_event_time, deletes_win=rule.deletes_win)
    found = Survivors(
        keys=keys,
        records=logs.records,
        row=np.where(entries < logs.num_rows, entries, -1),
        ordering=logs.ordering if by_event_time else (),
        entry=entries,
        deleted=logs.deleted[entries],
        resets=(logs.deleted if rule.deletes_win else logs.resets)[entries],
    )
    if not logs.num_rows or (rule.partial is None and not any(logs.written)):
        return found
    row, records, is_set = fold_columns(numbers, logs, found.row, found.deleted, rule, by_event_time=by_event_time)
    return Survivors(keys, records, row, entries, found.ordering, found.deleted, found.resets, is_set)


def merge_slice(base: Iterable[BaseRows], logs: Survivors, rule: MergeRule) -> Iterator[pa.RecordBatch]:
    """The rows of a slice: those of *base* in file order, then those of the logs that were not met there.

    All columns of base rows have the schema of ``logs.records``; the first ones are those that *rule* looks at.  Rows
    of the file that are no key of the logs may be missing.  Of several base rows with one key only the first meets the
    log, as in Hudi, which takes a key off its map.
    """
    met = np.zeros(len(logs), np.bool_)
    lost = logs.deleted.copy()
    for part in base:
        rows, keys = _meeting(part, logs, rule)
        new = ~met[keys]
        keys, first = np.unique(keys[new], return_index=True)
        met[keys] = True
        yield from _met(part, _Meeting(part.head, rows[new][first], keys), logs, rule, lost)
    yield from _rows_of(logs, ~lost)


def _meeting(part: BaseRows, logs: Survivors, rule: MergeRule) -> tuple[Integers, Integers]:
    """The rows of *part* that the logs say something about, and of which key."""
    if not isinstance(logs.keys, np.ndarray):
        return logs.keys.find(rule.keys(pa.Table.from_batches([part.head])))
    first, last = np.searchsorted(logs.keys, [part.numbers[0], part.numbers[-1] + 1]) if len(part.numbers) else (0, 0)
    _, rows, keys = np.intersect1d(part.numbers, logs.keys[first:last], assume_unique=True, return_indices=True)
    return rows, keys + first


@dataclass(frozen=True, slots=True)
class _Meeting:
    """Rows of a base batch, and the keys of the logs that are theirs."""

    batch: pa.RecordBatch
    rows: Integers
    keys: Integers


def _met(part: BaseRows, found: _Meeting, logs: Survivors, rule: MergeRule, lost: Booleans) -> Iterator[pa.RecordBatch]:
    """What is left of base rows that met what the logs say of their keys; *lost* learns what is done with."""
    logs_first = logs.resets[found.keys] | _not_lower(found, logs, rule)
    combined = (rule.merger is not None or logs.set is not None) & ~logs.deleted[found.keys]
    kept = np.ones(found.batch.num_rows, np.bool_)
    kept[found.rows[logs_first | combined]] = False
    lost[found.keys[~logs_first | combined]] = True
    if not (kept.any() or combined.any()):
        return  # and the other columns are never read
    start = 0
    for batch in part.read():
        end = start + batch.num_rows
        yield from _chosen(batch, kept[start:end])
        some = combined & (found.rows >= start) & (found.rows < end)
        if some.any():
            meeting = _Meeting(batch, found.rows[some] - start, found.keys[some])
            yield from _combined(meeting, logs, rule, logs_first[some])
        start = end


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
