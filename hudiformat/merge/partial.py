"""Partial updates: every column of a row may come from another entry.  Pure.

Of the records with one key since the last delete, those whose ordering value is not lower than all before them
override; the others fill in what nobody has set yet.  Source: BufferedRecordMergerFactory (CommitTimePartialRecordMerger,
EventTimePartialRecordMerger, PartialUpdateBufferedRecordMerger), PartialUpdateHandler.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from hudiformat.merge.candidates import Candidates
from hudiformat.merge.fold import Runs, runs
from hudiformat.merge.rule import Booleans, Integers, MergeRule

IsSet = dict[str, Booleans]


def set_values(
    records: pa.Table, written: Sequence[frozenset[str] | None], sizes: Sequence[int], rule: MergeRule
) -> IsSet:
    """By column, which rows say what its value is; *written* and *sizes* are those of the batches of *records*."""
    if any(written):  # the records tell by themselves what they hold
        return {
            name: np.repeat(np.array([columns is None or name in columns for columns in written]), sizes)
            for name in records.column_names
        }
    if rule.partial is None:
        return {}
    return {name: rule.partial.is_set(name, records[name]) for name in records.column_names}


def fold_columns(
    numbers: Integers, logs: Candidates, rows: Integers, deleted: Booleans, rule: MergeRule, *, by_event_time: bool
) -> tuple[Integers, tuple[pa.RecordBatch, ...], IsSet]:
    """What is left of each key, column by column: its row, the rows, and which values were set.

    *rows* and *deleted* say of each key which row it would be if rows were left or replaced as a whole.
    """
    table = pa.Table.from_batches(logs.records)
    is_set = set_values(table, logs.written, [len(batch) for batch in logs.records], rule)
    live = np.flatnonzero(~deleted)
    row = np.full(len(rows), -1, np.int64)
    row[live] = np.arange(len(live))
    overriding, filling = _chains(numbers, logs, by_event_time=by_event_time)
    columns, found = [], {}
    for field in table.schema:
        source = _sources(is_set[field.name], overriding, filling, len(rows))[live]
        found[field.name] = source >= 0
        taken = table[field.name].take(pa.array(np.where(source >= 0, source, rows[live])))
        columns.append(taken.combine_chunks() if taken.num_chunks != 1 else taken.chunk(0))
    return row, (pa.RecordBatch.from_arrays(columns, schema=table.schema),), found


def _chains(numbers: Integers, logs: Candidates, *, by_event_time: bool) -> tuple[Runs, Runs]:
    """The rows since the last delete of each key: those that override, and those that fill in."""
    every = runs(numbers, logs, by_event_time=by_event_time)
    dense = np.unique(every.rank, return_inverse=True)[1].astype(np.int64)
    height = every.segment * (int(dense.max(initial=0)) + 1) + dense
    highest = np.maximum.accumulate(height) == height  # segments rise, so that each begins anew
    is_delete = logs.deleted[every.entry]
    since = (every.place > every.last(highest & is_delete)[every.segment]) & ~is_delete
    begun = every.place >= every.first(since & highest)[every.segment]
    return every.where(since & highest), every.where(since & begun & ~highest)


def _sources(is_set: Booleans, overriding: Runs, filling: Runs, count: int) -> Integers:
    """Of each key the row that its value comes from, or -1."""
    source = np.full(count, -1, np.int64)
    for chain in (_only(filling, is_set, newest=False), _only(overriding, is_set, newest=True)):
        source[chain[0]] = chain[1]
    return source


def _only(chain: Runs, is_set: Booleans, *, newest: bool) -> tuple[Integers, Integers]:
    """The keys, and of each the newest or the oldest row of *chain* that is set."""
    some = is_set[chain.entry]
    segment, entry = chain.segment[some], chain.entry[some]
    edge = np.diff(segment, append=-1) if newest else np.diff(segment, prepend=-1)
    places = np.flatnonzero(edge)
    return segment[places], entry[places]


def combine(base: pa.Table, base_set: IsSet, logs: pa.Table, logs_set: IsSet, logs_first: Booleans) -> pa.RecordBatch:
    """Rows of the base file and of the logs, of the same keys, value by value; *logs_first* says which one overrides."""
    columns = []
    count = len(logs_first)
    every = np.ones(count, np.bool_)
    for field in base.schema:
        from_base, from_logs = base_set.get(field.name, every), logs_set.get(field.name, every)
        wanted = np.where(logs_first, from_logs, ~from_base & from_logs)
        both = pa.chunked_array([*base[field.name].chunks, *logs[field.name].chunks], field.type)
        taken = both.take(pa.array(np.where(wanted, np.arange(count) + count, np.arange(count))))
        columns.append(taken.combine_chunks() if taken.num_chunks != 1 else taken.chunk(0))
    return pa.RecordBatch.from_arrays(columns, schema=base.schema)
