"""Merge the rows of a write that have the same key, column by column, into one row of each key.  Pure.

Source: BaseWriteHelper.reduceRecords, Hudi 1.2.0.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from hudiformat.file_group.merging.candidates import make_candidates
from hudiformat.file_group.merging.partial import combine_columns, set_by
from hudiformat.file_group.merging.rule import Booleans, Integers, MergeRule, comparable_integers, ordering_values
from hudiformat.file_group.merging.slice import merge_log_entries


def merge_rows(rows: pa.Table, codes: Integers, rule: MergeRule) -> tuple[Integers, pa.Table]:
    """Merge the rows with the same code; a key that is deleted in the end keeps the row that deletes it.

    Return the merged rows, and for each the index in *rows* of the row whose ordering values count, ascending.

    Payload classes combine a delete with other rows in a way of their own: see :func:`_combine_in_turns`.
    """
    deleted = rule.deletes(rows)
    in_turns = np.isin(codes, codes[deleted]) if rule.deletes_win else np.zeros(len(codes), np.bool_)
    parts = [
        merge(rows.take(pa.array(chosen)), codes[chosen], rule, chosen)
        for merge, chosen in (
            (_merge_as_entries, np.flatnonzero(~in_turns)),
            (_combine_in_turns, np.flatnonzero(in_turns)),
        )
        if len(chosen)
    ]
    counting = np.concatenate([indices for indices, _ in parts])
    order = np.argsort(counting)
    return counting[order], pa.concat_tables([table for _, table in parts]).take(pa.array(order))


def _merge_as_entries(rows: pa.Table, codes: Integers, rule: MergeRule, indices: Integers) -> tuple[Integers, pa.Table]:
    """Merge rows as the entries of log files; *indices* are theirs in the rows of the write."""
    batches = rows.combine_chunks().to_batches()
    entries = make_candidates(
        batches, [], np.arange(len(codes)), rule, rows.schema, written=[None] * len(batches), positions=codes
    )
    merged = merge_log_entries(entries, rule)
    counting = merged.entry
    if rule.merger is not None:  # whatever it merges, the last row counts
        order = np.argsort(codes, kind="stable")
        counting = order[np.flatnonzero(np.diff(codes[order], append=-1))]
    both = pa.concat_tables([rows, pa.Table.from_batches(merged.records, rows.schema)])
    taken = np.where(merged.row >= 0, merged.row + len(codes), counting)
    return indices[counting], both.take(pa.array(taken))


def _combine_in_turns(rows: pa.Table, codes: Integers, rule: MergeRule, indices: Integers) -> tuple[Integers, pa.Table]:
    """Combine all second rows with the first ones, then all third rows, and so on, as a payload class does.

    The row with the higher ordering value is filled by the other one.  If it is a delete, the newer row counts,
    whichever of the two it is.

    Source: PartialUpdateAvroPayload.preCombine, Hudi 1.2.0.
    """
    partial = rule.partial
    assert partial is not None  # noqa: S101 - the rule of a payload class has it
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    lengths = np.diff(starts, append=len(codes))
    ranks = comparable_integers(tuple(ordering_values(rows, rule.ordering_fields)), len(codes))
    counts = order[starts]
    result = rows.take(pa.array(counts))
    for turn in range(1, int(lengths.max())):
        pending = np.flatnonzero(lengths > turn)
        new = order[starts[pending] + turn]
        older, newer = result.take(pa.array(pending)), rows.take(pa.array(new))
        is_above = ranks[new] >= ranks[counts[pending]]
        is_gone: Booleans = np.where(is_above, rule.deletes(newer), rule.deletes(older))
        filled = combine_columns(older, set_by(partial, older), newer, set_by(partial, newer), is_above)
        each = pa.concat_tables([result, pa.Table.from_batches([filled]), newer])
        taken = np.arange(len(lengths))
        taken[pending] = len(lengths) + np.arange(len(pending)) + np.where(is_gone, len(pending), 0)
        result = each.take(pa.array(taken))
        counts[pending] = np.where(is_above | is_gone, new, counts[pending])
    return indices[counts], result
