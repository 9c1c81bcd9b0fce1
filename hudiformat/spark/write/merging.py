"""Merging a data frame into a table: what Spark SQL's MERGE INTO does, with columns for expressions.

A source row matches the row of the table with its record key and partition path.  Of the clauses for rows that match,
or for those that do not, the first whose condition holds is applied; a row for which none holds is skipped.  In
conditions and values the columns are called ``source.<name>`` and ``target.<name>``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial, reduce

from pyspark.sql import Column, DataFrame, functions

from hudiformat.errors import DataError, SchemaError, UnsupportedFeatureError
from hudiformat.options import Operation
from hudiformat.services import write_and_serve
from hudiformat.shuffle import (
    GROUP,
    KEY,
    NEW,
    OUT,
    PATH,
    cached,
    cut_by_rows,
    key_columns,
    live_rows,
    newest_slices,
    one_per_key,
    quoted,
    spark_schema,
    with_tags,
    write_found,
)
from hudiformat.spark.errors import reraised
from hudiformat.spark.options import open_for_tasks
from hudiformat.spark.services import with_tasks
from hudiformat.table import TableSchema, TableState
from hudiformat.timeline import WriteStat
from hudiformat.transaction import Commit, WritePlan, write_and_commit
from hudiformat.write import check_rows

SOURCE, TARGET = "source", "target"
_CLAUSE = "_hudiformat_clause"


@dataclass(frozen=True, slots=True)
class Update:
    """Give columns of a row that matches other values; without *values*, those that the source has."""

    values: Mapping[str, Column] | None = None
    condition: Column | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete a row that matches, whatever its ordering values."""

    condition: Column | None = None


@dataclass(frozen=True, slots=True)
class Insert:
    """Add a source row that matches none, with *values*, or with the source's; other columns are null."""

    values: Mapping[str, Column] | None = None
    condition: Column | None = None


Clause = Update | Delete | Insert


def merge(
    source: DataFrame,
    path: str,
    *,
    when_matched: Sequence[Update | Delete] = (),
    when_not_matched: Sequence[Insert] = (),
    options: Mapping[str, str] | None = None,
) -> Commit:
    """Merge the rows of *source* into the table at *path*, in one commit.

    The source has the columns that record key and partition path are made of, which a merge does not change.  Of
    several source rows with one key the one with the greatest ordering values counts.

    Raises:
        SchemaError: a clause names a column that the table does not have, or one that keys are made of.
        DataError: several source rows have one key, and no ordering column decides; the table is as it was.
        HudiFormatError: as for :func:`hudiformat.spark.upsert`.

    Source: MergeIntoHoodieTableCommand and ExpressionPayload, Hudi 1.2.0; spec/spark.md.
    """
    table = open_for_tasks(path, options)
    context = with_tasks(source.sparkSession, table.context)
    clauses = [*when_matched, *when_not_matched]
    if context.options.is_global:
        raise UnsupportedFeatureError(
            f"{path}: a merge matches rows by partition path and record key, which the index "
            f"{context.options.index_type.value} does not; upsert and delete know it",
            feature="merge with a global index",
        )

    def write_files(schema: TableSchema, plan: WritePlan) -> Iterator[WriteStat]:
        _check(clauses, schema, key_columns(plan))
        with ExitStack() as stack:
            rows = cached(_one_per_key(with_tags(source, plan, schema), plan), stack)
            slices = newest_slices(rows, plan)
            reader = plan.slice_reader(context.merger)
            target = live_rows(source.sparkSession, table.path, reader, slices, schema.arrow, group=OUT)
            joined = rows.alias(SOURCE).join(target.alias(TARGET), [PATH, KEY], "left")
            found = cached(_found(joined, clauses, schema, plan), stack)
            return write_found(found, plan, schema, slices)

    def write(state: TableState) -> tuple[Commit, TableState]:
        checked = check_rows(state, Operation.UPSERT, state.schema.arrow)
        by_tasks = partial(write_files, checked.schema)
        return write_and_commit(context, Operation.UPSERT, by_tasks, seen=state, change=checked.change)

    with reraised(), cut_by_rows(source.sparkSession):
        return write_and_serve(context, write)


