"""Write with a global index: a row's key is looked up in all partitions, and a row may move to another partition.

    tag -> keep one row per record key -> join by record key with the rows of all newest slices, or with the entries of
        the record index -> route each row -> count the new rows, plan, assign, shuffle and write as after any look-up

The rules are those of hudiformat.write.index.global_index.
Source: HoodieGlobalSimpleIndex, HoodieIndexUtils.tagGlobalLocationBackToRecords, Hudi 1.2.0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame, functions
from pyspark.sql.types import BooleanType, IntegralType, StringType, StructType

from hudiformat.errors import UnsupportedFeatureError
from hudiformat.file_group.reader import SliceReader
from hudiformat.file_group.slices import FileSlice
from hudiformat.schema.table_schema import TableSchema
from hudiformat.spark.write.by_driver import seems_small, write_in_driver
from hudiformat.spark.write.by_tasks import write_looked_up_rows, write_shuffled
from hudiformat.spark.write.lookup.live_rows import comparable_columns, keep_one_per_key, live_rows, slices_of
from hudiformat.spark.write.lookup.record_lookup import named_rows
from hudiformat.spark.write.lookup.tagging import (
    DELETED_FROM,
    GROUP,
    KEY,
    NEW,
    PATH,
    TAGS,
    cache,
    cache_if_slow,
    is_deleted,
    quote,
    refuse_merged_columns,
    with_tags,
)
from hudiformat.spark.write.schema import spark_schema
from hudiformat.spark.write.summary import summarize
from hudiformat.storage.opening import open_storage
from hudiformat.table.options.values import DuplicatePolicy, Operation
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.write.commit.plan import WritePlan
from hudiformat.write.index.tagging import key_exists

LOCATIONS = "_hudiformat_locations"
"""The places where the table has the record key of a row, as :func:`location` makes them; null if there are none."""

_SAME_TEXT = (StringType, IntegralType, BooleanType)
"""Types whose values have the same text in Java and in Spark SQL."""
_ROUTE, _ORDERING = "_hudiformat_route", "_hudiformat_ordering"


def write_everywhere(df: DataFrame, plan: WritePlan, schema: TableSchema) -> Iterator[WriteStat]:
    """Write the rows of *df*, which have the columns of *schema*, by tasks; return the statistics of every file.

    Raises:
        DataError: a record key is null, or exists already and the insert forbids that.
    """
    is_combined = plan.combines
    if not (is_combined or plan.looks_everywhere):
        return write_shuffled(df, plan, schema)
    with ExitStack() as stack:
        df = cache_if_slow(df, stack)
        known = summarize(df, plan, schema, with_data=seems_small(df, plan))
        written = write_in_driver(df, known.rows, plan, schema, data=known.data)
        if written is not None:
            return iter(written)
        rows = cache(with_tags(df, plan, schema), stack)
        if is_combined:
            refuse_merged_columns(plan)
            rows = keep_one_per_key(rows, [KEY], plan.combining.ordering_fields)
        if not plan.looks_everywhere:
            return write_shuffled(cache(rows.drop(*TAGS.names), stack), plan, schema)
        is_insert = plan.operation is Operation.INSERT
        table = _TableRows.of(plan, stack)
        found = _keep_new_rows(rows, plan, table, stack) if is_insert else route_rows(table.join(rows), plan)
        return write_looked_up_rows(cache(found, stack), plan, schema, table.slices)


@dataclass(frozen=True)
class _TableRows:
    """The rows of the table: the rows of all newest ``slices``, or, if these are None, the rows by the record index."""

    plan: WritePlan
    slices: Sequence[FileSlice] | None
    stack: ExitStack

    @classmethod
    def of(cls, plan: WritePlan, stack: ExitStack) -> _TableRows:
        if plan.record_index is not None:
            return cls(plan, None, stack)
        return cls(plan, slices_of(plan, plan.partitions(open_storage(plan.root))), stack)

    def join(self, rows: DataFrame) -> DataFrame:
        """Return *rows* with LOCATIONS, by a join with the table's rows."""
        plan, ordering = self.plan, _ordering_to_compare(self.plan)
        if self.slices is None:
            assert plan.record_index is not None  # noqa: S101 - else there are slices
            rows = cache(rows, self.stack)
            live = named_rows(rows, plan, plan.record_index, ordering, self.stack)
        else:
            live = live_rows(rows.sparkSession, plan.root, plan.slice_reader(), self.slices, ordering, group=GROUP)
        every = functions.collect_list(location(plan, functions.col(PATH), functions.col(GROUP)))
        return rows.join(live.groupBy(KEY).agg(every.alias(LOCATIONS)), KEY, "left")

    def read(self, rows: DataFrame, reader: SliceReader, columns: pa.Schema, *, group: str) -> DataFrame:
        """Return the table's rows that have the keys of *rows*, with stored columns: see :func:`live_rows`.

        Other rows of the same file slices are returned too; a join with *rows* drops them.
        """
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
    """Return the table's rows that have the keys of *rows*, with *columns*, PATH, KEY and, in *group*, their file id.

    Other rows of the same file slices are returned too.  The partition columns are also there with their stored values:
    see :func:`as_stored`.  *rows* have to be tagged and cached.
    """
    return _TableRows.of(plan, stack).read(rows, reader, columns, group=group)


