"""Writing with a global index: a row's key is looked up in all partitions, and a row may relocate to another one.

    tag -> one row per record key -> join with the rows of all newest slices, or with what the record index knows of the
        keys, by record key -> where each belongs
        -> count the new rows, plan, assign, shuffle, write as after any look-up

The rules are those of hudiformat.write.index.global_index.
Source: HoodieGlobalSimpleIndex, HoodieIndexUtils.tagGlobalLocationBackToRecords, Hudi 1.2.0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame, functions
from pyspark.sql.types import StructType

from hudiformat.errors import DataError
from hudiformat.file_group.partitions import list_partitions
from hudiformat.file_group.reader import SliceReader
from hudiformat.file_group.slices import FileSlice
from hudiformat.schema.table_schema import TableSchema
from hudiformat.spark.write.by_driver import seems_small, written_by_driver
from hudiformat.spark.write.by_tasks import write_found, write_shuffled
from hudiformat.spark.write.lookup.live_rows import comparable, live_rows, one_per_key
from hudiformat.spark.write.lookup.record_lookup import named_rows
from hudiformat.spark.write.lookup.tagging import (
    GROUP,
    KEY,
    NEW,
    OUT,
    PATH,
    TAGS,
    cached,
    quoted,
    repeatable,
    with_tags,
)
from hudiformat.spark.write.schema import spark_schema
from hudiformat.spark.write.slices import slices_of
from hudiformat.spark.write.summary import summarized
from hudiformat.storage.opening import open_storage
from hudiformat.table.options.values import DuplicatePolicy, Operation
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.write.commit.plan import WritePlan

LOCATIONS = "_hudiformat_locations"
"""Where the table has the record key of a row, each as :func:`location` makes it; null where it has it nowhere."""

_ROUTE, _ORDERING = "_hudiformat_route", "_hudiformat_ordering"


def write_everywhere(df: DataFrame, plan: WritePlan, schema: TableSchema) -> Iterator[WriteStat]:
    """Write the rows of *df*, which have the columns of *schema*, by tasks; a statistic for every file.

    Raises:
        DataError: a record key is null, or exists where it must not.
    """
    is_combined = plan.combines
    if not (is_combined or plan.looks_everywhere):
        return write_shuffled(df, plan, schema)
    with ExitStack() as stack:
        df = repeatable(df, stack)
        known = summarized(df, plan, schema, with_data=seems_small(df, plan))
        written = written_by_driver(df, known.rows, plan, schema, data=known.data)
        if written is not None:
            return iter(written)
        rows = cached(with_tags(df, plan, schema), stack)
        if is_combined:
            rows = one_per_key(rows, [KEY], plan.ordering_fields)
        if not plan.looks_everywhere:
            return write_shuffled(cached(rows.drop(*TAGS.names), stack), plan, schema)
        is_insert = plan.operation is Operation.INSERT
        table = _TableRows.of(plan, stack)
        found = _absent(rows, plan, table, stack) if is_insert else routed(table.joined(rows), plan)
        return write_found(cached(found, stack), plan, schema, table.slices)


@dataclass(frozen=True)
class _TableRows:
    """The rows of the table: those of all newest ``slices``, or where these are None, by the record index."""

    plan: WritePlan
    slices: Sequence[FileSlice] | None
    stack: ExitStack

    @classmethod
    def of(cls, plan: WritePlan, stack: ExitStack) -> _TableRows:
        if plan.record_index is not None:
            return cls(plan, None, stack)
        return cls(plan, slices_of(plan, [path for path, _ in list_partitions(open_storage(plan.root))]), stack)

    def joined(self, rows: DataFrame) -> DataFrame:
        """The rows with LOCATIONS."""
        plan, ordering = self.plan, _that_decides(self.plan)
        if self.slices is None:
            assert plan.record_index is not None  # noqa: S101 - else there are slices
            rows = cached(rows, self.stack)
            live = named_rows(rows, plan, plan.record_index, ordering, self.stack)
        else:
            live = live_rows(rows.sparkSession, plan.root, plan.slice_reader(), self.slices, ordering, group=GROUP)
        every = functions.collect_list(location(plan, functions.col(PATH), functions.col(GROUP)))
        return rows.join(live.groupBy(KEY).agg(every.alias(LOCATIONS)), KEY, "left")

    def whole(self, rows: DataFrame, reader: SliceReader, columns: pa.Schema, *, group: str) -> DataFrame:
        """Those rows of the table whose keys *rows* have, and others, with stored columns: see :func:`live_rows`."""
        slices = self.slices
        if slices is None:
            assert self.plan.record_index is not None  # noqa: S101 - else there are slices
            named = named_rows(rows, self.plan, self.plan.record_index, pa.schema([]), self.stack)
            groups = {tuple(row) for row in named.select(PATH, GROUP).distinct().collect()}
            found = slices_of(self.plan, sorted({path for path, _ in groups}))
            slices = [one for one in found if (one.partition_path, one.file_id) in groups]
        return live_rows(rows.sparkSession, self.plan.root, reader, slices, columns, group=group, stored=True)


def rows_everywhere(
    rows: DataFrame, plan: WritePlan, reader: SliceReader, columns: pa.Schema, stack: ExitStack, *, group: str
) -> DataFrame:
    """Those rows of the table whose keys *rows* have, and others: *columns*, PATH, KEY, and in *group* their file id.

    The columns that paths are made of are there as they are stored, too: see :func:`as_stored`.
    *rows* have their tags, and are cached.
    """
    return _TableRows.of(plan, stack).whole(rows, reader, columns, group=group)


def location(plan: WritePlan, path: Column, group: Column, *, side: str = "") -> Column:
    """Where the table has a record key, with the ordering values there: those of the columns of *side*."""
    values = _ordering_values(spark_schema(_that_decides(plan)), side=side)
    return functions.struct(path.alias(PATH), group.alias(GROUP), *values)


def _that_decides(plan: WritePlan) -> pa.Schema:
    """The ordering columns that decide whether a row may leave its partition; none where no row may."""
    moves = plan.options.moves_partitions and plan.operation is not Operation.DELETE
    return pa.schema([plan.schema.arrow.field(name) for name in (plan.ordering_fields if moves else ())])


def _absent(rows: DataFrame, plan: WritePlan, table: _TableRows, stack: ExitStack) -> DataFrame:
    """The rows of an insert whose keys are nowhere.

    Source: HoodieSparkSqlWriter, DataSourceUtils.resolveDuplicates.
    """
    joined = cached(table.joined(rows), stack)
    is_there = functions.col(LOCATIONS).isNotNull()
    if (
        plan.options.insert_duplicates is DuplicatePolicy.FAIL
        and (row := joined.where(is_there).select(KEY).first()) is not None
    ):
        raise DataError(f"the record key {row[0]!r} is in the table already")
    return joined.where(~is_there).drop(LOCATIONS).withColumn(NEW, functions.lit(True))


def routed(found: DataFrame, plan: WritePlan, *, deleted: Column | None = None) -> DataFrame:
    """Rows with LOCATIONS: once for each that they are updated in or leave, and once more if they stay in none.

    Those for which *deleted* is true leave all.
    """
    moves = plan.options.moves_partitions and plan.operation is not Operation.DELETE
    gone = functions.lit(False) if deleted is None else deleted

    def leaves(one: Column) -> Column:
        return gone | _may_leave(one, plan) if moves else gone

    def stays(one: Column) -> Column:
        return ~leaves(one)

    locations = functions.col(LOCATIONS)
    updated = functions.transform(functions.filter(locations, stays), lambda one: _route(one[PATH], one[GROUP]))
    left = functions.transform(functions.filter(locations, leaves), lambda one: _route(one[PATH], one[GROUP], out=True))
    is_new = ~gone & ~functions.coalesce(functions.exists(locations, stays), functions.lit(False))
    added = functions.array(_route(functions.col(PATH), functions.lit(""), new=True))
    routes = [updated, left, functions.when(is_new, added)][: 1 if plan.operation is Operation.DELETE else 3]
    every = functions.concat(*(functions.coalesce(one, functions.array()) for one in routes))
    route = functions.explode(functions.array_distinct(every))  # a file group may have a key twice
    own = [quoted(name) for name in found.columns if name not in (*TAGS.names, LOCATIONS)]
    return found.select(*own, KEY, route.alias(_ROUTE)).select(*own, KEY, f"{_ROUTE}.*")


def _may_leave(one: Column, plan: WritePlan) -> Column:
    """Whether a row may leave a location for its partition: it wins there, and is no delete."""
    leaves = functions.col(PATH) != one[PATH]
    for values in _ordering_values(spark_schema(_that_decides(plan))):
        leaves &= values >= one[_ORDERING]
    if plan.schema.delete_column is not None:
        leaves &= ~functions.coalesce(functions.col(quoted(plan.schema.delete_column)), functions.lit(False))
    return leaves


def _ordering_values(ordering: StructType, *, side: str = "") -> list[Column]:
    """The ordering values of a row, as one column that compares; none without ordering columns."""
    values = comparable(ordering, ordering.names, side=side)
    return [functions.struct(*values).alias(_ORDERING)] if values else []


def _route(path: Column, group: Column, *, new: bool = False, out: bool = False) -> Column:
    left = group if out else functions.lit(None).cast("string")
    return functions.struct(path.alias(PATH), group.alias(GROUP), functions.lit(new).alias(NEW), left.alias(OUT))
