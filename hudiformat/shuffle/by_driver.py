"""Few rows that belong to few files: the driver takes them as Arrow and writes them in its own process.

Each job of Spark takes some tenths of a second, whatever it does, and a write by tasks takes several.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import DataFrame

from hudiformat.options import DuplicatePolicy, Operation, WriteOptions
from hudiformat.shuffle.describing import phase
from hudiformat.shuffle.few_keys import as_message
from hudiformat.shuffle.slices import slices_of
from hudiformat.shuffle.tasks import opens_groups
from hudiformat.storage import open_storage
from hudiformat.table import TableSchema
from hudiformat.timeline import TableType, WriteStat
from hudiformat.transaction import WritePlan
from hudiformat.view import list_partitions
from hudiformat.write import PreparedRows, write_prepared

_PART, _COLUMN = "part", "rows"
_MESSAGES = pa.schema({_PART: pa.int32(), _COLUMN: pa.binary()})
_PACKED = 8
"""How much larger rows may be than the files that Spark's statistics know."""


def seems_small(df: DataFrame, plan: WritePlan) -> bool:
    """Whether Spark's statistics say that *df* has few bytes: it may be asked for all its rows at once."""
    execution = getattr(getattr(df, "_jdf", None), "queryExecution", None)  # with Spark Connect nobody says
    if execution is None or plan.options.driver_rows <= 0:
        return False
    size = int(str(execution().optimizedPlan().stats().sizeInBytes()))
    return size <= plan.options.driver_bytes // _PACKED


def written_by_driver(
    df: DataFrame, plan: WritePlan, schema: TableSchema, *, count: int | None = None, data: pa.Table | None = None
) -> list[WriteStat] | None:
    """Write the rows of *df* in this process; None where they are for tasks.

    They are for tasks where they are more than ``hudiformat.spark.driver.rows``, or where they and the files that are
    read and rewritten for them have more bytes than ``hudiformat.spark.driver.bytes``; and where there are none.
    *count* is their number, and *data* they themselves, where the driver knows.

    Raises:
        DataError: a record key is null, or exists where it must not.
    """
    most = plan.options.driver_rows
    if most <= 0 or (count is not None and not 0 < count <= most):
        return None
    found = few_rows(df, plan, schema, data)
    return None if found is None else write_prepared(plan, found)


def few_rows(df: DataFrame, plan: WritePlan, schema: TableSchema, data: pa.Table | None) -> PreparedRows | None:
    """The rows of *df*, where they are for the driver."""
    with phase(df.sparkSession, plan, "take the rows"):
        found = collected(df, plan.options) if data is None else data
    if found is None:
        return None
    fitted = pa.Table.from_batches(map(schema.fit, found.to_batches()), schema.arrow)
    rows = PreparedRows.of(plan.config, fitted)
    return rows if found.nbytes + _bytes_of_files(plan, rows.paths) <= plan.options.driver_bytes else None


def collected(rows: DataFrame, most: WriteOptions) -> pa.Table | None:
    """The rows, by one job; None where there are none, or more than the driver takes.

    Tasks pack theirs side by side, and stop where they are too many; one task joins what they packed.
    """
    packed = rows.mapInArrow(partial(_packed, most), f"{_PART} int, {_COLUMN} binary")
    messages = packed.repartition(1).mapInArrow(partial(_joined, most), f"{_COLUMN} binary").collect()
    return pa.ipc.open_stream(bytes(messages[0][0])).read_all() if messages else None


def _packed(most: WriteOptions, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of a task as one Arrow stream, with the number of its part; null where there are too many."""
    context = TaskContext.get()
    part = pa.array([context.partitionId() if context is not None else 0], pa.int32())
    kept = _kept(most, batches)
    messages = [pa.array([None], pa.binary())] if kept is None else [one[0] for one in as_message(kept, _COLUMN)]
    for message in messages:
        yield pa.RecordBatch.from_arrays([part, message], names=[_PART, _COLUMN])


def _joined(most: WriteOptions, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What the tasks packed as one Arrow stream, in the order of the parts; nothing where it is too much."""
    messages = pa.Table.from_batches(batches, _MESSAGES).sort_by(_PART)[_COLUMN]
    if messages.null_count:
        return
    streams = (pa.ipc.open_stream(message.as_buffer()) for message in messages)
    kept = _kept(most, (batch for stream in streams for batch in stream))
    if kept is not None:
        yield from as_message(kept, _COLUMN)


def _kept(most: WriteOptions, batches: Iterable[pa.RecordBatch]) -> list[pa.RecordBatch] | None:
    """The batches that have rows; None, without reading on, where they have more than the driver takes."""
    found: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        if len(batch):
            found.append(batch)
            rows, size = rows + len(batch), size + batch.nbytes
        if rows > most.driver_rows or size > most.driver_bytes:
            return None
    return found


def _bytes_of_files(plan: WritePlan, paths: pa.Array) -> int:
    """How many bytes the files may have that are read for a look-up in *paths*, and those that are rewritten."""
    if plan.record_index is not None and plan.config.table_type is TableType.MERGE_ON_READ:
        return 0  # few keys are read of the index, and log files are added to
    if opens_groups(plan):
        return 0
    if plan.looks_everywhere:
        names = [path for path, _ in list_partitions(open_storage(plan.root))]
    else:
        names = pc.unique(paths).to_pylist()
    sizes = [one.size for one in slices_of(plan, names)]
    only_fills = plan.operation is Operation.INSERT and plan.options.insert_duplicates is DuplicatePolicy.NONE
    if only_fills and plan.sizing is not None:  # nothing is looked up
        return sum(size for size in sizes if size <= plan.sizing.options.small_file_limit)
    return sum(sizes)
