"""Partial updates: every column of a row may come from another entry.  Pure.

Of the records with one key since the last delete, those whose ordering value is not lower than all before them
override; the others fill in what nobody has set yet.  Source: PartialUpdateHandler, and in BufferedRecordMergerFactory
CommitTimePartialRecordMerger, EventTimePartialRecordMerger and PartialUpdateBufferedRecordMerger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
    if rule.partial is None and not any(written):
        return {}
    return {
        name: np.repeat(np.array([columns is None or name in columns for columns in written], np.bool_), sizes)
        & (True if rule.partial is None else rule.partial.is_set(name, records[name]))
        for name in records.column_names
    }


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
    chains = _chains(numbers, logs, by_event_time=by_event_time, as_payload=rule.deletes_win)
    newest = rule.partial.newest if rule.partial is not None else ()
    columns, found = [], {}
    for field in table.schema:
        source = chains.sources(is_set[field.name], len(rows), newest=field.name in newest)[live]
        found[field.name] = source >= 0
        taken = table[field.name].take(pa.array(np.where(source >= 0, source, rows[live])))
        columns.append(taken.combine_chunks() if taken.num_chunks != 1 else taken.chunk(0))
    return row, (pa.RecordBatch.from_arrays(columns, schema=table.schema),), found


@dataclass(frozen=True, slots=True)
class _Chains:
    """The rows since the last delete of each key: those that override, those that fill in, and both."""

    overriding: Runs
    filling: Runs
    every: Runs

    def sources(self, is_set: Booleans, count: int, *, newest: bool) -> Integers:
        """Of each key the row that its value comes from, or -1; the *newest* one wherever it is asked for."""
        source = np.full(count, -1, np.int64)
        if newest:
            parts = [_only(self.every, is_set, newest=True)]
        else:
            parts = [_only(self.filling, is_set, newest=False), _only(self.overriding, is_set, newest=True)]
        for keys, entries in parts:
            source[keys] = entries
        return source


def _chains(numbers: Integers, logs: Candidates, *, by_event_time: bool, as_payload: bool) -> _Chains:
    every = runs(numbers, logs, by_event_time=by_event_time, deletes_win=as_payload)
    dense = np.unique(every.rank, return_inverse=True)[1].astype(np.int64)
    height = every.segment * (int(dense.max(initial=0)) + 1) + dense
    highest = np.maximum.accumulate(height) == height  # segments rise, so that each begins anew
    is_delete = logs.deleted[every.entry]
    since = (every.place > every.last(highest & is_delete)[every.segment]) & ~is_delete
    begun = since & (every.place >= every.first(since & highest)[every.segment])
    below = is_delete & (every.entry < logs.num_rows) & as_payload
    return _Chains(every.where(begun & highest | below), every.where(begun & ~highest), every.where(begun))


def _only(chain: Runs, is_set: Booleans, *, newest: bool) -> tuple[Integers, Integers]:
    """The keys, and of each the newest or the oldest row of *chain* that is set."""
    some = is_set[chain.entry]
    segment, entry = chain.segment[some], chain.entry[some]
    edge = np.diff(segment, append=-1) if newest else np.diff(segment, prepend=-1)
    places = np.flatnonzero(edge)
    return segment[places], entry[places]


def combine(base: pa.Table, base_set: IsSet, logs: pa.Table, logs_set: IsSet, logs_first: Booleans) -> pa.RecordBatch:
    """Rows of the base file and of the logs, with the same keys, value by value; *logs_first* says which overrides."""
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
