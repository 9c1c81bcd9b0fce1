"""Write a data frame as ``df.write`` does, with Hudi's keys alone: the first write creates the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from hudiformat.api.from_keys import create_from_keys
from hudiformat.api.reading import context_of
from hudiformat.api.table import Table
from hudiformat.arguments import as_name_list, check_arguments
from hudiformat.errors import NotATableError, OptionError, TableExistsError
from hudiformat.spark.errors import reraise_task_errors
from hudiformat.spark.options import SourceOptions
from hudiformat.spark.write.functions import delete_partitions, write_by
from hudiformat.spark.write.lookup.tagging import paths_of
from hudiformat.spark.write.schema import arrow_schema
from hudiformat.table.options.values import Operation
from hudiformat.write.commit.transaction import Commit
from hudiformat.write.delete_partitions import matching_partitions

_ASKS = ("ignore", "errorifexists", "error")
_MODES = ("append", "overwrite", *_ASKS)


@check_arguments
def create_table(rows: DataFrame | StructType, path: str, *, options: Mapping[str, str]) -> Table:
    """Create an empty table at *path* with the columns of *rows*, a data frame or a schema, and with Hudi's keys.

    Raises:
        TableExistsError: there is a table at *path* already.
        OptionError: an option is unknown or has a bad value.
        SchemaError: Avro cannot hold the type of a column, or a key column is missing.

    Source: hudiformat.create_table.
    """
    schema = rows if isinstance(rows, StructType) else rows.schema
    asked = SourceOptions({**options, "path": path})
    with reraise_task_errors():
        return create_from_keys(path, schema=arrow_schema(schema), options=asked.of_table)


@check_arguments
def write(
    df: DataFrame,
    path: str,
    *,
    mode: str = "append",
    partition_by: str | Sequence[str] | None = None,
    options: Mapping[str, str] | None = None,
) -> Commit | None:
    """Write the rows of *df* in one commit, and create the table if there is none; return None if nothing is written.

    ``hoodie.datasource.write.operation`` sets how the rows are written; the default is ``upsert``.  The modes are
    Spark's: ``append``; ``overwrite``, which replaces all rows, or with the operation ``insert_overwrite`` the rows of
    each partition that occurs in *df*, while the table and its history stay; ``ignore``, which does nothing if there is
    a table; and ``errorifexists``.  *partition_by* names the partition columns of a new table; an existing table must
    have the same ones.

    Raises:
        TableExistsError: there is a table already, in the mode ``errorifexists``.
        OptionError: there is no such mode or operation, or the table has other partition columns than *partition_by*.
        HudiFormatError: another reason stops the write.

    Source: HoodieSparkSqlWriter.write, Hudi 1.2.0.
    """
    asked = SourceOptions({**(options or {}), "path": path})
    partition_by = None if partition_by is None else as_name_list(partition_by)
    with reraise_task_errors():
        if mode.lower() not in _MODES:
            raise OptionError(f"mode: expected one of {', '.join(_MODES)}, found {mode!r}", option="mode")
        operation = asked.batch_operation(overwrite=mode.lower() == "overwrite")
        if (mode.lower() in _ASKS) and _table(asked) is not None:
            if mode.lower() == "ignore":
                return None
            raise TableExistsError(f"{path}: there is a table already; use mode append or overwrite", path=path)
        table = table_for(asked, arrow_schema(df.schema), partition_by)
        if operation is Operation.DELETE_PARTITION:
            return delete_partitions(df.sparkSession, path, _to_delete(df, table, asked), options=asked.of_table)
        operation = asked.operation_for(operation, table.config, df.columns)
    return write_by(df, path, operation, asked.of_table)


def _to_delete(df: DataFrame, table: Table, asked: SourceOptions) -> list[str]:
    """Return the partition paths that the options name, or else those of the rows."""
    named = asked.partitions_to_delete
    if named is not None:
        return matching_partitions(context_of(table).state(), named)
    return paths_of(df, table.config, context_of(table).state().schema)


def _table(asked: SourceOptions) -> Table | None:
    try:
        return asked.table()
    except NotATableError:
        return None


def table_for(asked: SourceOptions, schema: pa.Schema, partition_by: Sequence[str] | None = None) -> Table:
    """Open the table to write to, and create it if there is none.

    Raises:
        OptionError: there is no path, an option is unknown or has a bad value, or the partition columns differ.
        HudiFormatError: as for :func:`hudiformat.create_table`.
    """
    table = _table(asked)
    if table is None:
        with suppress(TableExistsError):  # another writer has just created it
            create_from_keys(asked.path, schema=schema, options=asked.of_table, partition_by=partition_by)
        table = asked.table()
    own = context_of(table).config.partition_fields
    if partition_by is not None and tuple(partition_by) != own:
        raise OptionError(
            f"partition_by: expected the partition columns of the table, {', '.join(own) or 'none'}, "
            f"found {', '.join(partition_by) or 'none'}; leave it out",
            option="partition_by",
        )
    return table
