"""Collect the keys of a data frame with few rows, to send them to the tasks that look them up in file slices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame

from hudiformat.spark.write.lookup.tagging import KEY, PATH
from hudiformat.spark.write.workers import in_task
from hudiformat.write.rows import group_by_value

MAX_KEYS = 100_000
"""The largest number of keys that are sent to tasks."""

_COLUMN = "keys"


def few_keys(rows: DataFrame) -> Mapping[str, pa.Array] | None:
    """Return the record keys of the tagged *rows* by partition path; None if there are more than ``MAX_KEYS``."""
    messages = rows.select(PATH, KEY).mapInArrow(in_task(pack_keys), f"{_COLUMN} binary").collect()
    parts = [pa.ipc.open_stream(bytes(message[0])).read_all() for message in messages]
    if not parts:
        return {}
    table = pa.concat_tables(parts)
    if len(table) > MAX_KEYS:
        return None
    keys = table[KEY].combine_chunks()
    return {path: keys.take(pa.array(at)).unique() for path, at in group_by_value(table[PATH].combine_chunks())}


def pack_keys(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the tags of a task's rows as one Arrow stream, which ends once it has more than ``MAX_KEYS`` rows."""
    found: list[pa.RecordBatch] = []
    for batch in batches:
        found.append(batch)
        if sum(map(len, found)) > MAX_KEYS:
            break
    yield from as_message(found, _COLUMN)


def as_message(found: Sequence[pa.RecordBatch], column: str) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a task as one Arrow stream, in one row with a *column* of bytes; nothing without batches."""
    if found:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, found[0].schema) as stream:
            for batch in found:
                stream.write_batch(batch)
        yield pa.RecordBatch.from_arrays([pa.array([sink.getvalue().to_pybytes()], pa.binary())], names=[column])
