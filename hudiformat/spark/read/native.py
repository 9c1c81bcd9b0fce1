"""File slices that Spark's own readers of Parquet and ORC read: without Python, with columns and row groups pruned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timezone, tzinfo
from functools import lru_cache, partial, reduce
from itertools import compress
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyarrow as pa
import pyarrow.compute as pc
import pyspark
from pyspark.sql import Column, DataFrame, SparkSession, functions
from pyspark.sql.types import DataType, DoubleType, FloatType, StructType

from hudiformat.conditions.translation import implied_condition
from hudiformat.errors import SchemaError
from hudiformat.file_group.base_file.format import BaseFileFormat, format_of
from hudiformat.file_group.base_file.orc import ORC
from hudiformat.file_group.base_file.parquet import PARQUET
from hudiformat.file_group.slices import FileSlice
from hudiformat.naming.file_names import join_path
from hudiformat.read.plain_files import stored_columns
from hudiformat.read.plan import SlicePlan
from hudiformat.spark.write.batches import list_files_by_few_tasks
from hudiformat.spark.write.lookup.tagging import quote
from hudiformat.spark.write.schema import has_time_of_day, spark_schema
from hudiformat.storage.protocol import Storage
from hudiformat.storage.threads import side_by_side


def pruning(spark: SparkSession, condition: str, every: pa.Schema) -> pc.Expression | None:
    """Return an expression that every row for which *condition* is true fulfils, to prune files by.

    It is None if only Java knows the time zone of the session.
    """
    zone = _zone(spark.conf.get("spark.sql.session.timeZone") or "UTC")
    return None if zone is None else implied_condition(condition, every, zone)


def _zone(name: str) -> tzinfo | None:
    if name in ("UTC", "Z"):
        return timezone.utc
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return None


_READERS: Mapping[BaseFileFormat, str] = {PARQUET: "parquet", ORC: "orc"}
"""The formats of base files that Spark reads, with the name of its reader."""
_OPTIONS = {"parquet": {"datetimeRebaseMode": "CORRECTED", "int96RebaseMode": "CORRECTED"}}
"""Read dates and times as they are stored, in the Gregorian calendar, whatever Spark's settings for old dates are."""

_ITS_OWN = ("hdfs", "viewfs", "file")
_OF_HADOOP = {"s3": "s3a", "abfs": "abfss"}
_GLOB = frozenset("*?[]{}\\")
_WIDENED = {("int", "bigint"), ("int", "double"), ("float", "double")}
"""Pairs of a file's type and a query's type between which Spark 4's reader casts."""


def native_slices(plan: SlicePlan, storage: Storage, *, asked: str) -> list[FileSlice]:
    """Return the slices of *plan* that Spark's reader can read with the same result.

    *asked* is the value of ``hudiformat.spark.native``.

    Raises:
        CorruptTableError: a base file is damaged.
        StorageError: a base file cannot be read.
    """
    shown = plan.query.schema
    if not is_reachable(storage.root, asked) or _needs_python(shown):
        return []
    with_base = [one for one in plan.slices if _is_plain(one, with_logs=plan.query.with_logs)]

    wanted = {field.name: field.dataType.simpleString() for field in spark_schema(shown)}
    fits = lru_cache(partial(_fits, wanted=wanted))  # thousands of files have one schema

    def is_native(one: FileSlice) -> bool:
        stored = stored_columns(plan.query.reader, storage, one, shown.names)
        return stored is not None and fits(stored)

    return list(compress(with_base, side_by_side(storage, is_native, with_base)))


def prune_slices(slices: Sequence[FileSlice], plan: SlicePlan, storage: Storage) -> list[FileSlice]:
    """Return the *slices* that have a row group in which the plan's filter can be true; none needs merging.

    Raises:
        CorruptTableError: a base file is damaged.
        StorageError: a base file cannot be read.
    """
    query = plan.query
    if query.filter is None:
        return list(slices)

    scan = query.prepare()

    def may_hold(one: FileSlice) -> bool:
        return scan.row_groups(storage, one)[0] > 0

    return list(compress(slices, side_by_side(storage, may_hold, slices)))


