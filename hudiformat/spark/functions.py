"""Writing a data frame: rows are tagged with their file group, moved to it, and written there; one commit at the end.

    data frame -> tag (Arrow, in Python) -> shuffle by file group, sort by key -> write (Arrow, in Python) -> commit

No Python per row.  Nothing is written before every task has tagged its rows, for the shuffle waits for all of them: a
record key that is null stops the job while the table is untouched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, functions
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from hudiformat.api import open_table
from hudiformat.spark.errors import reraised
from hudiformat.spark.schema import arrow_schema
from hudiformat.spark.tasks import decode_stats, encode_stats, write_token
from hudiformat.table import Commit, Operation, RowKeys, TableSchema, WritePlan, WriteTask
from hudiformat.table.begin import check_rows, write_and_commit
from hudiformat.table.combining import combines, ordering_fields_of
from hudiformat.timeline import WriteStat

_PATH, _GROUP, _KEY = "_hudiformat_path", "_hudiformat_group", "_hudiformat_key"
_TAGS = (_PATH, _GROUP, _KEY)


def insert(df: DataFrame, path: str, *, options: Mapping[str, str] | None = None) -> Commit:
    """Add the rows of *df* to the table at *path*, in one commit.

    *options* are Hudi's keys, as for :func:`hudiformat.open_table`.

    Raises:
        SchemaError: columns that contradict the table's, or have a type that Avro cannot hold.
        DataError: a key column is missing, or a record key is null; nothing has been written.
        HudiFormatError: whatever else stops the write; the table is as it was.

    Source: hudiformat.Table.insert.
    """
    return _write(df, path, Operation.INSERT, options)


def upsert(df: DataFrame, path: str, *, options: Mapping[str, str] | None = None) -> Commit:
    """Add the rows of *df*, and replace those with the same record key and partition path, in one commit.

    Raises:
        HudiFormatError: as for :func:`insert`.

    Source: hudiformat.Table.upsert.
    """
    return _write(df, path, Operation.UPSERT, options)


def delete(df: DataFrame, path: str, *, options: Mapping[str, str] | None = None) -> Commit:
    """Delete the rows with the record keys and partitions of *df*, in one commit; other columns are not looked at.

    Raises:
        HudiFormatError: as for :func:`insert`.

    Source: hudiformat.Table.delete.
    """
    return _write(df, path, Operation.DELETE, options)


def _write(df: DataFrame, path: str, operation: Operation, options: Mapping[str, str] | None) -> Commit:
    context = open_table(path, options=options).context
    schema = check_rows(context, operation, arrow_schema(df.schema))
    if operation is Operation.DELETE:
        df = df.select(*schema.arrow.names)
    combine = combines(operation, context.options)
    ordering = ordering_fields_of(context.config, operation)

    def write_files(plan: WritePlan) -> Iterator[WriteStat]:
        moved = _moved(df, plan, schema, ordering if combine else None)
        messages = moved.mapInArrow(partial(_write_group, plan, schema, combine=combine), "stats binary").collect()
        return (stat for message in messages for stat in decode_stats(message["stats"]))

    with reraised():
        return write_and_commit(context, operation, write_files)


def _moved(df: DataFrame, plan: WritePlan, schema: TableSchema, ordering: tuple[str, ...] | None) -> DataFrame:
    """The rows of *df* with their tags, each file group's together, in the order in which they are combined."""
    tags = [StructField(_PATH, StringType()), StructField(_GROUP, IntegerType()), StructField(_KEY, StringType())]
    tagged = df.mapInArrow(partial(_tag, plan, schema), StructType([*df.schema.fields, *tags]))
    moved = tagged.repartition(_PATH, _GROUP)
    order = [functions.col(name).asc_nulls_first() for name in (*_TAGS, *(ordering or ()))]
    return moved.sortWithinPartitions(*order if ordering is not None else order[:2])


def _tag(plan: WritePlan, schema: TableSchema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    keys = RowKeys.of(plan.config)
    for batch in batches:
        fitted = schema.fit(batch)
        record_keys = keys.record_keys(fitted)
        groups = np.full(batch.num_rows, -1)
        if plan.uses_buckets:
            groups = plan.buckets(record_keys)
        tags = [keys.partition_paths(fitted), pa.array(groups, pa.int32()), record_keys]
        yield pa.RecordBatch.from_arrays([*batch.columns, *tags], names=[*batch.schema.names, *_TAGS])


def _write_group(
    plan: WritePlan, schema: TableSchema, batches: Iterable[pa.RecordBatch], *, combine: bool
) -> Iterator[pa.RecordBatch]:
    with WriteTask(plan, write_token()) as task:
        for batch in last_of_each_key(batches) if combine else batches:
            task.write(schema.fit(batch.select(batch.schema.names[: -len(_TAGS)])))
        yield encode_stats(task.finish())


def last_of_each_key(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The last row of every run of rows with one partition path and record key; memory is bounded by a batch."""
    waiting: pa.RecordBatch | None = None
    for batch in batches:
        if not batch.num_rows:
            continue
        if waiting is not None and not _same_key(waiting, batch):
            yield waiting
        last = np.flatnonzero(_changes(batch))
        yield batch.take(pa.array(last))
        waiting = batch.slice(batch.num_rows - 1)
    if waiting is not None:
        yield waiting


def _changes(batch: pa.RecordBatch) -> np.ndarray:
    """For each row whether the next one has another key; False for the last."""
    result = np.zeros(batch.num_rows, dtype=np.bool_)
    for name in (_PATH, _KEY):
        column = batch[name]
        result[:-1] |= np.asarray(pc.not_equal(column.slice(0, len(column) - 1), column.slice(1)))
    return result


def _same_key(left: pa.RecordBatch, right: pa.RecordBatch) -> bool:
    return all(left[name][-1] == right[name][0] for name in (_PATH, _KEY))
