"""Write few rows for few files in the driver's process, from Arrow batches.

Every Spark job takes some tenths of a second, whatever it does, and a write by tasks needs several jobs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from hudiformat.schema.table_schema import RowKeys, TableSchema
from hudiformat.spark.write.describing import phase
from hudiformat.spark.write.lookup.few_keys import as_message
from hudiformat.spark.write.lookup.live_rows import slices_of
from hudiformat.spark.write.schema import fit_shown
from hudiformat.spark.write.tasks import opens_groups
from hudiformat.spark.write.workers import in_task
from hudiformat.storage.opening import open_storage
from hudiformat.table.cache import TableCache
from hudiformat.table.options.values import REPLACING, DuplicatePolicy, Operation
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.timeline.table_config import TableType
from hudiformat.write.commit.plan import WritePlan
from hudiformat.write.rows import KeyedRows
from hudiformat.write.write import write_keyed

_COLUMN = "rows"
_MOST_KEPT = 128 << 20
_PACKED = 8
"""Rows in memory may be this many times larger than the compressed files, whose sizes are Spark's statistics."""


@lru_cache(maxsize=2)
def key_cache(root: str) -> TableCache:  # noqa: ARG001 - one entry per table
    """Return this process's cache of the keys in the files of a table, which later commits reuse.

    There are caches for the two tables that were written last, of at most 128 MB each.  Every commit checks which files
    the cached keys are from.
    """
    return TableCache(_MOST_KEPT)


def seems_small(df: DataFrame, plan: WritePlan) -> bool:
    """Return whether *df* has few bytes by Spark's statistics, so that all its rows may be fetched at once."""
    execution = getattr(getattr(df, "_jdf", None), "queryExecution", None)  # Spark Connect has no statistics
    if execution is None or plan.options.driver_rows <= 0:
        return False
    size = int(str(execution().optimizedPlan().stats().sizeInBytes()))
    return size <= plan.options.driver_bytes // _PACKED


def write_in_driver(
    df: DataFrame, count: int, plan: WritePlan, schema: TableSchema, *, data: pa.Table | None = None
) -> list[WriteStat] | None:
    """Write the *count* rows of *df* in this process; return None if tasks have to write them.

    Tasks write more than ``hudiformat.spark.driver.rows`` rows.  They also write if the rows, and the files that are
    read and rewritten for them, have more than ``hudiformat.spark.driver.bytes`` bytes.  *data* holds the rows if the
    driver has them already.

    Raises:
        DataError: a record key is null, or exists already and the insert forbids that.
    """
    if not 0 < count <= plan.options.driver_rows:
        return None
    found = few_rows(df, plan, schema, data)
    return None if found is None else write_keyed(plan, found, cache=key_cache(plan.root))


def few_rows(df: DataFrame, plan: WritePlan, schema: TableSchema, data: pa.Table | None) -> KeyedRows | None:
    """Return the rows of *df* with their keys and paths; None if they are too many for the driver."""
    most = plan.options.driver_bytes
    with phase(df.sparkSession, plan, "take the rows"):
        found = collect_up_to(df, most) if data is None else data
    if found is None:
        return None
    table = pa.Table.from_batches([fit_shown(schema, batch) for batch in found.to_batches()], schema.arrow)
    rows = KeyedRows.of(RowKeys.of(plan.config), table)
    return rows if found.nbytes + _bytes_of_files(plan, rows.paths) <= most else None


def collect_up_to(rows: DataFrame, most: int) -> pa.Table | None:
    """Return the rows; None if they have more than *most* bytes.  One task reads them, and stops at that limit."""
    messages = rows.coalesce(1).mapInArrow(in_task(_pack, most), f"{_COLUMN} binary").collect()
    if not messages:
        return None
    return pa.ipc.open_stream(bytes(messages[0][0])).read_all()


def _pack(most: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a task as one Arrow stream; yield nothing if they have more than *most* bytes."""
    found: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        found.append(batch)
        size += batch.nbytes
        if size > most:
            return
    yield from as_message(found, _COLUMN)


def _bytes_of_files(plan: WritePlan, paths: pa.Array) -> int:
    """Return the bytes of the files that are read to look up keys in *paths* and of the files that are rewritten."""
    if plan.record_index is not None and plan.config.table_type is TableType.MERGE_ON_READ:
        return 0  # only a few keys of the index are read, and log files are appended to
    if opens_groups(plan) or plan.operation in REPLACING:  # these read nothing and write new file groups
        return 0
    names = plan.partitions(open_storage(plan.root)) if plan.looks_everywhere else pc.unique(paths).to_pylist()
    sizes = [one.size for one in slices_of(plan, names)]
    only_fills = plan.operation is Operation.INSERT and plan.options.insert_duplicates is DuplicatePolicy.NONE
    if only_fills and plan.sizing is not None:  # keys are not looked up
        return sum(size for size in sizes if size <= plan.sizing.options.small_file_limit)
    return sum(sizes)
