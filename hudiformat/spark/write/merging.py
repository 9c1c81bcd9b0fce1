"""Merge a data frame into a table, as Spark SQL's MERGE INTO does; conditions and values are Spark columns.

A source row matches the table's row that has the same record key and partition path; with a global index the partition
path does not matter.  To a source row with a match, the first clause for matched rows whose condition is true is
applied; to a row without a match, the first clause for unmatched rows.  A row for which no condition is true is
skipped.  In conditions and values the columns are called ``source.<name>`` and ``target.<name>``.  A condition is text
of Spark SQL or a column of Spark, or tuples or a pyarrow expression as for ``hudiformat.Table.merge``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import reduce
from typing import cast

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, functions
from pyspark.sql.types import BooleanType, StructField, StructType

from hudiformat.api.merging import check_clause, refuse_without_key
from hudiformat.api.projecting import project
from hudiformat.api.reading import context_of
from hudiformat.arguments import check_arguments
from hudiformat.catalogs.inline import after_write
from hudiformat.conditions.clauses import Clause, Delete, Insert, Update
from hudiformat.conditions.filters import Filter, as_filter
from hudiformat.errors import DataError
from hudiformat.schema.table_schema import RowKeys, TableSchema
from hudiformat.services.inline import before_write
from hudiformat.spark.errors import reraise_task_errors
from hudiformat.spark.executor import with_tasks
from hudiformat.spark.options import open_for_tasks
from hudiformat.spark.write.batches import limit_batches_by_rows, plan_shuffles_once
from hudiformat.spark.write.by_tasks import write_looked_up_rows
from hudiformat.spark.write.changing import column_of
from hudiformat.spark.write.lookup.global_lookup import LOCATIONS, location, route_rows, rows_everywhere
from hudiformat.spark.write.lookup.live_rows import STORED, keep_one_per_key, live_rows, newest_slices
from hudiformat.spark.write.lookup.tagging import (
    DELETED_FROM,
    GROUP,
    KEY,
    NEW,
    PATH,
    cache,
    key_columns,
    quote,
    with_tags,
)
from hudiformat.spark.write.schema import arrow_schema, spark_schema
from hudiformat.spark.write.unset_values import refuse_unset_values, values_before
from hudiformat.spark.write.workers import in_task
from hudiformat.table.options.values import Operation
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.write.commit.plan import WritePlan
from hudiformat.write.commit.transaction import Commit, attempts
from hudiformat.write.write import check_rows

SOURCE, TARGET = "source", "target"
_OWN = "_hudiformat_"
_CLAUSE, _DELETED, _CONDITION = f"{_OWN}clause", f"{_OWN}deleted", f"{_OWN}condition_"
_JOIN = "merge"
"""The hint for joins with the table's rows: Spark estimates as many rows as slices, and would broadcast all of them."""

_THERE = "_hudiformat_there"
"""The partition path of the row that a source row matches, which may be another partition than its own."""


@check_arguments
def merge(
    source: DataFrame,
    path: str,
    *,
    when_matched: Sequence[Update | Delete] = (),
    when_not_matched: Sequence[Insert] = (),
    options: Mapping[str, str] | None = None,
) -> Commit:
    """Merge the rows of *source* into the table at *path*, in one commit.

    The source needs the columns of the record key and partition path, which a merge does not change.  With a global
    index it needs only those of the record key, and an update of a partition column moves the row.  If several source
    rows have the same key, the row with the greatest ordering values is used.  Conditions of clauses are text of Spark
    SQL or a ``Column``, or tuples or a pyarrow expression as for ``hudiformat.Table.merge``.

    Raises:
        SchemaError: a clause sets a column that the table does not have, or a column of the record key or partition
            path.
        DataError: several source rows have the same key and there is no ordering column to choose by, or an update sets
            a column to a value that the table takes for an unset one; the table is unchanged.
        HudiFormatError: as for :func:`hudiformat.spark.upsert`.

    Source: MergeIntoHoodieTableCommand and ExpressionPayload, Hudi 1.2.0; spec/spark.md.
    """
    table = open_for_tasks(path, options)
    context = with_tasks(source.sparkSession, context_of(table))
    clauses = [*when_matched, *when_not_matched]

    def write_files(schema: TableSchema, plan: WritePlan) -> Iterator[WriteStat]:
        for clause in clauses:
            check_clause(clause, schema.arrow.names, _fixed_columns(plan))
        with ExitStack() as stack:
            stack.enter_context(plan_shuffles_once(source.sparkSession, 0))
            named = _rename_to_table_case(source, schema.arrow.names)
            rows = cache(_one_per_key(_tag(named, plan, schema), plan), stack)
            reader = plan.slice_reader(context.merger)
            if plan.options.is_global:
                target = rows_everywhere(rows, plan, reader, schema.arrow, stack, group=DELETED_FROM)
                target = target.withColumnRenamed(PATH, _THERE).hint(_JOIN)
                joined, slices = rows.alias(SOURCE).join(target.alias(TARGET), KEY, "left"), None
            else:
                slices = newest_slices(rows, plan)
                target = live_rows(source.sparkSession, table.path, reader, slices, schema.arrow, group=DELETED_FROM)
                joined = rows.alias(SOURCE).join(target.hint(_JOIN).alias(TARGET), [PATH, KEY], "left")
            found = cache(_apply_clauses(joined, clauses, schema, plan), stack)
            return write_looked_up_rows(found, plan, schema, slices)

    with reraise_task_errors(), limit_batches_by_rows(source.sparkSession):
        state = before_write(context)
        refuse_without_key(state)
        checked = check_rows(state, Operation.UPSERT, state.schema.arrow)
        for write in attempts(state, Operation.UPSERT, change=checked.change):
            with write:
                write.commit(write_files(checked.schema, write.plan))
        return after_write(write.result)


