"""The rows of a batch that a merge keeps, taken in the cheapest of Arrow's ways.  Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.types as pat

from hudiformat.codec.avro.arrays import bitmap
from hudiformat.file_group.merging.rule import Booleans

_NEARLY_ALL = 0.95
"""The share of the rows of a batch from which on the others are few."""

_LONG = 1024
"""The rows of a run, on average, from which on runs are yielded as they lie in the batch."""


def kept_rows(batch: pa.RecordBatch, flags: Booleans) -> Iterator[pa.RecordBatch]:
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