def location(plan: WritePlan, path: Column, group: Column, *, side: str = "") -> Column:
    """Return a place where the table has a record key, as a struct with the ordering values in the columns of *side*.

    The struct has PATH, GROUP and, if rows may leave their partition, the ordering values.
    """
    values = _ordering_values(spark_schema(_ordering_to_compare(plan)), side=side)
    return functions.struct(path.alias(PATH), group.alias(GROUP), *values)


def _ordering_to_compare(plan: WritePlan) -> pa.Schema:
    """Return the ordering columns by which a row may leave its partition; none if rows never leave it."""
    moves = plan.options.moves_partitions and plan.operation is not Operation.DELETE
    return pa.schema([plan.schema.arrow.field(name) for name in (plan.ordering_fields if moves else ())])


def _keep_new_rows(rows: DataFrame, plan: WritePlan, table: _TableRows, stack: ExitStack) -> DataFrame:
    """Return the rows of an insert whose keys are in no partition of the table.

    Raises:
        DataError: a key exists, and the insert fails on duplicates.

    Source: HoodieSparkSqlWriter, DataSourceUtils.resolveDuplicates.
    """
    joined = cache(table.join(rows), stack)
    is_there = functions.col(LOCATIONS).isNotNull()
    if (
        plan.options.insert_duplicates is DuplicatePolicy.FAIL
        and (row := joined.where(is_there).select(KEY).first()) is not None
    ):
        raise key_exists(row[0])
    return joined.where(~is_there).drop(LOCATIONS).withColumn(NEW, functions.lit(True))


def route_rows(found: DataFrame, plan: WritePlan, *, deleted: Column | None = None) -> DataFrame:
    """Route each row with LOCATIONS to the file groups in which it is updated, deleted or inserted.

    The result has one row for each location: an update if the row stays in that file group, or a delete if it leaves
    it.  If it stays in none, one more row inserts it in its own partition.  A row for which *deleted* is true is only
    deleted, from all its locations.
    """
    moves = plan.options.moves_partitions and plan.operation is not Operation.DELETE
    gone = functions.lit(False) if deleted is None else deleted

    def leaves(one: Column) -> Column:
        return gone | _may_leave(one, found, plan) if moves else gone

    def stays(one: Column) -> Column:
        return ~leaves(one)

    locations = functions.col(LOCATIONS)
    updated = functions.transform(functions.filter(locations, stays), lambda one: _route(one[PATH], one[GROUP]))
    left = functions.transform(functions.filter(locations, leaves), lambda one: _route(one[PATH], one[GROUP], out=True))
    is_new = ~gone & ~functions.coalesce(functions.exists(locations, stays), functions.lit(False))
    added = functions.array(_route(functions.col(PATH), functions.lit(""), new=True))
    routes = [updated, left, functions.when(is_new, added)][: 1 if plan.operation is Operation.DELETE else 3]
    every = functions.concat(*(functions.coalesce(one, functions.array()) for one in routes))
    route = functions.explode(functions.array_distinct(every))  # a file group may hold a key twice
    own = [quote(name) for name in found.columns if name not in (*TAGS.names, LOCATIONS)]
    return found.select(*own, KEY, route.alias(_ROUTE)).select(*own, KEY, f"{_ROUTE}.*")


def _may_leave(one: Column, found: DataFrame, plan: WritePlan) -> Column:
    """Return whether a row may leave the location *one* for its own partition: it wins there, and is no delete.

    Raises:
        UnsupportedFeatureError: values of the column that marks deletes have other texts in Java than in Spark.
    """
    marker = plan.rule.delete_marker
    kinds = {field.name: field.dataType for field in found.schema}
    if marker is not None and not isinstance(kinds.get(marker.column), _SAME_TEXT):
        raise UnsupportedFeatureError(
            f"{plan.root}: expected a column of texts, integers or booleans that marks deletes, found {marker.column} "
            "of another type, with a global index that moves rows; set the index's update.partition.path to false",
            feature="custom delete markers of other types with a global index",
        )
    leaves = functions.col(PATH) != one[PATH]
    for values in _ordering_values(spark_schema(_ordering_to_compare(plan))):
        leaves &= values >= one[_ORDERING]
    return leaves & ~is_deleted(found, plan)


def _ordering_values(ordering: StructType, *, side: str = "") -> list[Column]:
    """Return the ordering values of a row as one column that can be compared; nothing without ordering columns."""
    values = comparable_columns(ordering, ordering.names, side=side)
    return [functions.struct(*values).alias(_ORDERING)] if values else []


def _route(path: Column, group: Column, *, new: bool = False, out: bool = False) -> Column:
    left = group if out else functions.lit(None).cast("string")
    return functions.struct(
        path.alias(PATH), group.alias(GROUP), functions.lit(new).alias(NEW), left.alias(DELETED_FROM)
    )