def _check(clauses: Sequence[Clause], schema: TableSchema, keys: Sequence[str]) -> None:
    for clause in clauses:
        for name in () if isinstance(clause, Delete) else clause.values or ():
            if name not in schema.arrow.names:
                raise SchemaError(
                    f"{type(clause).__name__}: the column {name!r} is not in the table; its columns are "
                    f"{', '.join(schema.arrow.names)}",
                    column=name,
                )
            if name in keys:
                raise SchemaError(
                    f"{type(clause).__name__}: the column {name!r} is of the record key or partition path, which the "
                    "source gives; leave it out",
                    column=name,
                )


def _one_per_key(rows: DataFrame, plan: WritePlan) -> DataFrame:
    fields = plan.ordering_fields
    if fields and set(fields) <= set(rows.columns):
        return one_per_key(rows, (PATH, KEY), fields)
    double = rows.groupBy(PATH, KEY).count().where("count > 1").first()
    if double is not None:
        raise DataError(
            f"{double[2]} source rows have the record key {double[1]!r} in partition {double[0]!r}, and no ordering "
            "column that says which counts: leave one of them"
        )
    return rows


def _found(joined: DataFrame, clauses: Sequence[Clause], schema: TableSchema, plan: WritePlan) -> DataFrame:
    """The rows to write, and those to delete, with their tags."""
    is_new = functions.col(OUT).isNull()
    number = _first([(is_new == isinstance(clause, Insert)) & _condition(clause) for clause in clauses])
    chosen = joined.withColumn(_CLAUSE, number).where(functions.col(_CLAUSE).isNotNull())
    keys, given = key_columns(plan), joined.columns
    has = [field.name for field in schema.arrow if given.count(field.name) > 1]
    columns = []
    for field in spark_schema(schema.arrow).fields:
        values = [_value(clause, field.name, in_source=field.name in has) for clause in clauses]
        value = functions.col(_named(SOURCE, field.name)) if field.name in keys else _chosen(values)
        columns.append(value.cast(field.dataType).alias(field.name))
    deletes = [number for number, clause in enumerate(clauses) if isinstance(clause, Delete)]
    out = functions.when(functions.col(_CLAUSE).isin(deletes), functions.col(OUT)).alias(OUT)
    group = functions.col(GROUP) if plan.uses_buckets else functions.coalesce(OUT, functions.lit("")).alias(GROUP)
    return chosen.select(*columns, PATH, group, KEY, is_new.alias(NEW), out)


def _condition(clause: Clause) -> Column:
    return functions.lit(True) if clause.condition is None else clause.condition


def _value(clause: Clause, name: str, *, in_source: bool) -> Column:
    """What a clause puts into a column."""
    if not isinstance(clause, Delete):
        if clause.values is not None and name in clause.values:
            return clause.values[name]
        if clause.values is None and in_source:
            return functions.col(_named(SOURCE, name))
    return functions.lit(None) if isinstance(clause, Insert) else functions.col(_named(TARGET, name))


def _named(side: str, name: str) -> str:
    return f"{side}.{quoted(name)}"


def _first(conditions: Sequence[Column]) -> Column:
    """The number of the first of *conditions* that holds; null where none does."""
    return functions.coalesce(
        *(functions.when(condition, number) for number, condition in enumerate(conditions)),
        functions.lit(None).cast("int"),
    )


def _chosen(values: Sequence[Column]) -> Column:
    """The value of the clause that counts."""
    cases = enumerate(values)
    nothing = functions.lit(None)
    return reduce(
        lambda rest, case: functions.when(functions.col(_CLAUSE) == case[0], case[1]).otherwise(rest), cases, nothing
    )
