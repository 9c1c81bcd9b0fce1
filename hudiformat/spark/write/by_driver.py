"""Few rows that belong to few files: the driver takes them as Arrow and writes them in its own process.

Each job of Spark takes some tenths of a second, whatever it does, and a write by tasks takes several.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from hudiformat.file_group.partitions import list_partitions
from hudiformat.schema.table_schema import TableSchema
from hudiformat.spark.write.describing import phase
from hudiformat.spark.write.lookup.few_keys import as_message
from hudiformat.spark.write.schema import fit_shown
from hudiformat.spark.write.slices import slices_of
from hudiformat.spark.write.tasks import opens_groups
from hudiformat.spark.write.workers import in_task
from hudiformat.storage.opening import open_storage
from hudiformat.table.options.values import REPLACING, DuplicatePolicy, Operation
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.timeline.table_config import TableType
from hudiformat.write.commit.plan import WritePlan
from hudiformat.write.index.known_keys import KEPT, Kept
from hudiformat.write.write import PreparedRows, write_prepared

_COLUMN = "rows"
_MOST_KEPT = 128 << 20
_PACKED = 8
"""How much larger rows may be than the files that Spark's statistics know."""


@lru_cache(maxsize=2)
def kept_keys(root: str) -> dict[Any, Any]:  # noqa: ARG001 - each has its own
    """What this process keeps of the keys in the files of a table, from one commit to the next.

    Of the two tables that were written last, each of at most 128 MB.  Each commit checks of which files they are.
    """
    return {KEPT: Kept(_MOST_KEPT)}


def seems_small(df: DataFrame, plan: WritePlan) -> bool:
    """Whether Spark's statistics say that *df* has few bytes: it may be asked for all its rows at once."""
    execution = getattr(getattr(df, "_jdf", None), "queryExecution", None)  # with Spark Connect nobody says
    if execution is None or plan.options.driver_rows <= 0:
        return False
    size = int(str(execution().optimizedPlan().stats().sizeInBytes()))
    return size <= plan.options.driver_bytes // _PACKED


def written_by_driver(
    df: DataFrame, count: int, plan: WritePlan, schema: TableSchema, *, data: pa.Table | None = None
) -> list[WriteStat] | None:
    """Write the rows of *df*, *count* of them, in this process; None where they are for tasks.

    They are for tasks where they are more than ``hudiformat.spark.driver.rows``, or where they and the files that are
    read and rewritten for them have more bytes than ``hudiformat.spark.driver.bytes``.  *data* are the rows, where the
    driver has them.

    Raises:
        DataError: a record key is null, or exists where it must not.
    """
    if not 0 < count <= plan.options.driver_rows:
        return None
    found = few_rows(df, plan, schema, data)
    return None if found is None else write_prepared(plan, found, kept=kept_keys(plan.root))


def few_rows(df: DataFrame, plan: WritePlan, schema: TableSchema, data: pa.Table | None) -> PreparedRows | None:
    """The rows of *df*, where they are for the driver."""
    most = plan.options.driver_bytes
    with phase(df.sparkSession, plan, "take the rows"):
        found = collected(df, most) if data is None else data
    if found is None:
        return None
    rows = PreparedRows.of(
        plan.config, pa.Table.from_batches([fit_shown(schema, batch) for batch in found.to_batches()], schema.arrow)
    )
    return rows if found.nbytes + _bytes_of_files(plan, rows.paths) <= most else None


def collected(rows: DataFrame, most: int) -> pa.Table | None:
    """The rows; None where they have more than *most* bytes.  One task reads them all, and stops there."""
    messages = rows.coalesce(1).mapInArrow(in_task(_packed, most), f"{_COLUMN} binary").collect()
    if not messages:
        return None
    return pa.ipc.open_stream(bytes(messages[0][0])).read_all()


def _packed(most: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of a task as one Arrow stream; nothing where there are too many bytes."""
    found: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        found.append(batch)
        size += batch.nbytes
        if size > most:
            return
    yield from as_message(found, _COLUMN)


def _bytes_of_files(plan: WritePlan, paths: pa.Array) -> int:
    """How many bytes the files may have that are read for a look-up in *paths*, and those that are rewritten."""
    if plan.record_index is not None and plan.config.table_type is TableType.MERGE_ON_READ:
        return 0  # few keys are read of the index, and log files are added to
    if opens_groups(plan) or plan.operation in REPLACING:  # which reads nothing, and opens buckets anew
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