def _fixed_columns(plan: WritePlan) -> Sequence[str]:
    """Return the columns that no clause may set; with a global index, clauses may set partition columns."""
    return list(RowKeys.of(plan.config).key_columns) if plan.options.is_global else key_columns(plan)


def _rename_to_table_case(source: DataFrame, names: Sequence[str]) -> DataFrame:
    """Rename the columns of *source* as the table spells them, unless Spark distinguishes upper and lower case."""
    if (source.sparkSession.conf.get("spark.sql.caseSensitive") or "").lower() == "true":
        return source
    given, own = source.columns, set(names)
    of_table = {name.lower(): name for name in own.difference(given)}
    return source.toDF(*(name if name in own else of_table.get(name.lower(), name) for name in given))


def _tag(source: DataFrame, plan: WritePlan, schema: TableSchema) -> DataFrame:
    """Add the tags to the rows; with a global index the source may lack partition columns, which are null then."""
    missing = set(key_columns(plan)) - set(_fixed_columns(plan)) - set(source.columns)
    if not missing:
        return with_tags(source, plan, schema)
    kinds = {field.name: field.dataType for field in spark_schema(schema.arrow)}
    nothing = {name: functions.lit(None).cast(kinds[name]) for name in missing}
    return with_tags(source.withColumns(nothing), plan, schema).drop(*missing)


def _one_per_key(rows: DataFrame, plan: WritePlan) -> DataFrame:
    """Keep one source row per key, by the ordering columns; without them, several rows with a key are an error."""
    fields, keys = plan.ordering_fields, (KEY,) if plan.options.is_global else (KEY, PATH)
    if fields and set(fields) <= set(rows.columns):
        return keep_one_per_key(rows, keys, fields)
    double = rows.groupBy(*keys).count().where("count > 1").first()
    if double is not None:
        where = "" if plan.options.is_global else f" in partition {double[PATH]!r}"
        raise DataError(
            f"{double['count']} source rows have the record key {double[KEY]!r}{where}, and no ordering column that "
            "says which counts: leave one of them"
        )
    return rows


def _apply_clauses(joined: DataFrame, clauses: Sequence[Clause], schema: TableSchema, plan: WritePlan) -> DataFrame:
    """Apply the clauses to the joined rows; return the rows to write and to delete, with their tags."""
    is_new, given = functions.col(DELETED_FROM).isNull(), Counter(joined.columns)
    joined, conditions = _with_conditions(joined, clauses)
    pairs = zip(clauses, conditions, strict=True)
    number = _first([(is_new == isinstance(clause, Insert)) & condition for clause, condition in pairs])
    chosen = joined.withColumn(_CLAUSE, number).where(functions.col(_CLAUSE).isNotNull())
    keys = _fixed_columns(plan)
    has = {field.name for field in schema.arrow if given[field.name] > 1}
    stored = () if not plan.options.is_global else RowKeys.of(plan.config).shown_from_path
    columns: list[Column] = []
    before: dict[str, tuple[Column, Column]] = {}
    for field in spark_schema(schema.arrow).fields:
        kept = functions.col(f"{STORED}{field.name}" if field.name in stored else _named(TARGET, field.name))
        values = [_value(clause, field, kept, in_source=field.name in has) for clause in clauses]
        value = functions.col(_named(SOURCE, field.name)) if field.name in keys else _choose(values)
        columns.append(value.cast(field.dataType).alias(field.name))
        setting = [n for n, one in enumerate(clauses) if isinstance(one, Update) and field.name in (one.values or ())]
        if setting and field.name not in keys:
            before[field.name] = (functions.col(_CLAUSE).isin(setting), kept)
    columns += values_before(before, plan.rule)
    is_delete = functions.col(_CLAUSE).isin([n for n, clause in enumerate(clauses) if isinstance(clause, Delete)])
    if plan.options.is_global:
        place = location(plan, functions.col(_THERE), functions.col(DELETED_FROM), side=f"{TARGET}.")
        places = functions.when(~is_new, functions.array(place)).alias(LOCATIONS)
        found = chosen.select(*columns, places, is_delete.alias(_DELETED))
        moved = with_tags(refuse_unset_values(found, plan.rule, of=Update.__name__), plan, schema)
        return route_rows(moved, plan, deleted=functions.col(_DELETED)).drop(_DELETED)
    out = functions.when(is_delete, functions.col(DELETED_FROM)).alias(DELETED_FROM)
    group = (
        functions.col(GROUP) if plan.uses_buckets else functions.coalesce(DELETED_FROM, functions.lit("")).alias(GROUP)
    )
    found = chosen.select(*columns, PATH, group, KEY, is_new.alias(NEW), out)
    return refuse_unset_values(found, plan.rule, of=Update.__name__)


