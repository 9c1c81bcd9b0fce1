"""Read a table as a data frame, on PySpark 3.5 too."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from hudiformat.api.reading import context_of
from hudiformat.arguments import as_name_list, check_arguments
from hudiformat.conditions.filters import Filter, as_filter
from hudiformat.conditions.translation import columns_named
from hudiformat.read.plan import plan_snapshot
from hudiformat.read.time_travel import Moment, moment_text
from hudiformat.spark.errors import reraise_task_errors
from hudiformat.spark.options import AS_OF, COLUMNS, FILTER, QUERY, READ_OPTIMIZED, SNAPSHOT, SourceOptions
from hudiformat.spark.read.by_name import find_by_name
from hudiformat.spark.read.native import is_reachable, native_slices, prune_slices, pruning, read_files
from hudiformat.spark.read.pieces import Piece, SlicePiece, every_column, pieces, read_pieces
from hudiformat.spark.read.tasks import share_out
from hudiformat.spark.write.batches import tasks_at_once
from hudiformat.spark.write.lookup.tagging import quote
from hudiformat.spark.write.schema import arrow_schema, spark_schema
from hudiformat.spark.write.workers import in_task


@check_arguments
def read(
    spark: SparkSession,
    path: str,
    *,
    as_of: Moment | None = None,
    columns: str | Sequence[str] | None = None,
    filter: Filter | None = None,
    query: str | None = None,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """Return the rows of the table at *path* as a data frame: the newest rows, or *as_of* an instant or a date.

    *path* may also be the name ``database.table`` of a table in Spark's own catalog, or in a Hive Metastore,
    ``hive://<host>:9083/<database>.<table>``.

    *columns* selects columns, which may be meta fields; ``[]`` selects none, which is enough to count the rows.
    *filter* is a condition of Spark SQL, or tuples or a pyarrow expression as for ``hudiformat.Table.snapshot``, which
    tasks in Python apply.  Both prune partitions, files and columns when this function is called.
    Conditions and selections on the data frame afterwards prune row groups and, if no log files have to be merged,
    columns.  *query* is ``snapshot``, ``read_optimized``, ``incremental`` or ``cdc``; *options* give the span of the
    last two, as for the data source.  *options* may also give the other arguments, which take precedence.

    Base files that need no merging are read by Spark's own readers of Parquet and ORC, other file slices by tasks in
    Python.  ``hudiformat.spark.native`` selects the storages for which Spark's readers are used: ``auto``, local files
    and HDFS; ``true``, all; ``false``, none.

    Raises:
        SchemaError: the table has no such column.
        HudiFormatError: another reason stops the query.

    Source: HoodieFileGroupReaderBasedFileFormat, Hudi 1.2.0; spec/spark.md.
    """
    named = find_by_name(spark, path)
    given = {QUERY: READ_OPTIMIZED} if named.read_optimized else {}
    given |= {**SourceOptions(options or {}).given, "path": named.path}
    given |= {} if query is None else {QUERY: query}
    given |= {} if as_of is None else {AS_OF: moment_text(as_of)}
    picked = None if columns is None else as_name_list(columns)
    given |= {COLUMNS: ",".join(picked)} if picked else {}
    of_options = given.pop(FILTER, None)  # Spark applies it
    where, asked = of_options if filter is None else filter, SourceOptions(given)
    with reraise_task_errors():
        every = every_column(asked)
        wanted = [] if picked == [] else asked.columns or every.names
        text = where if isinstance(where, str) else None
        tested = None if text is None else columns_named(text, every)
        needed = every.names if text is not None and tested is None else list(dict.fromkeys([*wanted, *(tested or ())]))
        needed = needed or [_smallest(every)]  # rows without columns cannot come from Python
        if where is None or text is not None:
            rows = _rows(spark, asked, needed, None if text is None else pruning(spark, text, every))
        else:
            rows = _in_python(spark, pieces(asked, needed, as_filter(where, every)), every, needed)
    if text is not None:
        rows = rows.where(text)
    return rows.select(*map(quote, wanted)) if list(wanted) != needed else rows


def count_by_footers(spark: SparkSession, path: str, options: Mapping[str, str]) -> int | None:
    """Return the number of rows of the table at *path*; None if a data frame has to be counted.

    Base files without log files have it in their footers, which planning the data frame would read here, too.  Tasks
    count the other file slices.

    Raises:
        HudiFormatError: as for :func:`read`.
    """
    named = find_by_name(spark, path)
    asked = SourceOptions({**SourceOptions(options).given, "path": named.path})
    is_plain = asked.query == SNAPSHOT and not named.read_optimized and asked.get(FILTER) is None
    if not is_plain:
        return None
    context = context_of(asked.table())
    if not is_reachable(context.storage.root, asked.native):
        return None
    every = every_column(asked)
    columns = [_smallest(every)]
    plan = plan_snapshot(context, as_of=asked.get(AS_OF), columns=columns, filter=None, with_logs=True)
    told = plan.query.count(context.storage, [one for one in plan.slices if not one.log_files])
    others = [SlicePiece(context.storage.root, plan.query, one) for one in plan.slices if one.log_files]
    return told + (_in_python(spark, others, every, columns).count() if others else 0)


def _smallest(every: pa.Schema) -> str:
    """Return the name of the column of numbers with the fewest bits, or of the first column if there are no numbers."""
    sizes: dict[str, int] = {field.name: field.type.bit_width for field in every if pa.types.is_primitive(field.type)}
    return min(sizes, key=sizes.__getitem__, default=str(every.names[0]))


def _rows(spark: SparkSession, asked: SourceOptions, columns: list[str], condition: pc.Expression | None) -> DataFrame:
    """Return the rows of a query, read by Spark's own reader if possible, and by tasks in Python otherwise."""
    if asked.query not in (SNAPSHOT, READ_OPTIMIZED):
        return _in_python(spark, pieces(asked, columns), every_column(asked), columns)
    context = context_of(asked.table())
    plan = plan_snapshot(
        context,
        as_of=asked.get(AS_OF),
        columns=columns,
        filter=condition,
        with_logs=asked.query == SNAPSHOT,
    )
    native = native_slices(plan, context.storage, asked=asked.native)
    by_spark = set(native)
    root = context.storage.root
    others = [SlicePiece(root, plan.query, one) for one in plan.slices if one not in by_spark]
    native = prune_slices(native, plan, context.storage)
    if not native:
        return _in_python(spark, others, plan.query.schema, columns)
    rows = read_files(spark, root, native, spark_schema(plan.query.schema))
    if not others:
        return rows
    # The slices that have to be merged come first: their tasks take longest.
    return _in_python(spark, others, plan.query.schema, columns).unionByName(rows)


def _in_python(spark: SparkSession, found: Sequence[Piece], every: pa.Schema, columns: list[str]) -> DataFrame:
    """Return a data frame of the pieces *found*, which tasks read in Python."""
    kind = spark_schema(pa.schema([every.field(name) for name in columns]))
    tasks = [pickle.dumps(one) for one in share_out(found, tasks_at_once(spark))]
    numbers = spark.range(0, len(tasks), 1, max(len(tasks), 1))
    return numbers.mapInArrow(in_task(_read, tasks, arrow_schema(kind)), kind)


def _read(tasks: Sequence[bytes], target: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the pieces of the tasks whose numbers are in *batches*; only these are unpickled."""
    for number in (number for batch in batches for number in batch.column(0).to_pylist()):
        yield from read_pieces(pickle.loads(tasks[number]), target)  # noqa: S301 - pickled by our own driver
