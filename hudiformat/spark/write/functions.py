"""Write a data frame in one atomic commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType

from hudiformat.api.reading import context_of
from hudiformat.arguments import check_arguments
from hudiformat.catalogs.inline import after_write
from hudiformat.errors import OptionError
from hudiformat.services.inline import before_write
from hudiformat.spark.errors import reraise_task_errors
from hudiformat.spark.executor import with_tasks
from hudiformat.spark.options import WRITER, SourceOptions, open_for_tasks
from hudiformat.spark.services import table_by_tasks
from hudiformat.spark.write.batches import limit_batches_by_rows, tasks_at_once
from hudiformat.spark.write.by_tasks import write_shuffled
from hudiformat.spark.write.checkpoints import checkpoint, newest_batch
from hudiformat.spark.write.lookup.global_lookup import write_everywhere
from hudiformat.spark.write.made_keys import with_made_keys
from hudiformat.spark.write.schema import arrow_schema, arrow_type, as_table_has
from hudiformat.spark.write.tasks import QUERY_ID
from hudiformat.table.options.values import Operation
from hudiformat.write.commit.transaction import Commit, attempts
from hudiformat.write.write import check_rows


@check_arguments
def insert(df: DataFrame, path: str, *, options: Mapping[str, str] | None = None) -> Commit:
    """Add the rows of *df* to the table at *path*, in one commit.

    *options* are Hudi's keys, as for :func:`hudiformat.open_table`.

    Raises:
        SchemaError: the columns of *df* contradict the table's, or have a type that Avro cannot hold.
        DataError: a key column is missing, or a record key is null; nothing has been written.
        HudiFormatError: another reason stops the write; the table is unchanged.

    Source: hudiformat.Table.insert.
    """
    return write_by(df, path, Operation.INSERT, options)


@check_arguments
def upsert(df: DataFrame, path: str, *, options: Mapping[str, str] | None = None) -> Commit:
    """Add the rows of *df*, and replace the table's rows with the same record key and partition path, in one commit.

    Raises:
        HudiFormatError: as for :func:`insert`.

    Source: hudiformat.Table.upsert.
    """
    return write_by(df, path, Operation.UPSERT, options)


@check_arguments
def bulk_insert(df: DataFrame, path: str, *, options: Mapping[str, str] | None = None) -> Commit:
    """Add the rows of *df* in new file groups, in one commit; every task opens its own file groups.

    ``hoodie.bulkinsert.sort.mode`` sets the order: NONE keeps the order of the data frame, PARTITION_SORT sorts the
    rows of each task by partition path and record key, GLOBAL_SORT sorts all rows.

    Raises:
        HudiFormatError: as for :func:`insert`.

    Source: hudiformat.Table.bulk_insert.
    """
    return write_by(df, path, Operation.BULK_INSERT, options)


@check_arguments
def insert_overwrite(df: DataFrame, path: str, *, options: Mapping[str, str] | None = None) -> Commit:
    """Replace all rows of each partition that occurs in *df* by the rows of *df*, in one commit.

    Raises:
        HudiFormatError: as for :func:`insert`.

    Source: hudiformat.Table.insert_overwrite.
    """
    return write_by(df, path, Operation.INSERT_OVERWRITE, options)


@check_arguments
def insert_overwrite_table(df: DataFrame, path: str, *, options: Mapping[str, str] | None = None) -> Commit:
    """Replace all rows of the table by the rows of *df*, in one commit.

    Raises:
        HudiFormatError: as for :func:`insert`.

    Source: hudiformat.Table.insert_overwrite_table.
    """
    return write_by(df, path, Operation.INSERT_OVERWRITE_TABLE, options)


@check_arguments
def delete(df: DataFrame, path: str, *, options: Mapping[str, str] | None = None) -> Commit:
    """Delete the rows with the record keys and partitions of *df*, in one commit; other columns are ignored.

    Raises:
        HudiFormatError: as for :func:`insert`.

    Source: hudiformat.Table.delete.
    """
    return write_by(df, path, Operation.DELETE, options)


@check_arguments
def delete_partitions(
    spark: SparkSession, path: str, partitions: str | Sequence[str], *, options: Mapping[str, str] | None = None
) -> Commit:
    """Remove all rows of the partition paths *partitions* from the table at *path*, in one commit; no file is read.

    Raises:
        HudiFormatError: as for ``hudiformat.Table.delete_partitions``.

    Source: hudiformat.Table.delete_partitions.
    """
    with reraise_task_errors():
        return table_by_tasks(spark, path, options).delete_partitions(partitions)


@check_arguments
def evolve(
    spark: SparkSession,
    path: str,
    *,
    add: Mapping[str, pa.DataType | DataType] | None = None,
    rename: Mapping[str, str] | None = None,
    widen: Mapping[str, pa.DataType | DataType] | None = None,
    nullable: str | Sequence[str] = (),
    drop: str | Sequence[str] = (),
    comment: Mapping[str, str] | None = None,
    options: Mapping[str, str] | None = None,
) -> Commit:
    """Change the columns of the table at *path*, as ``hudiformat.Table.evolve`` does; no file is rewritten.

    Types are those of Spark or of Arrow.

    Raises:
        HudiFormatError: as for ``hudiformat.Table.evolve``.

    Source: AlterTableCommand, Hudi 1.2.0; hudiformat.Table.evolve.
    """
    with reraise_task_errors():
        return table_by_tasks(spark, path, options).evolve(
            add=_arrow_types(add),
            rename=rename,
            widen=_arrow_types(widen),
            nullable=nullable,
            drop=drop,
            comment=comment,
        )


def _arrow_types(kinds: Mapping[str, pa.DataType | DataType] | None) -> dict[str, pa.DataType]:
    return {name: arrow_type(kind) if isinstance(kind, DataType) else kind for name, kind in (kinds or {}).items()}


@check_arguments
def write_batch(
    df: DataFrame,
    path: str,
    batch_id: int,
    *,
    operation: str | None = None,
    options: Mapping[str, str] | None = None,
) -> Commit | None:
    """Write a batch of a stream in one commit, or skip it and return None if the table has it; for ``foreachBatch``.

    The stream is identified by the id of its query, or by ``hoodie.datasource.write.streaming.checkpoint.identifier``.
    *operation*, or else ``hoodie.datasource.write.operation``, sets how the rows are written; the default is
    ``upsert``.

    Raises:
        OptionError: there is no such operation, or *df* belongs to no stream and the options name none.
        HudiFormatError: as for :func:`insert`.

    Source: HoodieStreamingSink.addBatch, Hudi 1.2.0.
    """
    given = {} if operation is None else {"operation": operation}
    asked = SourceOptions({**(options or {}), "path": path, **given})
    asked = asked.with_sizing_tasks(tasks_at_once(df.sparkSession))
    writer = asked.get(WRITER) or _query_id(df.sparkSession)
    if writer is None:
        raise OptionError(
            "expected a batch of a stream, found rows of none that is known; call this in "
            "foreachBatch, and with Spark Connect, which tells no query's id, name the stream "
            f"with {WRITER}",
            option=WRITER,
        )
    newest = newest_batch(context_of(asked.table()).state(), writer)
    if newest is not None and newest >= batch_id:
        return None
    return write_by(df, path, asked.operation, asked.of_table, checkpoint(writer, batch_id))


def _query_id(spark: SparkSession) -> str | None:
    """Return the id of the query whose batch this thread writes; None with Spark Connect, which does not tell it."""
    context = getattr(spark, "sparkContext", None)
    return None if context is None else context.getLocalProperty(QUERY_ID)


def write_by(
    df: DataFrame,
    path: str,
    operation: Operation,
    options: Mapping[str, str] | None,
    extra: Mapping[str, str] | None = None,
) -> Commit:
    """Write the rows of *df* by *operation*, in one commit, with *extra* in its metadata.

    Raises:
        HudiFormatError: as for :func:`insert`.
    """
    context = with_tasks(df.sparkSession, context_of(open_for_tasks(path, options)))

    with reraise_task_errors(), limit_batches_by_rows(df.sparkSession):
        state = before_write(context)
        rows = with_made_keys(df, state, operation)
        checked = check_rows(state, operation, as_table_has(arrow_schema(rows.schema), state.schema.arrow))
        rows = rows.select(*checked.schema.arrow.names) if operation is Operation.DELETE else rows
        for write in attempts(state, operation, change=checked.change):
            with write:
                by_tasks = write_everywhere if write.plan.options.is_global else write_shuffled
                write.commit(by_tasks(rows, write.plan, checked.schema), extra)
        return after_write(write.result)
