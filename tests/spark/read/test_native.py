"""Which file slices Spark's own Parquet reader reads, and that it shows what the library shows."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import hudiformat as hf
from tests.effort import LONG, sample
from tests.foreign import foreign_tables
from tests.rows import assert_same_rows
from tests.tables import GOLDEN, create, edit, make_partition, new_table, rows, unpack

pytest.importorskip("pyspark.sql")

import hudiformat.spark as hudi_spark
from hudiformat.spark.write.schema import arrow_schema, spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.unmeasured

TABLES = sorted(path.stem for path in GOLDEN.glob("*.zip"))
QUERIES = [(name, "snapshot") for name in sample(TABLES, of=2)]
QUERIES += [(name, "read_optimized") for name in sample((one for one in TABLES if "cow" not in one), of=3)]
MANY = 100


def readers(frame: DataFrame) -> set[str]:
    """Who reads the rows of a data frame."""
    plan = str(frame._jdf.queryExecution().executedPlan().toString())
    return {name for name, mark in {"Spark": "FileScan ", "Python": "MapInArrow"}.items() if mark in plan}


def as_spark_has(table: pa.Table) -> pa.Table:
    return table.cast(arrow_schema(spark_schema(table.schema)))


@pytest.mark.parametrize(("name", "query"), QUERIES)
def test_rows_of_real_hudi_s_tables_are_those_of_the_library(
    spark: SparkSession, tmp_path: Path, name: str, query: str
) -> None:
    path = str(unpack(name, tmp_path).table)
    try:
        expected = getattr(hf.open_table(path), query)()
    except hf.HudiFormatError as error:
        with pytest.raises(type(error)):
            hudi_spark.read(spark, path, query=query).collect()
        return
    found = hudi_spark.read(spark, path, query=query)
    assert_same_rows(found.toArrow(), as_spark_has(expected))
    if LONG or TABLES.index(name) % 4 == 0:
        by_tasks = hudi_spark.read(spark, path, query=query, options={"hudiformat.spark.native": "false"})
        assert "Spark" not in readers(by_tasks)
        assert_same_rows(by_tasks.toArrow(), as_spark_has(expected))


@pytest.mark.all_sets
@pytest.mark.parametrize(
    ("name", "query", "who"),
    [
        ("v9-cow-small-files-h120", "snapshot", {"Spark"}),
        ("v6-cow-multilevel-h0150", "snapshot", {"Spark"}),
        ("v9-mor-compacted-h120", "snapshot", {"Spark"}),
        ("v9-mor-avro-h120", "snapshot", {"Spark", "Python"}),
        ("v9-mor-avro-h120", "read_optimized", {"Spark"}),
        ("v9-cow-dropped-partition-columns-h120", "snapshot", {"Python"}),  # values that the paths alone have
        ("renamed-cow9", "snapshot", {"Python"}),  # files have the columns under their old names
    ],
)
def test_who_reads(spark: SparkSession, tmp_path: Path, name: str, query: str, who: set[str]) -> None:
    assert readers(hudi_spark.read(spark, str(unpack(name, tmp_path).table), query=query)) == who


def of_type(folder: Path, kind: pa.DataType, values: list[Any], **given: Any) -> hf.Table:
    schema = pa.schema([("k", pa.string()), ("ts", pa.int64()), ("p", pa.string()), ("v", kind)])
    table = create(folder, schema=schema, table_type="COPY_ON_WRITE", **given)
    table.insert(rows(*((f"k{number}", 1, "a", value) for number, value in enumerate(values)), schema=schema))
    return table


@pytest.mark.all_sets
@pytest.mark.parametrize(
    ("kind", "values", "who"),
    [
        (pa.timestamp("us", "UTC"), [datetime(1, 1, 1), datetime(9999, 12, 31), None], {"Spark"}),
        (pa.timestamp("ms"), [datetime(1582, 10, 10), None], {"Spark"}),
        (pa.date32(), [date(1, 1, 1), date(1582, 10, 10), None], {"Spark"}),
        (pa.time64("us"), [datetime(2024, 1, 1, 12).time(), None], {"Python"}),
        (pa.list_(pa.struct([("n", pa.list_(pa.int32()))])), [[{"n": [1, None]}, None], [], None], {"Spark"}),
        (pa.map_(pa.string(), pa.decimal128(9, 2)), [[("a", 1)], [], None], {"Spark"}),
        (pa.binary(4), [b"abcd", None], {"Spark"}),
        (pa.decimal128(38, 3), [1, None], {"Spark"}),
    ],
    ids=str,
)
def test_values_of_each_type(
    spark: SparkSession, tmp_path: Path, kind: pa.DataType, values: list[Any], who: set[str]
) -> None:
    table = of_type(tmp_path / "t", kind, values)
    found = hudi_spark.read(spark, table.path)
    assert readers(found) == who
    assert_same_rows(found.toArrow(), as_spark_has(table.snapshot()))


@pytest.mark.parametrize("partition", ["a b%c", "2024-01-01 10:00:00", "x={1}", "ä", None, "_hidden", "n\\o"])
def test_partitions_of_any_name(spark: SparkSession, tmp_path: Path, partition: str | None) -> None:
    table = new_table(tmp_path / "a folder=1", table_type="COPY_ON_WRITE")
    make_partition(tmp_path / "a folder=1", partition or "")
    table.insert(rows(("1", 1, partition, 1), ("2", 1, "b", 2)))
    found = hudi_spark.read(spark, table.path)
    assert "Spark" in readers(found)
    assert_same_rows(found.toArrow(), as_spark_has(table.snapshot()))


OF_ORC = [
    (pa.date32(), [date(1582, 10, 15), date(9999, 12, 31), None], {"Spark"}),
    (pa.date32(), [date(1582, 10, 14), None], {"Python"}),  # which Spark would take for another day
    (pa.date32(), [None, None], {"Spark"}),
    (pa.list_(pa.struct([("d", pa.date32())])), [[{"d": date(1500, 1, 1)}], None], {"Python"}),
    (pa.timestamp("us", "UTC"), [datetime(2024, 1, 1, 12, 0, 0, 5), None], {"Python"}),  # Spark has its own time zone
    (pa.struct([("n", pa.list_(pa.int32()))]), [{"n": [1, None]}, {"n": None}, None], {"Spark"}),
    (pa.map_(pa.string(), pa.decimal128(9, 2)), [[("a", 1)], [], None], {"Spark"}),
    (pa.binary(4), [b"abcd", None], {"Spark"}),
    (pa.decimal128(38, 3), [1, None], {"Spark"}),
    (pa.float64(), [1.5, float("nan"), float("inf"), None], {"Spark"}),
    (pa.bool_(), [True, False, None], {"Spark"}),
]


@pytest.mark.parametrize(("kind", "values", "who"), OF_ORC, ids=str)
def test_values_of_each_type_in_orc(
    spark: SparkSession, tmp_path: Path, kind: pa.DataType, values: list[Any], who: set[str]
) -> None:
    table = of_type(tmp_path / "t", kind, values, options={"hoodie.table.base.file.format": "ORC"})
    found = hudi_spark.read(spark, table.path)
    assert readers(found) == who
    assert_same_rows(found.toArrow(), as_spark_has(table.snapshot()))
    assert hudi_spark.read(spark, table.path, filter="v is not null").count() == table.count("v is not null")


@pytest.mark.parametrize("name", foreign_tables.names("orc"))
def test_files_of_hudi_in_orc_are_read_by_spark(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """All columns but the timestamps."""
    path = str(foreign_tables.unpack(name, tmp_path).path)
    table = hf.open_table(path)
    names = [field.name for field in table.schema if "timestamp" not in str(field.type)]
    expected = as_spark_has(table.snapshot(columns=names))
    found = hudi_spark.read(spark, path, columns=names)
    assert "Spark" in readers(found) or "mor" in name
    assert_same_rows(found.toArrow(), expected)
    assert hudi_spark.read(spark, path, columns=["k"], filter="d > 1").count() == table.count("d > 1")


def test_a_table_may_have_files_of_both_formats(spark: SparkSession, tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", table_type="COPY_ON_WRITE")
    table.insert(rows(("1", 1, "a", 1)))
    edit(tmp_path / "t", "hoodie.table.base.file.format", "ORC")
    hf.open_table(table.path).insert(rows(("2", 1, "b", 2)))
    found = hudi_spark.read(spark, table.path)
    assert readers(found) == {"Spark"}
    assert sorted(row["k"] for row in found.collect()) == ["1", "2"]


def test_a_column_that_files_lack_is_null_and_one_that_was_widened_is_cast(spark: SparkSession, tmp_path: Path) -> None:
    schema = pa.schema([("k", pa.string()), ("ts", pa.int64()), ("p", pa.string()), ("v", pa.int32())])
    table = create(tmp_path / "t", schema=schema, table_type="COPY_ON_WRITE")
    table.insert(rows(("1", 1, "a", 1), schema=schema))
    wider = pa.schema([*list(schema)[:3], pa.field("v", pa.int64()), pa.field("w", pa.string())])
    table.insert(rows(("2", 1, "b", 1 << 40, "new"), schema=wider))
    found = hudi_spark.read(spark, table.path)
    assert readers(found) == {"Spark"}
    assert_same_rows(found.toArrow(), as_spark_has(table.snapshot()))


def test_names_that_differ_in_their_case_alone_are_read_in_python(spark: SparkSession, tmp_path: Path) -> None:
    schema = pa.schema(
        [("k", pa.string()), ("ts", pa.int64()), ("p", pa.string()), ("v", pa.int64()), ("V", pa.int64())]
    )
    table = create(tmp_path / "t", schema=schema, table_type="COPY_ON_WRITE")
    table.insert(rows(("1", 1, "a", 1, 2), schema=schema))
    found = hudi_spark.read(spark, table.path)
    assert readers(found) == {"Python"}
    assert_same_rows(found.toArrow(), as_spark_has(table.snapshot()))
    assert readers(hudi_spark.read(spark, table.path, columns=["k", "v"])) == {"Spark"}


def test_no_more_storages_are_read_by_spark_than_asked(spark: SparkSession, tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", table_type="COPY_ON_WRITE")
    table.insert(rows(*((str(number), 1, "a", number) for number in range(MANY))))
    with pytest.raises(hf.OptionError, match="hudiformat.spark.native: expected auto, true or false, found 'no'"):
        hudi_spark.read(spark, table.path, options={"hudiformat.spark.native": "no"})
    assert readers(hudi_spark.read(spark, table.path, options={"hudiformat.spark.native": "true"})) == {"Spark"}


@pytest.mark.parametrize(
    "condition", ["d > 100", "not f <= 100", "d = double('nan')", "s.x > 100 and s.n = 3", "s.deep.x > 1"]
)
def test_conditions_that_are_true_of_nan_find_it_where_the_file_has_no_bound_for_it(
    spark: SparkSession, tmp_path: Path, condition: str
) -> None:
    deep = pa.struct([pa.field("x", pa.float32())])
    inner = pa.struct([pa.field("x", pa.float64()), pa.field("n", pa.int32()), pa.field("deep", deep)])
    kinds = {"id": pa.string(), "d": pa.float64(), "f": pa.float32(), "s": inner}
    nan = float("nan")
    table = hf.create_table(tmp_path / "t", name="t", schema=pa.schema(kinds), record_key="id")
    values = [
        ["a", "b", "c"],
        [1.0, nan, None],
        [1.0, nan, None],
        [{"x": 1.0, "n": 1, "deep": None}, {"x": nan, "n": 3, "deep": {"x": nan}}, None],
    ]
    table.insert(pa.table(values, schema=pa.schema(kinds)))
    found = hudi_spark.read(spark, table.path)
    assert readers(found) == {"Spark"}
    assert_same_rows(found.toArrow(), as_spark_has(table.snapshot()))
    assert [row.id for row in found.where(condition).collect()] == ["b"]
    assert [row.id for row in hudi_spark.read(spark, table.path, columns="id", filter=condition).collect()] == ["b"]
