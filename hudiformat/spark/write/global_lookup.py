"""Writing with a global index: a row's key is looked for in all partitions, and a row may leave the one that it is in.

    tag -> one row per record key -> join with the rows of all newest slices, by record key -> where each goes
        -> count the new rows, plan, place, shuffle, write as after any look-up

The rules are those of hudiformat.index.global_index.
Source: HoodieGlobalSimpleIndex, HoodieIndexUtils.tagGlobalLocationBackToRecords, Hudi 1.2.0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack

import pyarrow as pa
from pyspark.sql import Column, DataFrame, functions
from pyspark.sql.types import NumericType, StructType

from hudiformat.errors import DataError
from hudiformat.options import DuplicatePolicy, Operation
from hudiformat.spark.schema import spark_schema
from hudiformat.spark.write.live_rows import live_rows, one_per_key
from hudiformat.spark.write.shuffle import slices_of, write_found, write_shuffled
from hudiformat.spark.write.tagging import GROUP, KEY, NEW, OUT, PATH, TAGS, cached, quoted, with_tags
from hudiformat.storage import open_storage
from hudiformat.table import TableSchema
from hudiformat.timeline import WriteStat
from hudiformat.transaction import WritePlan
from hudiformat.view import FileSlice, list_partitions

_PLACES, _ROUTE, _ORDERING = "_hudiformat_places", "_hudiformat_route", "_hudiformat_ordering"


def write_everywhere(df: DataFrame, plan: WritePlan, schema: TableSchema) -> Iterator[WriteStat]:
    """Write the rows of *df*, which have the columns of *schema*, by tasks; a statistic for every file.

    Raises:
        DataError: a record key is null, or there already where it must not be.
    """
    is_combined = plan.combines
    if not (is_combined or plan.looks_everywhere):
        return write_shuffled(df, plan, schema)
    with ExitStack() as stack:
        rows = with_tags(df, plan, schema)
        if is_combined:
            rows = one_per_key(rows, [KEY], plan.ordering_fields)
        if not plan.looks_everywhere:
            return write_shuffled(cached(rows.drop(*TAGS.names), stack), plan, schema)
        slices = slices_of(plan, [path for path, _ in list_partitions(open_storage(plan.root))])
        is_insert = plan.operation is Operation.INSERT
        found = _absent(rows, plan, slices, stack) if is_insert else _routed(rows, plan, slices)
        return write_found(cached(found, stack), plan, schema, slices)


def _absent(rows: DataFrame, plan: WritePlan, slices: Sequence[FileSlice], stack: ExitStack) -> DataFrame:
    """The rows of an insert whose keys are nowhere.

    Source: HoodieSparkSqlWriter, DataSourceUtils.resolveDuplicates.
    """
    joined = cached(_with_places(rows, plan, slices, pa.schema([])), stack)
    is_there = functions.col(_PLACES).isNotNull()
    if (
        plan.options.insert_duplicates is DuplicatePolicy.FAIL
        and (row := joined.where(is_there).select(KEY).first()) is not None
    ):
        raise DataError(f"the record key {row[0]!r} is in the table already")
    return joined.where(~is_there).drop(_PLACES).withColumn(NEW, functions.lit(True))


def _routed(rows: DataFrame, plan: WritePlan, slices: Sequence[FileSlice]) -> DataFrame:
    """The rows, once for each place that they are updated in or leave, and once more if none of them stays anywhere."""
    moves = plan.options.moves_partitions and plan.operation is not Operation.DELETE
    names = plan.ordering_fields if moves else ()
    ordering = pa.schema([plan.schema.arrow.field(name) for name in names])
    found = _with_places(rows, plan, slices, ordering)

    def leaves(place: Column) -> Column:
        return _may_leave(place, plan, spark_schema(ordering)) if moves else functions.lit(False)

    def stays(place: Column) -> Column:
        return ~leaves(place)

    places = functions.col(_PLACES)
    updated = functions.transform(functions.filter(places, stays), lambda one: _route(one[PATH], one[GROUP]))
    left = functions.transform(functions.filter(places, leaves), lambda one: _route(one[PATH], one[GROUP], out=True))
    is_new = ~functions.coalesce(functions.exists(places, stays), functions.lit(False))
    added = functions.array(_route(functions.col(PATH), functions.lit(""), new=True))
    routes = [updated, left, functions.when(is_new, added)][: 1 if plan.operation is Operation.DELETE else 3]
    every = functions.concat(*(functions.coalesce(one, functions.array()) for one in routes))
    route = functions.explode(functions.array_distinct(every))  # a file group may have a key twice
    own = [quoted(name) for name in rows.columns if name not in TAGS.names]
    return found.select(*own, KEY, route.alias(_ROUTE)).select(*own, KEY, f"{_ROUTE}.*")


def _with_places(rows: DataFrame, plan: WritePlan, slices: Sequence[FileSlice], ordering: pa.Schema) -> DataFrame:
    """The rows with the places of their keys in the table, and the *ordering* values there; null if there are none."""
    reader = plan.slice_reader()
    live = live_rows(rows.sparkSession, plan.root, reader, slices, ordering, group=GROUP)
    place = functions.struct(PATH, GROUP, *_ordering_values(spark_schema(ordering)))
    return rows.join(live.groupBy(KEY).agg(functions.collect_list(place).alias(_PLACES)), KEY, "left")


def _may_leave(place: Column, plan: WritePlan, ordering: StructType) -> Column:
    """Whether a row may leave a place for its partition: it wins there, and is no delete."""
    leaves = functions.col(PATH) != place[PATH]
    for values in _ordering_values(ordering):
        leaves &= values >= place[_ORDERING]
    if plan.schema.delete_column is not None:
        leaves &= ~functions.coalesce(functions.col(quoted(plan.schema.delete_column)), functions.lit(False))
    return leaves


def _ordering_values(ordering: StructType) -> list[Column]:
    """The ordering values of a row, as one column that compares; none without ordering columns.

    Null counts as Hudi's default, zero among numbers; in a struct it is below everything else.
    """
    values = []
    for field in ordering:
        value = functions.col(quoted(field.name)).cast(field.dataType)
        if isinstance(field.dataType, NumericType):
            value = functions.coalesce(value, functions.lit(0).cast(field.dataType))
        values.append(value)
    return [functions.struct(*values).alias(_ORDERING)] if values else []


def _route(path: Column, group: Column, *, new: bool = False, out: bool = False) -> Column:
    left = group if out else functions.lit(None).cast("string")
    return functions.struct(path.alias(PATH), group.alias(GROUP), functions.lit(new).alias(NEW), left.alias(OUT))
