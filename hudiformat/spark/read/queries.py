"""The queries of a table by the names that ``hudiformat.Table`` has for them, as data frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from hudiformat.api.stats import SMALL_FILE_LIMIT
from hudiformat.arguments import check_arguments
from hudiformat.conditions.filters import Filter
from hudiformat.errors import OptionError
from hudiformat.read.time_travel import Moment, moment_text
from hudiformat.spark.errors import reraise_task_errors
from hudiformat.spark.options import BEGIN, CDC, END, INCREMENTAL, READ_OPTIMIZED, SNAPSHOT, open_for_tasks
from hudiformat.spark.read.read import count_by_footers, read
from hudiformat.spark.write.schema import spark_schema


@check_arguments
def snapshot(
    spark: SparkSession,
    path: str,
    as_of: Moment | None = None,
    *,
    columns: str | Sequence[str] | None = None,
    filter: Filter | None = None,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """Return the newest rows of the table at *path*, or those *as_of* a moment; arguments are as for :func:`read`.

    Raises:
        HudiFormatError: as for :func:`read`.

    Source: hudiformat.Table.snapshot.
    """
    return read(spark, path, as_of=as_of, columns=columns, filter=filter, query=SNAPSHOT, options=options)


@check_arguments
def read_optimized(
    spark: SparkSession,
    path: str,
    as_of: Moment | None = None,
    *,
    columns: str | Sequence[str] | None = None,
    filter: Filter | None = None,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """Return the rows of the newest base files without their log files; arguments are as for :func:`read`.

    Raises:
        HudiFormatError: as for :func:`read`.

    Source: hudiformat.Table.read_optimized.
    """
    return read(spark, path, as_of=as_of, columns=columns, filter=filter, query=READ_OPTIMIZED, options=options)


@check_arguments
def incremental(
    spark: SparkSession,
    path: str,
    begin: Moment,
    end: Moment | None = None,
    *,
    columns: str | Sequence[str] | None = None,
    filter: Filter | None = None,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """Return the rows that were written after *begin* and up to *end*, as ``hudiformat.Table.incremental`` does.

    Raises:
        HudiFormatError: as for ``hudiformat.Table.incremental``.

    Source: hudiformat.Table.incremental.
    """
    within = _within(begin, end, options)
    return read(spark, path, columns=columns, filter=filter, query=INCREMENTAL, options=within)


@check_arguments
def cdc(
    spark: SparkSession,
    path: str,
    begin: Moment,
    end: Moment | None = None,
    *,
    columns: str | Sequence[str] | None = None,
    filter: Filter | None = None,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """Return the changes of records after *begin* and up to *end*, as ``hudiformat.Table.cdc`` does.

    Raises:
        HudiFormatError: as for ``hudiformat.Table.cdc``.

    Source: hudiformat.Table.cdc.
    """
    return read(spark, path, columns=columns, filter=filter, query=CDC, options=_within(begin, end, options))


def _within(begin: Moment, end: Moment | None, options: Mapping[str, str] | None) -> dict[str, str]:
    ended = {} if end is None else {END: moment_text(end)}
    return {**(options or {}), BEGIN: moment_text(begin), **ended}


@check_arguments
def count(
    spark: SparkSession,
    path: str,
    filter: Filter | None = None,
    *,
    options: Mapping[str, str] | None = None,
) -> int:
    """Return the number of rows of the table at *path*, or of those for which *filter* is true.

    Without a filter, file slices that Spark's readers could read are counted by the footers of their base files.

    Raises:
        HudiFormatError: as for :func:`read`.

    Source: hudiformat.Table.count.
    """
    with reraise_task_errors():
        told = count_by_footers(spark, path, options or {}) if filter is None else None
        return read(spark, path, columns=[], filter=filter, options=options).count() if told is None else told


@check_arguments
def head(
    spark: SparkSession,
    path: str,
    n: int = 5,
    *,
    columns: str | Sequence[str] | None = None,
    filter: Filter | None = None,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """Return the first *n* rows of the table at *path*.

    Raises:
        OptionError: *n* is negative.
        HudiFormatError: as for :func:`read`.

    Source: hudiformat.Table.head.
    """
    if n < 0:
        raise OptionError(f"n: expected 0 or more rows, found {n}", option="n")
    return read(spark, path, columns=columns, filter=filter, options=options).limit(n)


@check_arguments
def history(spark: SparkSession, path: str, *, options: Mapping[str, str] | None = None) -> DataFrame:
    """Return one row for each completed write of the active timeline, newest first, as ``hudiformat.Table.history``.

    Raises:
        HudiFormatError: as for ``hudiformat.open_table``.

    Source: ShowCommitsProcedure, Hudi 1.2.0.
    """
    return _frame(spark, open_for_tasks(path, options).history())


@check_arguments
def stats(
    spark: SparkSession,
    path: str,
    *,
    small_file_limit: int = SMALL_FILE_LIMIT,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """Return one row for each partition path with its numbers of files and bytes, as ``hudiformat.Table.stats`` does.

    *small_file_limit* is in bytes.

    Raises:
        HudiFormatError: as for ``hudiformat.open_table``.

    Source: StatsFileSizeProcedure, Hudi 1.2.0.
    """
    return _frame(spark, open_for_tasks(path, options).stats(small_file_limit=small_file_limit))


def _frame(spark: SparkSession, rows: pa.Table) -> DataFrame:
    return spark.createDataFrame(rows.to_pylist(), spark_schema(rows.schema))
