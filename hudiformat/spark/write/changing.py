"""Update and delete the rows for which a condition is true, as Spark SQL's UPDATE and DELETE do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime, time
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Row, SparkSession, functions
from pyspark.sql.types import ArrayType, DataType, IntegerType, LongType, MapType, StructType, TimestampNTZType

from hudiformat.api.changing import check_updated
from hudiformat.api.reading import context_of
from hudiformat.arguments import check_arguments
from hudiformat.catalogs.inline import after_write
from hudiformat.conditions.filters import Filter, as_filter
from hudiformat.conditions.translation import columns_named
from hudiformat.errors import SchemaError, format_value, unknown_column_error
from hudiformat.read.skipping import PartitionPruner
from hudiformat.schema.meta_fields import is_meta_field
from hudiformat.schema.table_schema import RowKeys, TableSchema
from hudiformat.services.inline import before_write
from hudiformat.spark.errors import reraise_task_errors
from hudiformat.spark.executor import with_tasks
from hudiformat.spark.options import open_for_tasks
from hudiformat.spark.read.native import pruning
from hudiformat.spark.write.batches import limit_batches_by_rows
from hudiformat.spark.write.by_tasks import write_assigned_rows
from hudiformat.spark.write.lookup.live_rows import as_stored, live_rows, slices_of
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
from hudiformat.spark.write.schema import spark_schema
from hudiformat.spark.write.unset_values import refuse_unset_values, values_before
from hudiformat.storage.opening import open_storage
from hudiformat.table.options.values import Operation
from hudiformat.table.state import TableContext
from hudiformat.write.commit.plan import WritePlan
from hudiformat.write.commit.transaction import Commit, attempts
from hudiformat.write.write import check_rows


def column_of(value: object, kind: DataType, name: str) -> Column:
    """Return *value*, a column or a Python value, as a column of type *kind*; *name* is for error messages.

    ``functions.lit`` alone does not do: it has no structs and maps, and it reads a datetime without a zone as a moment
    in the session's zone, which changes the time of day.

    Raises:
        SchemaError: a dict has a field that the struct *kind* does not have, or a nested value does not fit *kind*.
    """
    if hasattr(value, "isNotNull"):  # Spark Connect has its own Column class
        return cast("Column", value).cast(kind)
    if value is None:
        return functions.lit(None).cast(kind)
    if isinstance(kind, StructType | MapType | ArrayType):
        return _nested(value, kind, name).cast(kind)
    if isinstance(kind, TimestampNTZType) and isinstance(value, datetime) and value.tzinfo is None:
        return functions.lit(value.isoformat(sep=" ")).cast(kind)
    if isinstance(value, time) and isinstance(kind, LongType | IntegerType):
        return functions.lit(_since_midnight(value, kind)).cast(kind)
    return functions.lit(value).cast(kind)


def _nested(value: Any, kind: StructType | MapType | ArrayType, name: str) -> Column:
    if isinstance(kind, StructType):
        return _structure(value, kind, name)
    if isinstance(kind, MapType):
        parts = [
            (column_of(key, kind.keyType, name), column_of(one, kind.valueType, name))
            for key, one in _pairs(value, kind, name)
        ]
        return functions.create_map(*(part for pair in parts for part in pair))
    if not isinstance(value, Iterable) or isinstance(value, str | bytes):
        raise _type_error(value, kind, name, "a list")
    return functions.array(*(column_of(one, kind.elementType, name) for one in value))


def _structure(value: Any, kind: StructType, name: str) -> Column:
    fields = value.asDict() if isinstance(value, Row) else value
    if not isinstance(fields, Mapping):
        raise _type_error(value, kind, name, "a dict")
    known = set(kind.names)
    if strange := next((one for one in fields if one not in known), None):
        raise unknown_column_error(f"{name}.{strange}", [f"{name}.{one}" for one in kind.names])
    inner = [column_of(fields.get(one.name), one.dataType, f"{name}.{one.name}").alias(one.name) for one in kind]
    return functions.struct(*inner)


def _pairs(value: Any, kind: MapType, name: str) -> list[tuple[Any, Any]]:
    try:
        return list(dict(value).items())
    except (TypeError, ValueError):
        raise _type_error(value, kind, name, "a dict") from None


def _type_error(value: object, kind: DataType, name: str, expected: str) -> SchemaError:
    return SchemaError(
        f"column {name} of type {kind.simpleString()}: expected {expected}, found {format_value(value)}", column=name
    )


def _since_midnight(value: time, kind: DataType) -> int:
    """Return a time of day as the number that Spark shows for it: microseconds in 64 bits, or milliseconds in 32."""
    micros = ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
    return micros if isinstance(kind, LongType) else micros // 1000


_ALL = "true"


@check_arguments
def update(
    spark: SparkSession,
    path: str,
    set: Mapping[str, Any],
    where: Filter | None = None,
    *,
    options: Mapping[str, str] | None = None,
) -> Commit:
    """Set columns to the values in *set*, in the rows of the table at *path* for which *where* is true, in one commit.

    *set* maps columns of the table to values, or to a ``Column`` that is computed from the row before the update.
    *where* is a condition of Spark SQL, or tuples or a pyarrow expression as for ``hudiformat.Table.snapshot``; without
    it all rows are updated.  Only file slices that can hold such rows are read.

    Raises:
        SchemaError: *set* names a column that the table does not have, or a column of the record key or partition path.
        DataError: a value is one that the table takes for an unset one, which changes nothing.
        WriteConflictError: another writer has changed the same file groups in the meantime; nothing is written.
        HudiFormatError: as for :func:`hudiformat.spark.upsert`.

    Source: UpdateHoodieTableCommand, Hudi 1.2.0.
    """

    def changed(found: DataFrame, plan: WritePlan) -> DataFrame:
        check_updated(set, plan.schema.arrow.names, key_columns(plan))
        kinds = {field.name: field.dataType for field in spark_schema(plan.schema.arrow).fields}
        columns = {name: column_of(one, kinds[name], name) for name, one in set.items()}
        # One select for all columns: each value is computed from the row before the update.
        new = (columns[name].alias(name) if name in columns else quote(name) for name in found.columns)
        before = values_before({name: (functions.lit(True), functions.col(quote(name))) for name in columns}, plan.rule)
        return refuse_unset_values(found.select(*new, *before), plan.rule, of="update")

    return _change_rows(spark, path, where, changed, options, deletes=False)


@check_arguments
def delete_where(spark: SparkSession, path: str, where: Filter, *, options: Mapping[str, str] | None = None) -> Commit:
    """Delete the rows of the table at *path* for which *where*, as for :func:`update`, is true, in one commit.

    Only file slices that can hold such rows are read.

    Raises:
        WriteConflictError: another writer has changed the same file groups in the meantime; nothing is deleted.
        HudiFormatError: as for :func:`hudiformat.spark.delete`.

    Source: DeleteHoodieTableCommand, Hudi 1.2.0.
    """
    return _change_rows(spark, path, where, lambda found, _: found, options, deletes=True)


def _change_rows(
    spark: SparkSession,
    path: str,
    where: Filter | None,
    change: Callable[[DataFrame, WritePlan], DataFrame],
    options: Mapping[str, str] | None,
    *,
    deletes: bool,
) -> Commit:
    """Apply *change* to the rows for which *where* is true and write them; with *deletes*, delete them."""
    context = with_tasks(spark, context_of(open_for_tasks(path, options)))

    with reraise_task_errors(), limit_batches_by_rows(spark):
        state = before_write(context)
        checked = check_rows(state, Operation.UPSERT, RowKeys.of(state.config).schema_of_rows(state.schema).arrow)
        for write in attempts(state, Operation.UPSERT, change=checked.change):
            with write, ExitStack() as stack:
                plan, schema = write.plan, checked.schema
                found = change(_rows_where(spark, context, plan, schema, _ALL if where is None else where), plan)
                write.commit(
                    write_assigned_rows(cache(_tag(found, plan, schema, deletes=deletes), stack), plan, schema)
                )
        return after_write(write.result)


def _rows_where(
    spark: SparkSession, context: TableContext, plan: WritePlan, schema: TableSchema, where: Filter
) -> DataFrame:
    """Return the rows for which *where* is true as the write begins, with PATH, KEY and their group in DELETED_FROM."""
    reader = plan.slice_reader(context.merger)
    if plan.config.dropped_fields:  # paths tell the partition columns that files lack
        reader = replace(reader, schema=reader.schema.with_texts(plan.config.dropped_fields))
    every = reader.output_schema
    condition = pruning(spark, where, every) if isinstance(where, str) else as_filter(where, every)
    paths = plan.partitions(open_storage(plan.root))
    if condition is not None:
        paths = PartitionPruner(reader.partition_columns, every, condition).holding(paths)
    slices = slices_of(plan, paths)
    spoken_of = _meta_fields(where, every) if isinstance(where, str) else ()
    named = [one for one in spoken_of if schema.arrow.get_field_index(one.name) < 0]
    columns = pa.schema([*named, *schema.arrow])
    live = live_rows(spark, plan.root, reader, slices, columns, group=DELETED_FROM, where=condition, stored=True)
    return live.where(where) if isinstance(where, str) else live  # its tasks apply an expression of Arrow


def _meta_fields(where: str, every: pa.Schema) -> list[pa.Field]:
    """Return the meta fields that *where* names; all of them if its columns are not known."""
    named = columns_named(where, every)
    return [one for one in every if is_meta_field(one.name) and (named is None or one.name in named)]


def _tag(found: DataFrame, plan: WritePlan, schema: TableSchema, *, deletes: bool) -> DataFrame:
    """Tag the rows with the file groups that they are in; with *deletes*, they are deleted from them (DELETED_FROM)."""
    found = as_stored(found, RowKeys.of(plan.config).shown_from_path)
    if plan.uses_buckets:
        found = with_tags(found.drop(PATH, KEY), plan, schema)
    else:
        found = found.withColumn(GROUP, functions.col(DELETED_FROM))
    out = functions.col(DELETED_FROM) if deletes else functions.lit(None).cast("string")
    own = [quote(name) for name in schema.arrow.names]
    return found.select(*own, PATH, GROUP, KEY, functions.lit(False).alias(NEW), out.alias(DELETED_FROM))
