"""Pack rows for the shuffle to the task that writes their file group, so that Spark moves few large values.

A value holds rows of one file group as an Arrow stream.  Without this, Spark would convert every row to its own format,
sort it, and convert it back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from hudiformat.spark.write.batches import concat_batches
from hudiformat.spark.write.lookup.tagging import GROUP, PATH
from hudiformat.write.rows import group_by_code, take_rows

_ROWS = "_hudiformat_rows"
PACKED = f"{PATH} string, {GROUP} string, {_ROWS} binary"
"""The Spark schema of packed rows."""


@dataclass(frozen=True, slots=True)
class PackLimits:
    """Sizes in bytes: of the values of file groups, and of the rows that are packed at once.

    Every value is a stream with its own schema, so small values cost much.  Java allocates values above half a megabyte
    as humongous objects, which fill its heap before they are collected.
    """

    smallest_value: int = 64 * 1024
    largest_value: int = 256 * 1024
    at_once: int = 16 * 1024 * 1024


PACK_LIMITS = PackLimits()


def pack(batches: Iterable[pa.RecordBatch], *, limits: PackLimits = PACK_LIMITS) -> Iterator[pa.RecordBatch]:
    """Pack *batches*, which have PATH and GROUP, as rows of PACKED; batches are joined if file groups are many."""
    waiting: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        waiting.append(batch)
        size += batch.nbytes
        if size >= min(limits.smallest_value * pc.count_distinct(batch[GROUP]).as_py(), limits.at_once):
            yield from (_pack_batch(rows, limits.largest_value) for rows in concat_batches(waiting))
            waiting, size = [], 0
    yield from (_pack_batch(rows, limits.largest_value) for rows in concat_batches(waiting))


def _pack_batch(rows: pa.RecordBatch, largest: int) -> pa.RecordBatch:
    """Pack *rows* into one value per file group, or several of about *largest* bytes.

    A pair of a path and a group gets one code, so that rows are grouped by a single number.  For three rows::

        path index   0, 0, 1     of the paths p, q
        group index  0, 1, 1     of the groups a, b
        code         0, 1, 3     path index * 2 groups + group index
        numbers      0, 1, 3     one value per code, as the values are small
        ends         0, 400, 800, 1200    offsets of the streams in the buffer of all values
    """
    paths, groups = (rows[name].dictionary_encode() for name in (PATH, GROUP))
    codes = np.asarray(paths.indices).astype(np.int64) * len(groups.dictionary) + np.asarray(groups.indices)
    rows = rows.drop_columns([PATH, GROUP])
    numbers, ends, sink = [], [0], pa.BufferOutputStream()
    most = max(len(rows) * largest // max(rows.nbytes, 1), 1)
    for code, chosen in group_by_code(codes):
        for start in range(0, len(chosen), most):
            with pa.ipc.new_stream(sink, rows.schema) as writer:
                writer.write_batch(take_rows(rows, chosen[start : start + most]))
            numbers.append(code)
            ends.append(sink.tell())
    values = [None, pa.py_buffer(np.array(ends, np.int32)), sink.getvalue()]
    of_path, of_group = np.divmod(np.array(numbers, np.int64), max(len(groups.dictionary), 1))
    return pa.RecordBatch.from_arrays(
        [
            paths.dictionary.take(pa.array(of_path)),
            groups.dictionary.take(pa.array(of_group)),
            pa.Array.from_buffers(pa.binary(), len(numbers), values),
        ],
        names=[PATH, GROUP, _ROWS],
    )


def shuffle(values: DataFrame) -> DataFrame:
    """Send packed rows to the tasks that write them, sorted by partition path and file group."""
    return values.repartition(PATH, GROUP).sortWithinPartitions(PATH, GROUP)


def unpack(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, str, Iterator[pa.RecordBatch]]]:
    """Yield each partition path and file group with its rows, from packed values that are sorted by both."""
    values = (value for batch in batches for value in zip(*batch.columns, strict=True))
    for (path, group), found in groupby(values, key=lambda value: (value[0].as_py(), value[1].as_py())):
        yield path, group, _rows(map(itemgetter(2), found))


def _rows(values: Iterable[pa.BinaryScalar]) -> Iterator[pa.RecordBatch]:
    for value in values:
        yield from pa.ipc.open_stream(value.as_buffer())
