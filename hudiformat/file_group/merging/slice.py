"""Merge the base file of a file slice with its log files.  Pure.

Hudi merges in two steps, and so does this module.  :func:`merge_log_entries` merges the log files among themselves,
which leaves one entry per key.  :func:`merge_slice` then merges these entries with the rows of the base file.  An entry
wins over the base row; under event-time ordering only if its ordering value is not lower.  A delete without an ordering
value always wins.

Source: BufferedRecordMergerFactory, KeyBasedFileGroupRecordBuffer, PositionBasedFileGroupRecordBuffer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.types as pat

from hudiformat.codec.avro.arrays import bitmap
from hudiformat.file_group.base_file.filters import HIGHEST
from hudiformat.file_group.base_file.read import BaseRows
from hudiformat.file_group.merging.candidates import Candidates
from hudiformat.file_group.merging.custom import call_merger, fold_custom
from hudiformat.file_group.merging.fold import key_numbers, last_entries
from hudiformat.file_group.merging.keys import KeyIndex
from hudiformat.file_group.merging.partial import combine_columns, fold_columns, set_values
from hudiformat.file_group.merging.rule import Booleans, Integers, MergeRule, comparable_integers, ordering_values
from hudiformat.timeline.table_config import MergeMode

_NEARLY_ALL = 0.95
"""The share of the rows of a batch from which on the others are few."""

_LONG = 1024
"""The rows of a run, on average, from which on runs are yielded as they lie in the batch."""


@dataclass(frozen=True, slots=True)
class MergedLog:
    """The result of the first step of the merge: one row or one delete per key.

    The arrays have one item per key.

    - ``keys``: an index of record keys, or the ascending row numbers in the base file if entries have positions.
    - ``row``: the key's row in ``records``, or -1.  The row of a deleted key is not used.
    - ``ordering`` and ``entry``: the ordering values of all candidates, and the index of the key's entry among them.
    - ``deleted``: whether the key is deleted.
    - ``resets``: whether the key is deleted by a delete that wins over any base row.
    - ``set``: for partial updates, by column, which rows of ``records`` set the column.  A column that is missing here
      is set by every row.
    - ``integers``: what :meth:`MergedLog.ordering_integers` returns, if it is known.
    """

    keys: KeyIndex | Integers
    records: tuple[pa.RecordBatch, ...]
    row: Integers
    entry: Integers
    ordering: tuple[pa.ChunkedArray, ...]
    deleted: Booleans
    resets: Booleans
    set: Mapping[str, Booleans] | None = None
    integers: Integers | None = None

    def __len__(self) -> int:
        return len(self.row)

    @property
    def by_position(self) -> bool:
        """Whether the keys are row numbers in the base file."""
        return isinstance(self.keys, np.ndarray)

    def lowest_ordering(self, chosen: Booleans) -> int | None:
        """Return the lowest ordering value among the *chosen* keys whose entry needs one to win over a base row.

        It is HIGHEST if no entry needs one, and None where :meth:`ordering_integers` returns none.
        """
        if not self.ordering:
            return HIGHEST
        known = self.ordering_integers() if self.integers is None else self.integers
        return None if known is None else int(known[chosen & ~self.resets].min(initial=HIGHEST))

    def ordering_integers(self) -> Integers | None:
        """Return the ordering values of all entries as integers that compare as ``StoredFile.highest``.

        None if there are several values for each, or they are no integers.
        """
        if len(self.ordering) != 1 or not _is_counted(self.ordering[0].type):
            return None
        return comparable_integers((self.ordering[0].take(pa.array(self.entry)),), len(self))

    def select(self, names: Sequence[str]) -> MergedLog:
        """Return the same entries with only the columns *names*."""
        return replace(self, records=tuple(batch.select(list(names)) for batch in self.records))


@dataclass(frozen=True, slots=True)
class ReplacedRows:
    """What log files do to a base file: the rows at ``positions``, which ascend, are gone, and ``batches`` are new.

    Of a base file with the keys a, b and c, and a log with a newer row of b, a delete of c and a row of d that has the
    position of a: positions [0, 1, 2], and the rows b and d.
    """

    positions: Integers
    batches: tuple[pa.RecordBatch, ...]


def merge_log_entries(logs: Candidates, rule: MergeRule) -> MergedLog:
    """Merge the entries of log files among themselves, by *rule*."""
    numbers, keys = key_numbers(logs)
    if rule.merger is not None:
        row, deleted, records = fold_custom(numbers, logs, rule.merger)
        return MergedLog(keys, records, row, row, (), deleted, deleted)
    by_event_time = rule.mode is MergeMode.EVENT_TIME_ORDERING
    entries = last_entries(numbers, len(keys), logs, by_event_time=by_event_time, deletes_win=rule.deletes_win)
    row, deleted = np.where(entries < logs.num_rows, entries, -1), logs.deleted[entries]
    records, is_set = logs.records, None
    if logs.num_rows and (rule.partial is not None or any(logs.written)):
        row, records, is_set = fold_columns(numbers, logs, row, deleted, rule, by_event_time=by_event_time)
    return MergedLog(
        keys=keys,
        records=records,
        row=row,
        entry=entries,
        ordering=logs.ordering if by_event_time else (),
        deleted=deleted,
        resets=(logs.deleted if rule.deletes_win else logs.resets)[entries],
        set=is_set,
    )


def merge_slice(
    base: Iterable[BaseRows],
    logs: MergedLog,
    rule: MergeRule,
    *,
    chosen: Callable[[pa.RecordBatch], Booleans] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a slice: the rows of *base* in file order, then the log rows whose keys are not in *base*.

    All columns of base rows have the schema of ``logs.records``; the ``head`` of base rows has the columns that *rule*
    reads.  *base* may leave out rows whose keys are not in the logs.  If several base rows have the same key, only the
    first is merged with the log, as in Hudi, which removes a key from its map at the first match.  *chosen* says by the
    ``head`` which base rows to yield, of those that the logs leave as they are; None for all.

    A base file with the keys a, b, c and a log with a newer row of b, a delete of c and a row of d::

        rows    = [1, 2]         keys = [0, 1]      base rows 1 and 2 match the keys 0 (b) and 1 (c) of the log
        matched = [T, T, F]
        yields base row a; log row b, which replaces base row b; log row d
    """
    matched = np.zeros(len(logs), np.bool_)
    dropped = logs.deleted.copy()  # by key: the log row is not yielded
    for part in base:
        rows, keys = _matching_rows(part, logs, rule)
        if not logs.by_position:
            new = ~matched[keys]  # a key that an earlier base row has matched is not merged again
            keys, first = np.unique(keys[new], return_index=True)
            rows = rows[new][first]
            matched[keys] = True
        unchanged = np.ones(part.head.num_rows, np.bool_) if chosen is None else chosen(part.head)
        yield from _merge_base_rows(part, _Matches(part.head, rows, keys), logs, rule, dropped=dropped, kept=unchanged)
    yield from log_rows(logs, ~dropped)


