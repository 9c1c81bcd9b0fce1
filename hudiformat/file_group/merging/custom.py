"""Merge records by a merger that the user of the table supplies.  Pure, if the merger is."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from hudiformat.errors import DataError
from hudiformat.file_group.merging.candidates import Candidates
from hudiformat.file_group.merging.fold import sort_into_runs
from hudiformat.file_group.merging.rule import Booleans, Integers, RecordMerger


def call_merger(merger: RecordMerger, older: pa.Table, newer: pa.Table) -> pa.Table:
    """Return the merged rows of *merger*, one for each pair of rows.

    Raises:
        DataError: the merger returned other columns, or another number of rows.
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
    """Merge the log records of each key that are newer than its last delete.

    Return each key's row in the merged records (-1 for deleted keys), whether the key is deleted, and the merged
    records.  The merger is called with all second records, then with all third records, and so on.

    The keys a, b, c with the records a1, a2 and a3 of a, b1 and b2 of b, and a delete of c::

        deleted = [F, F, T]
        lengths = [3, 2]                    records of a and of b
        result  = [a1, b1]                  the first record of each
        turn 1: pending = [T, T]            both have a second record
                rows    = [2, 3]            where to take each row from [a1, b1, a1+a2, b1+b2]
                result  = [a1+a2, b1+b2]
        turn 2: pending = [T, F]            only a has a third record
                rows    = [2, 1]            where to take each row from [a1+a2, b1+b2, a1+a2+a3]
                result  = [a1+a2+a3, b1+b2]
        row     = [0, 1, -1]
    """
    every = sort_into_runs(numbers, logs, by_event_time=False)
    is_delete = logs.deleted[every.entry]
    last_delete = every.last(is_delete)
    deleted = last_delete == np.append(every.starts[1:], len(every.entry)) - 1
    live = every.index > last_delete[every.segment]
    chain = every.filter(live)
    records = pa.Table.from_batches(logs.records) if logs.records else None
    if records is None or not live.any():
        return np.full(len(deleted), -1, np.int64), deleted, ()
    lengths = np.diff(chain.starts, append=len(chain.entry))
    result = records.take(pa.array(chain.entry[chain.starts]))
    for turn in range(1, int(lengths.max())):
        pending = lengths > turn
        newer = records.take(pa.array(chain.entry[chain.starts[pending] + turn]))
        changed = call_merger(merger, result.filter(pa.array(pending)), newer)
        rows = np.arange(len(lengths))
        rows[pending] = len(lengths) + np.arange(len(newer))
        result = pa.concat_tables([result, changed]).take(pa.array(rows))
    row = np.full(len(deleted), -1, np.int64)
    row[~deleted] = np.arange(len(lengths))
    return row, deleted, tuple(result.combine_chunks().to_batches())
