"""Few rows that belong to few files: the driver takes them as Arrow and writes them in its own process.

Each job of Spark takes some tenths of a second, whatever it does, and a write by tasks takes several.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from hudiformat.shuffle.few_keys import as_message
from hudiformat.shuffle.slices import slices_of
from hudiformat.shuffle.tagging import KEY, PATH, TAGS
from hudiformat.storage import open_storage
from hudiformat.table import TableSchema
from hudiformat.timeline import TableType, WriteStat
from hudiformat.transaction import WritePlan
from hudiformat.view import list_partitions
from hudiformat.write import PreparedRows, write_prepared

_COLUMN = "rows"


def written_by_driver(rows: DataFrame, plan: WritePlan, schema: TableSchema) -> list[WriteStat] | None:
    """Write *rows*, which are cached and have their tags, in this process; None where they are for tasks.

    They are for tasks where they are more than ``hudiformat.spark.driver.rows``, or where they and the files that are
    read and rewritten for them have more bytes than ``hudiformat.spark.driver.bytes``.

    Raises:
        DataError: a record key is null, or exists where it must not.
    """
    found = few_rows(rows, plan)
    if found is None:
        return None
    own = found.drop_columns(TAGS.names)
    fitted = pa.Table.from_batches(map(schema.fit, own.to_batches()), schema.arrow)
    keys, paths = (found[name].combine_chunks() for name in (KEY, PATH))
    return write_prepared(plan, PreparedRows(fitted, keys, paths))


def few_rows(rows: DataFrame, plan: WritePlan) -> pa.Table | None:
    """*rows*, with their tags, where they are for the driver."""
    options = plan.options
    if options.driver_rows <= 0 or rows.count() > options.driver_rows:
        return None
    found = collected(rows, options.driver_bytes)
    if found is None or found.nbytes + _bytes_of_files(plan, found) > options.driver_bytes:
        return None
    return found


def collected(rows: DataFrame, most: int) -> pa.Table | None:
    """The rows; None where they have more than *most* bytes.  One task reads them all, and stops there."""
    messages = rows.coalesce(1).mapInArrow(partial(_packed, most), f"{_COLUMN} binary").collect()
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


def _bytes_of_files(plan: WritePlan, rows: pa.Table) -> int:
    """How many bytes the files may have that are read for the look-up of *rows*, and those that are rewritten."""
    if plan.record_index is not None and plan.config.table_type is TableType.MERGE_ON_READ:
        return 0  # few keys are read of the index, and log files are added to
    if plan.looks_everywhere:
        paths = [path for path, _ in list_partitions(open_storage(plan.root))]
    else:
        paths = pc.unique(rows[PATH]).to_pylist()
    return sum(one.size for one in slices_of(plan, paths))