def _is_counted(kind: pa.DataType) -> bool:
    """Return whether values of the type are the integers that the statistics of a file have for them."""
    return bool(pat.is_signed_integer(kind) or pat.is_timestamp(kind) or pat.is_date32(kind))


def _matching_rows(part: BaseRows, logs: MergedLog, rule: MergeRule) -> tuple[Integers, Integers]:
    """Return the rows of *part* whose keys are in the logs, and the number of each key.

    By position, with the rows 4, 5 and 6 of the base file in *part* and logs about the positions 1, 5, 6 and 9::

        first, last = 1, 3                    positions 5 and 6 lie within *part*
        rows = [1, 2]   keys + first = [1, 2]
    """
    if not isinstance(logs.keys, np.ndarray):
        return logs.keys.find(rule.keys(pa.Table.from_batches([part.head])))
    if not len(part.numbers):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    lowest, end = int(part.numbers[0]), int(part.numbers[-1]) + 1
    first, last = np.searchsorted(logs.keys, [lowest, end])
    if end - lowest == len(part.numbers):  # no rows were left out
        return logs.keys[first:last] - lowest, np.arange(first, last)
    _, rows, keys = np.intersect1d(part.numbers, logs.keys[first:last], assume_unique=True, return_indices=True)
    return rows, keys + first


@dataclass(frozen=True, slots=True)
class _Matches:
    """Rows of a base batch whose keys are in the logs, and the number of each key."""

    batch: pa.RecordBatch
    rows: Integers
    keys: Integers


