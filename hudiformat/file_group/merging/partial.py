"""Merge partial updates: each column of the merged row may come from another entry of its key.  Pure.

A record *sets* a column or leaves it as it was.  Of the records of a key since its last delete, a record whose ordering
value is not lower than those of all older records *overrides*: its values replace earlier ones.  Every other record
*fills in*: its values are used for columns that no record has set so far.

Source: PartialUpdateHandler, and in BufferedRecordMergerFactory CommitTimePartialRecordMerger,
EventTimePartialRecordMerger and PartialUpdateBufferedRecordMerger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from hudiformat.file_group.merging.candidates import Candidates
from hudiformat.file_group.merging.fold import Runs, sort_into_runs
from hudiformat.file_group.merging.rule import Booleans, Integers, MergeRule, PartialUpdate

IsSet = dict[str, Booleans]
"""By column, for each row whether it sets the column; a column that is missing here is set by every row."""


def set_values(
    records: pa.Table, written: Sequence[frozenset[str] | None], sizes: Sequence[int], rule: MergeRule
) -> IsSet:
    """Return which values *records* set, by column; an empty result means all values.

    *written* and *sizes* have an item per batch of *records*: the columns that its records contain (None: all), and its
    number of rows.
    """
    if rule.partial is None and not any(written):
        return {}
    return {
        name: np.repeat(np.array([columns is None or name in columns for columns in written], np.bool_), sizes)
        & (True if rule.partial is None else rule.partial.is_set(name, records[name]))
        for name in records.column_names
    }


def set_by(partial: PartialUpdate, rows: pa.Table) -> IsSet:
    """Return by column which of *rows*, which have all columns, set it."""
    return {name: partial.is_set(name, rows[name]) for name in rows.column_names}


def fold_columns(
    numbers: Integers, logs: Candidates, rows: Integers, deleted: Booleans, rule: MergeRule, *, by_event_time: bool
) -> tuple[Integers, tuple[pa.RecordBatch, ...], IsSet]:
    """Merge the log records of each key column by column.

    *rows* and *deleted* have an item per key: the row that wins as a whole, and whether the key is deleted.  Return
    each key's row in the merged records (-1 for deleted keys), the merged records, and which of their values are set.
    """
    records = pa.Table.from_batches(logs.records)
    is_set = set_values(records, logs.written, [len(batch) for batch in logs.records], rule)
    live = np.flatnonzero(~deleted)
    row = np.full(len(rows), -1, np.int64)
    row[live] = np.arange(len(live))
    chains = _chains(numbers, logs, by_event_time=by_event_time, as_payload=rule.deletes_win)
    newest = rule.partial.newest if rule.partial is not None else ()
    columns, merged_set = [], {}
    for field in records.schema:
        source = chains.sources(is_set[field.name], len(rows), newest=field.name in newest)[live]
        merged_set[field.name] = source >= 0
        taken = records[field.name].take(pa.array(np.where(source >= 0, source, rows[live])))
        columns.append(taken.combine_chunks() if taken.num_chunks != 1 else taken.chunk(0))
    return row, (pa.RecordBatch.from_arrays(columns, schema=records.schema),), merged_set


@dataclass(frozen=True, slots=True)
class _Chains:
    """The records since the last delete of each key: those that override, those that fill in, and all of them."""

    overriding: Runs
    filling: Runs
    every: Runs

    def sources(self, is_set: Booleans, count: int, *, newest: bool) -> Integers:
        """Return for each of *count* keys the record that a column's value comes from, or -1 if no record sets it.

        With *newest* that is the newest record that sets it.  Otherwise the newest overriding record has precedence
        over the oldest record that fills in.
        """
        source = np.full(count, -1, np.int64)
        if newest:
            parts = [_end_of_runs(self.every, is_set, newest=True)]
        else:
            parts = [
                _end_of_runs(self.filling, is_set, newest=False),
                _end_of_runs(self.overriding, is_set, newest=True),
            ]
        for keys, entries in parts:
            source[keys] = entries
        return source


def _chains(numbers: Integers, logs: Candidates, *, by_event_time: bool, as_payload: bool) -> _Chains:
    """Divide the records since the last delete of each key.

    The records 0 to 3 of one key, with the ordering values 5, 3, 4, 6; only records 1 and 2 set column a, all set b::

        entry   = [0, 1, 2, 3]   rank = [5, 3, 4, 6]
        dense   = [2, 0, 1, 3]   ranks without gaps
        height  = [2, 0, 1, 3]   of the key numbered 1: [6, 4, 5, 7]
        highest = [T, F, F, T]   not lower than all older records
        overriding: entry = [0, 3]   filling: entry = [1, 2]
        sources of a: [1]            of b: [3]
    """
    every = sort_into_runs(numbers, logs, by_event_time=by_event_time, deletes_win=as_payload)
    dense = np.unique(every.rank, return_inverse=True)[1].astype(np.int64)
    # Key numbers ascend, so the first record of each key is higher than all records of the keys before it.
    height = every.segment * (int(dense.max(initial=0)) + 1) + dense
    highest = np.maximum.accumulate(height) == height
    is_delete = logs.deleted[every.entry]
    since_delete = (every.index > every.last(highest & is_delete)[every.segment]) & ~is_delete
    # A lower record right after the delete is outdated by it: the records begin with the first one that overrides.
    since_override = since_delete & (every.index >= every.first(since_delete & highest)[every.segment])
    # Payload classes keep the values of a deleted row below those of the records that follow it.
    below = is_delete & (every.entry < logs.num_rows) & as_payload
    return _Chains(
        every.filter(since_override & highest | below),
        every.filter(since_override & ~highest),
        every.filter(since_override),
    )


def _end_of_runs(chain: Runs, is_set: Booleans, *, newest: bool) -> tuple[Integers, Integers]:
    """Return the keys of *chain* that have a row which sets the column, and the newest or the oldest such row of each.

    ::

        chain.entry = [0, 3, 4]   chain.segment = [0, 0, 1]   set are the entries 0, 3 and 4
        newest: edge = [0, 1, -2], indices = [1, 2]: keys [0, 1], entries [3, 4]
        oldest: edge = [1, 0, 1],  indices = [0, 2]: keys [0, 1], entries [0, 4]
    """
    flags = is_set[chain.entry]
    segment, entry = chain.segment[flags], chain.entry[flags]
    edge = np.diff(segment, append=-1) if newest else np.diff(segment, prepend=-1)
    indices = np.flatnonzero(edge)
    return segment[indices], entry[indices]


def combine_columns(
    base: pa.Table, base_set: IsSet, logs: pa.Table, logs_set: IsSet, logs_override: Booleans
) -> pa.RecordBatch:
    """Merge each row of *base* with the log row of the same index, column by column.

    *logs_override* has an item per row: True if the log row overrides the base row, False if it fills in.  One column
    of three rows, of which the last log row fills in::

        logs_override = [T, T, F]   from_base = [T, T, T]   from_logs = [T, F, T]     which rows set the column
        use_logs      = [T, F, F]
        taken from base rows 0 to 2 and log rows 3 to 5: [3, 1, 2]
    """
    columns = []
    count = len(logs_override)
    every = np.ones(count, np.bool_)
    for field in base.schema:
        from_base, from_logs = base_set.get(field.name, every), logs_set.get(field.name, every)
        use_logs = np.where(logs_override, from_logs, ~from_base & from_logs)
        both = pa.chunked_array([*base[field.name].chunks, *logs[field.name].chunks], field.type)
        taken = both.take(pa.array(np.where(use_logs, np.arange(count) + count, np.arange(count))))
        columns.append(taken.combine_chunks() if taken.num_chunks != 1 else taken.chunk(0))
    return pa.RecordBatch.from_arrays(columns, schema=base.schema)
