"""Merging as a user's own merger says.  Pure but for what the merger does."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from hudiformat.errors import DataError
from hudiformat.merge.candidates import Candidates
from hudiformat.merge.fold import runs
from hudiformat.merge.rule import Booleans, Integers, RecordMerger


def merged(merger: RecordMerger, older: pa.Table, newer: pa.Table) -> pa.Table:
    """What *merger* makes of each pair of rows.

    Raises:
        DataError: it gives other columns, or another number of rows.
    """
    result = merger.merge(older, newer)
    if result.schema.names != newer.schema.names or result.num_rows != newer.num_rows:
        raise DataError(
            f"the merger {type(merger).__name__} was given {newer.num_rows} rows of {', '.join(newer.schema.names)} "
            f"and gave {result.num_rows} rows of {', '.join(result.schema.names)}"
        )
    return result.cast(newer.schema)


def fold_custom(
    numbers: Integers, logs: Candidates, merger: RecordMerger
) -> tuple[Integers, Booleans, tuple[pa.RecordBatch, ...]]:
    """Of each key the row that is left and whether it is a delete; and the rows."""
    every = runs(numbers, logs, by_event_time=False)
    is_delete = logs.deleted[every.entry]
    last_delete = every.last(is_delete)
    deleted = last_delete == np.append(every.starts[1:], len(every.entry)) - 1
    live = every.place > last_delete[every.segment]
    chain = every.where(live)
    rows = pa.Table.from_batches(logs.records) if logs.records else None
    if rows is None or not live.any():
        return np.full(len(deleted), -1, np.int64), deleted, ()
    lengths = np.diff(chain.starts, append=len(chain.entry))
    state = rows.take(pa.array(chain.entry[chain.starts]))
    for turn in range(1, int(lengths.max())):
        some = lengths > turn
        newer = rows.take(pa.array(chain.entry[chain.starts[some] + turn]))
        changed = merged(merger, state.filter(pa.array(some)), newer)
        places = np.arange(len(lengths))
        places[some] = len(lengths) + np.arange(len(newer))
        state = pa.concat_tables([state, changed]).take(pa.array(places))
    row = np.full(len(deleted), -1, np.int64)
    row[~deleted] = np.arange(len(lengths))
    return row, deleted, tuple(state.combine_chunks().to_batches())