def _merge_base_rows(
    part: BaseRows, matches: _Matches, logs: MergedLog, rule: MergeRule, *, dropped: Booleans, kept: Booleans
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of *part* that the logs do not replace, and the rows combined from a base row and a log row.

    *kept* are the rows to yield as they are; those that the logs replace are taken out of it.  Sets *dropped* for the
    keys whose log row is not yielded later: the base row won, or both were combined.
    """
    logs_win = logs.resets[matches.keys] | _not_lower(matches, logs, rule)
    combined = (rule.merger is not None or logs.set is not None) & ~logs.deleted[matches.keys]
    kept[matches.rows[logs_win | combined]] = False  # replaced by the log row, deleted, or yielded combined
    dropped[matches.keys[~logs_win | combined]] = True  # the base row won, or the log row is in the combined row
    if not (kept.any() or combined.any()):
        return  # part.read() is not called, so the columns behind the head are never decoded
    start = 0
    for batch in part.read():
        end = start + batch.num_rows
        yield from _kept_rows(batch, kept[start:end])
        inside = combined & (matches.rows >= start) & (matches.rows < end)
        if inside.any():
            part_of_matches = _Matches(batch, matches.rows[inside] - start, matches.keys[inside])
            yield from _combine_rows(part_of_matches, logs, rule, logs_win[inside])
        start = end


def _not_lower(matches: _Matches, logs: MergedLog, rule: MergeRule) -> Booleans:
    """Return for each match whether the ordering value of the log entry is at least that of the base row.

    Base rows come without ordering values where bounds have shown that it is (``LogsWin``).

    Both are compared in one column, first all log entries, then all base rows.  With the values 6, 4 and 5 in the log
    and 5, 5 and 5 in the base file::

        ranks = [6, 4, 5, 5, 5, 5]   ranks[:3] >= ranks[3:] = [T, F, T]
    """
    if not logs.ordering or any(matches.batch.schema.get_field_index(name) < 0 for name in rule.ordering_fields):
        return np.ones(len(matches.rows), np.bool_)
    columns = []
    entries = pa.array(logs.entry[matches.keys])
    base = matches.batch.select(list(rule.ordering_fields)).take(pa.array(matches.rows))
    for of_base, column in zip(ordering_values(base, rule.ordering_fields), logs.ordering, strict=True):
        sides = (column.take(entries).chunks, of_base.chunks)
        columns.append(pa.chunked_array([chunk for side in sides for chunk in side], column.type))
    count = len(matches.rows)
    ranks = comparable_integers(tuple(columns), 2 * count)
    not_lower: Booleans = ranks[:count] >= ranks[count:]
    return not_lower


def _combine_rows(
    matches: _Matches, logs: MergedLog, rule: MergeRule, logs_override: Booleans
) -> Iterator[pa.RecordBatch]:
    """Yield the rows that are combined from a base row and a log row, by the user's merger or column by column."""
    log_rows = logs.row[matches.keys]
    older = pa.Table.from_batches([matches.batch.take(pa.array(matches.rows))])
    newer = pa.Table.from_batches(logs.records).take(pa.array(log_rows))
    if rule.merger is not None:
        yield from call_merger(rule.merger, older, newer).to_batches()
        return
    older_set = set_values(older, [None], [older.num_rows], rule)
    older_set |= {name: np.zeros(len(log_rows), np.bool_) for name in (rule.partial.newest if rule.partial else ())}
    newer_set = {name: values[log_rows] for name, values in (logs.set or {}).items()}
    yield combine_columns(older, older_set, newer, newer_set, logs_override)


def log_rows(logs: MergedLog, keys: Booleans) -> Iterator[pa.RecordBatch]:
    """Yield the log rows of the keys for which *keys* is true, in log order."""
    wanted = np.zeros(sum(batch.num_rows for batch in logs.records), np.bool_)
    wanted[logs.row[keys]] = True
    start = 0
    for batch in logs.records:
        yield from _kept_rows(batch, wanted[start : start + batch.num_rows])
        start += batch.num_rows


def _kept_rows(batch: pa.RecordBatch, flags: Booleans) -> Iterator[pa.RecordBatch]:
    """Yield the rows of *batch* for which *flags* is true; no batch if there are none.

    Long runs of rows are yielded without a copy, unless they would keep a batch alive of which they are the lesser
    part.  With runs of two rows as long ones::

        batch  = [a, b, c, d, e]
        flags  = [T, T, F, T, T]
        yields   [a, b] and [d, e]
    """
    kept = int(np.count_nonzero(flags))
    if not kept:
        return
    if kept == batch.num_rows:
        yield batch
    elif kept * 2 >= batch.num_rows and _number_of_runs(flags) * _LONG <= kept:
        yield from (batch.slice(start, length) for start, length in _runs(flags))
    elif kept >= _NEARLY_ALL * batch.num_rows:
        yield _without_few(batch, flags)
    else:
        yield batch.filter(_mask(flags))


def _number_of_runs(flags: Booleans) -> int:
    """Return how many runs of true flags there are, in a fraction of the time that it takes to find them."""
    return int(np.count_nonzero(flags[1:] > flags[:-1]) + flags[0])


def _runs(flags: Booleans) -> Sequence[tuple[int, int]]:
    """Return the first row of each run of true flags, and its number of rows.

    With the flags T, T, F, T::

        changes      1 (T to F), 2 (F to T)
        begin, end   0 and 3;    2 and 4
    """
    changes = (np.flatnonzero(flags[1:] != flags[:-1]) + 1).tolist()
    edges = [*([0] if flags[0] else []), *changes, *([len(flags)] if flags[-1] else [])]
    return [(start, end - start) for start, end in zip(edges[::2], edges[1::2], strict=True)]


def _mask(flags: Booleans) -> pa.Array:
    return pa.BooleanArray.from_buffers(pa.bool_(), len(flags), [None, bitmap(flags)])


def _without_few(batch: pa.RecordBatch, flags: Booleans) -> pa.RecordBatch:
    """Return the rows of *batch* for which *flags* is true, nearly all.

    Arrow's filter of a batch takes rows by their numbers.  That of a flat column copies what lies between the rows that
    are left out, which costs a third to a half.  That of lists and structs takes value by value; to put their runs one
    after the other costs a fifth to a ninth where a row has twenty values, and as much where it has two.
    """
    by_runs = [pat.is_nested(kind) and not pat.is_fixed_size_list(kind) for kind in batch.schema.types]
    mask, runs = _mask(flags), _runs(flags) if any(by_runs) else ()
    columns = [
        pa.concat_arrays([column.slice(start, length) for start, length in runs]) if flag else column.filter(mask)
        for column, flag in zip(batch.columns, by_runs, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)
