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

_Runs = Sequence[tuple[int, int]]
"""The first row of each run, and its number of rows."""


def kept_rows(batch: pa.RecordBatch, flags: Booleans) -> Iterator[pa.RecordBatch]:
    """Yield the rows of *batch* for which *flags* is true; no batch if there are none.

    Long runs of rows are yielded without a copy, unless they would keep a batch alive of which they are the lesser
    part.  With runs of two rows as long ones::

        batch  = [a, b, c, d, e]
        flags  = [T, T, F, T, T]
        yields   [a, b] and [d, e]
    """
    kept = int(np.count_nonzero(flags))
    nearly_all = kept >= _NEARLY_ALL * batch.num_rows
    runs = _runs(flags) if nearly_all or _LONG <= kept >= batch.num_rows / 2 else ()
    if not kept:
        return
    if kept == batch.num_rows:
        yield batch
    elif runs and len(runs) * _LONG <= kept:
        yield from (batch.slice(start, length) for start, length in runs)
    elif nearly_all:
        yield _without_few(batch, flags, runs)
    else:
        yield batch.filter(_mask(flags))


def _runs(flags: Booleans) -> _Runs:
    """Return the runs of true flags.

    With the flags T, T, F, T::

        differences, F before and after   1, 0, -1, 1, -1
        where they are not 0              0, 2, 3, 4        runs begin at 0 and 3, and end before 2 and 4
    """
    edges = np.flatnonzero(np.diff(flags.view(np.int8), prepend=np.int8(0), append=np.int8(0)))
    return list(zip(edges[::2].tolist(), (edges[1::2] - edges[::2]).tolist(), strict=True))


def _mask(flags: Booleans) -> pa.Array:
    return pa.BooleanArray.from_buffers(pa.bool_(), len(flags), [None, bitmap(flags)])


def _without_few(batch: pa.RecordBatch, flags: Booleans, runs: _Runs) -> pa.RecordBatch:
    """Return the rows of *batch* for which *flags* is true, nearly all, which are *runs*.

    Arrow's filter of a batch takes rows by their numbers.  That of a flat column copies what lies between the rows that
    are left out, which costs a third to a half.  That of lists and structs takes value by value; to put their runs one
    after the other costs a fifth to a ninth where a row has twenty values, and as much where it has two.
    """
    mask = _mask(flags)
    columns = [
        pa.concat_arrays([column.slice(start, length) for start, length in runs])
        if pat.is_nested(column.type) and not pat.is_fixed_size_list(column.type)
        else column.filter(mask)
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)