def read_files(spark: SparkSession, root: str, slices: Sequence[FileSlice], schema: StructType) -> DataFrame:
    """Return a data frame of the base files of *slices*, which Spark scans."""
    start = f"{_scheme_for_spark(root)}/"
    by_reader: dict[str, list[str]] = {}
    for one in slices:
        path = join_path(one.partition_path, str(_name(one)))
        by_reader.setdefault(_READERS[format_of(path)], []).append(start + path)
    reader = spark.read.schema(schema)
    with list_files_by_few_tasks(spark):
        parts = [reader.format(name).options(**_OPTIONS.get(name, {})).load(paths) for name, paths in by_reader.items()]
    rows = reduce(DataFrame.unionByName, parts)
    floats = {one.name: _with_nan(quote(one.name), one.dataType) for one in schema if _has_floats(one.dataType)}
    return rows.withColumns(floats) if floats else rows


def _with_nan(name: str, kind: DataType) -> Column:
    """Wrap the column *name* so that Spark pushes no condition on its floating-point numbers down to the scan.

    Pushed down, such conditions lose rows: in Spark NaN is above all numbers, but the statistics of row groups that
    Arrow has written leave NaN out.  ``n > 5`` would skip a row group with the values 1, 2 and NaN, whose maximum is 2.
    Conditions on elements of arrays and maps are not pushed down anyway.
    """
    if isinstance(kind, DoubleType | FloatType):
        # One expression as text, as each call of a Spark function is a round trip to the JVM.
        return functions.expr(f"nanvl({name}, cast('NaN' as {kind.simpleString()}))")
    value = functions.col(name)
    for field in kind if isinstance(kind, StructType) else ():
        if _has_floats(field.dataType):
            value = value.withField(quote(field.name), _with_nan(f"{name}.{quote(field.name)}", field.dataType))
    return value


def _has_floats(kind: DataType) -> bool:
    if isinstance(kind, StructType):
        return any(_has_floats(field.dataType) for field in kind)
    return isinstance(kind, DoubleType | FloatType)


def _name(one: FileSlice) -> object:
    assert one.base_file is not None  # noqa: S101 - only such slices are native
    return one.base_file.name


def _scheme_for_spark(root: str) -> str:
    scheme, mark, rest = root.partition("://")
    return f"{_OF_HADOOP.get(scheme, scheme)}://{rest}" if mark else f"file://{root}"


def is_reachable(root: str, asked: str) -> bool:
    """Return whether Spark may read from the storage: other storages need Hadoop's jars and their own credentials."""
    scheme = root.partition("://")[0] if "://" in root else "file"
    return asked == "true" or (asked == "auto" and scheme in _ITS_OWN)


def _needs_python(shown: pa.Schema) -> bool:
    """Return whether Spark's reader cannot read these columns: names differ only by case, or there are times of day."""
    names = [name.lower() for name in shown.names]
    return len(set(names)) < len(names) or any(has_time_of_day(field.type) for field in shown)


def _is_plain(one: FileSlice, *, with_logs: bool) -> bool:
    """Return whether the slice is a single base file whose path Spark takes neither for a pattern nor for hidden.

    A registered file, whose name does not tell its instant, is not.
    """
    if one.base_file is None or (with_logs and one.log_files):
        return False
    name = one.base_file.name
    is_odd = name.is_registered or str(name).startswith((".", "_"))
    return not is_odd and not _GLOB.intersection(one.partition_path)


def _fits(stored: pa.Schema, wanted: dict[str, str]) -> bool:
    try:
        types = {field.name: field.dataType.simpleString() for field in spark_schema(stored)}
    except SchemaError:
        return False
    casts = _WIDENED if int(pyspark.__version__.partition(".")[0]) >= 4 else set()  # noqa: PLR2004 - PySpark 4
    return all(kind == wanted[name] or (kind, wanted[name]) in casts for name, kind in types.items())
