"""Read file slices as a data frame, and choose one of several rows with the same key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession, Window, functions
from pyspark.sql.types import DecimalType, FractionalType, NumericType, StringType, StructField, StructType

from hudiformat.file_group.merging.rule import SequenceField
from hudiformat.file_group.reader import SliceReader
from hudiformat.file_group.slices import FileSlice
from hudiformat.read.scan import SliceQuery
from hudiformat.schema.meta_fields import RECORD_KEY
from hudiformat.spark.write.lookup.tagging import KEY, PATH, quote
from hudiformat.spark.write.schema import arrow_schema, spark_schema
from hudiformat.spark.write.workers import in_task
from hudiformat.storage.opening import open_storage
from hudiformat.storage.threads import side_by_side
from hudiformat.write.commit.plan import WritePlan
from hudiformat.write.index.tagging import PartitionIndex


def newest_slices(rows: DataFrame, plan: WritePlan) -> list[FileSlice]:
    """Return the newest file slices of the partitions that the tagged *rows* belong to."""
    paths = [row[0] for row in rows.select(PATH).distinct().collect()]
    return slices_of(plan, paths)


def slices_of(plan: WritePlan, paths: Iterable[str]) -> list[FileSlice]:
    """Return the newest file slices of the partitions *paths*."""
    storage = open_storage(plan.root)
    indexes = [PartitionIndex(storage, plan, path) for path in paths]
    return [one for _, slices in side_by_side(storage, PartitionIndex.list_files, indexes) for one in slices]


STORED = "_hudiformat_stored_"
"""Prefix of the names of stored partition columns; a query shows the values of the path, which may differ."""

_RANK = "_hudiformat_rank"


def live_rows(
    spark: SparkSession,
    root: str,
    reader: SliceReader,
    slices: Sequence[FileSlice],
    columns: pa.Schema,
    *,
    group: str,
    where: pc.Expression | None = None,
    stored: bool = False,
) -> DataFrame:
    """Return the rows of *slices* with *columns*, PATH, KEY and, in the column *group*, their file id.

    With *where*, only the rows for which it is true are returned.  With *stored*, the columns that :func:`as_stored`
    needs are there too.
    """
    query = SliceQuery(reader, list(dict.fromkeys([RECORD_KEY, *columns.names])), where)
    more = [field.with_name(f"{STORED}{field.name}") for field in query.stored_schema] if stored else []
    tags = [StructField(name, StringType()) for name in (PATH, KEY, group)]
    kind = StructType([*spark_schema(pa.schema([*columns, *more])).fields, *tags])
    numbers = spark.range(0, len(slices), 1, max(len(slices), 1))
    return numbers.mapInArrow(in_task(_read, root, query, slices, arrow_schema(kind)), kind)


def _read(
    root: str, query: SliceQuery, slices: Sequence[FileSlice], target: pa.Schema, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the file slices whose numbers are in *batches*, in the schema *target*."""
    storage = open_storage(root)
    for number in (number for batch in batches for number in batch.column(0).to_pylist()):
        one = slices[number]
        for rows, stored in query.batches_with_stored(storage, one):
            found = dict(zip(rows.schema.names, rows.columns, strict=True))
            found |= {f"{STORED}{name}": stored[name] for name in stored.schema.names}
            own = [found[name].cast(target.field(name).type) for name in target.names[:-3]]
            tags = [pa.repeat(one.partition_path, len(rows)), rows[RECORD_KEY], pa.repeat(one.file_id, len(rows))]
            yield pa.RecordBatch.from_arrays([*own, *tags], names=target.names)


def as_stored(rows: DataFrame, names: Sequence[str]) -> DataFrame:
    """Replace the columns *names* by their stored values, so that the rows keep their partition paths when written."""
    columns = {name: f"{STORED}{name}" for name in names}
    return rows.withColumns({name: functions.col(quote(own)) for name, own in columns.items()}).drop(*columns.values())


def keep_one_per_key(rows: DataFrame, keys: Sequence[str], ordering_fields: Sequence[str]) -> DataFrame:
    """Keep one row for each value of *keys*: the row with the greatest ordering values, or any without such columns."""
    if not ordering_fields:
        return rows.dropDuplicates(list(keys))
    order = [one.desc_nulls_last() for one in comparable_columns(rows.schema, ordering_fields)]
    rank = functions.row_number().over(Window.partitionBy(*keys).orderBy(*order))
    return rows.withColumn(_RANK, rank).where(functions.col(_RANK) == 1).drop(_RANK)


def comparable_columns(schema: StructType, names: Sequence[str], *, side: str = "") -> list[Column]:
    """Return columns that Spark sorts as Hudi compares the ordering values of *names*; *side* prefixes the names.

    Texts of a sequence are compared as two numbers.  A null number is zero, Hudi's default; another null is below all
    values.  -0.0, which is equal to 0.0 in Spark, is below 0.0.

    Source: java.lang.Double.compare; hudiformat.file_group.merging.rule.comparable_integers.
    """
    values = []
    for name in names:
        if isinstance(name, SequenceField):
            parts = functions.split(functions.col(side + quote(name)), "[.]")
            values += [parts.getItem(number).cast(DecimalType(19)) for number in range(2)]
            continue
        kind = schema[name].dataType
        value = functions.col(side + quote(name)).cast(kind)
        if isinstance(kind, NumericType):
            value = functions.coalesce(value, functions.lit(0).cast(kind))
        values.append(value)
        if isinstance(kind, FractionalType) and not isinstance(kind, DecimalType):
            values.append(value.cast("string") != "-0.0")
    return values