def _with_conditions(joined: DataFrame, clauses: Sequence[Clause]) -> tuple[DataFrame, list[Column]]:
    """Return the joined rows, and the conditions of the clauses as columns of them; a text is of Spark SQL.

    Conditions of Arrow, an expression or tuples, are evaluated by tasks in Python, which add columns with the results.
    The columns of the two sides are then fields of two structs, which Spark names in the same way.
    """
    found = {f"{_CONDITION}{number}": clause.condition for number, clause in enumerate(clauses)}
    ours = {name: one for name, one in found.items() if isinstance(one, pc.Expression | list | tuple)}
    conditions = [_condition(functions.col(name) if name in ours else one) for name, one in found.items()]
    if not ours:
        return joined, conditions
    tags = [name for name, count in Counter(joined.columns).items() if count == 1 and name.startswith(_OWN)]
    rows = joined.select(*(functions.struct(f"{side}.*").alias(side) for side in (SOURCE, TARGET)), *tags)
    sides = arrow_schema(StructType([rows.schema[SOURCE], rows.schema[TARGET]]))
    asked = {name: as_filter(cast("Filter", one), sides) for name, one in ours.items()}
    kind = StructType([*rows.schema.fields, *(StructField(name, BooleanType()) for name in asked)])
    return rows.mapInArrow(in_task(_evaluate, list(asked.values())), kind), conditions


def _evaluate(conditions: Sequence[pc.Expression], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Append to the rows of each batch, as columns, whether the *conditions* are true of them."""
    names = [str(number) for number in range(len(conditions))]
    for batch in batches:
        if len(batch):
            found = project(pa.Table.from_batches([batch]), conditions, names, of="merge").combine_chunks()
            columns = [*batch.columns, *(one.chunk(0) for one in found.columns)]
            yield pa.RecordBatch.from_arrays(columns, names=[*batch.schema.names, *names])


def _condition(given: object) -> Column:
    if isinstance(given, str):
        return functions.expr(given)
    return functions.lit(True) if given is None else _column(given)


def _value(clause: Clause, field: StructField, kept: Column, *, in_source: bool) -> Column:
    """Return the value that *clause* puts into a column; *kept* is the value that the table has."""
    name = field.name
    if not isinstance(clause, Delete):
        if clause.values is not None and name in clause.values:
            return column_of(clause.values[name], field.dataType, name)
        if clause.values is None and in_source:
            return functions.col(_named(SOURCE, name))
    return functions.lit(None) if isinstance(clause, Insert) else kept


def _column(value: object) -> Column:
    """Return *value* as a Spark column; Spark Connect has its own Column class."""
    return cast("Column", value) if hasattr(value, "isNotNull") else functions.lit(value)


def _named(side: str, name: str) -> str:
    return f"{side}.{quote(name)}"


def _first(conditions: Sequence[Column]) -> Column:
    """Return a column with the number of the first condition that is true; null if none is."""
    return functions.coalesce(
        *(functions.when(condition, number) for number, condition in enumerate(conditions)),
        functions.lit(None).cast("int"),
    )


def _choose(values: Sequence[Column]) -> Column:
    """Return a column with the value of the clause whose number is in _CLAUSE."""
    cases = enumerate(values)
    nothing = functions.lit(None)
    return reduce(
        lambda rest, case: functions.when(functions.col(_CLAUSE) == case[0], case[1]).otherwise(rest), cases, nothing
    )
