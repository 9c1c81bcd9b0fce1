"""A data frame is merged into a table: one commit, and the first clause counts whose condition holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import hudiformat as hf
from tests.effort import LONG, only_long
from tests.tables import make_partition

pytest.importorskip("pyspark.sql")

from pyspark.sql.functions import col, expr, lit

import hudiformat.spark as hudi_spark
from hudiformat.spark import Delete, Insert, Update

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string()),
        pa.field("ts", pa.int64()),
        pa.field("p", pa.string()),
        pa.field("price", pa.float64()),
    ]
)
TABLES = [
    ("MERGE_ON_READ", "BUCKET"),
    ("MERGE_ON_READ", "SIMPLE"),
    ("COPY_ON_WRITE", "SIMPLE"),
    ("COPY_ON_WRITE", "BUCKET"),
]


def options(index: str) -> dict[str, str]:
    return {"hoodie.index.type": index, "hoodie.bucket.index.num.buckets": "2"}


def create(
    folder: Path,
    table_type: str = "MERGE_ON_READ",
    index: str = "BUCKET",
    *,
    ordering: bool = True,
    more: dict[str, str] | None = None,
    ts: int = 1,
) -> hf.Table:
    table = hf.create_table(
        folder,
        name="things",
        schema=SCHEMA,
        record_key=["id"],
        ordering=["ts"] if ordering else [],
        partition_by=["p"],
        table_type=table_type,
        options={**options(index), **(more or {})},
    )
    rows = [{"id": f"k{i}", "ts": ts, "p": f"p{i % 2}", "price": float(i)} for i in range(8)]
    table.insert(pa.Table.from_pylist(rows, SCHEMA))
    return table


def changes(spark: SparkSession, *rows: tuple[Any, ...]) -> DataFrame:
    return spark.createDataFrame(list(rows), "id string, ts bigint, p string, price double")


def prices(table: hf.Table) -> dict[str, float]:
    return {row["id"]: row["price"] for row in table.snapshot(columns=["id", "price"]).to_pylist()}


@pytest.mark.parametrize(("table_type", "index"), TABLES if LONG else TABLES[::2])
def test_rows_are_updated_deleted_and_inserted_in_one_commit(
    spark: SparkSession, tmp_path: Path, table_type: str, index: str
) -> None:
    table = create(tmp_path / "table", table_type, index)
    source = changes(spark, *((f"k{i}", 2, f"p{i % 2}", 10.0 * i) for i in range(4, 11)))
    commit = hudi_spark.merge(
        source,
        table.path,
        when_matched=[
            Delete(condition=col("source.price") == 50),
            Update(
                {"price": col("source.price") + col("target.price"), "ts": col("source.ts")}, col("target.price") < 7
            ),
        ],
        when_not_matched=[Insert(condition=col("source.price") < 100)],
        options=options(index),
    )
    assert (commit.num_writes, commit.num_deletes) == (4, 1)
    assert prices(table) == {"k0": 0, "k1": 1, "k2": 2, "k3": 3, "k4": 44, "k6": 66, "k7": 7, "k8": 80, "k9": 90}
    assert len(table.timeline.completed) == 2


def test_without_values_the_columns_of_the_source_are_taken(spark: SparkSession, tmp_path: Path) -> None:
    table = create(tmp_path / "table", index="SIMPLE")
    source = changes(spark, ("k1", 2, "p1", 5.0), ("new", 2, "p0", 6.0)).drop("price")
    hudi_spark.merge(source, table.path, when_matched=[Update()], when_not_matched=[Insert()])
    rows = {row["id"]: (row["ts"], row["price"]) for row in table.snapshot(columns=["id", "ts", "price"]).to_pylist()}
    assert (rows["k1"], rows["new"]) == ((2, 1.0), (2, None))


def test_names_of_columns_may_be_in_another_case_as_in_spark(spark: SparkSession, tmp_path: Path) -> None:
    table = create(tmp_path / "table", index="SIMPLE")
    source = changes(spark, ("k1", 2, "p1", 5.0), ("k1", 3, "p1", 6.0), ("new", 2, "p0", 7.0))
    source = source.toDF("ID", "Ts", "P", "Price")
    only = Update(condition=expr("source.PRICE = 6"))
    hudi_spark.merge(source, table.path, when_matched=[only], when_not_matched=[Insert()])
    assert {key: prices(table)[key] for key in ("k1", "new")} == {"k1": 6.0, "new": 7.0}
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        with pytest.raises(Exception, match="id"):
            hudi_spark.merge(source, table.path, when_matched=[Update()])
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


def test_rows_without_a_clause_stay_as_they_are(spark: SparkSession, tmp_path: Path) -> None:
    table = create(tmp_path / "table")
    source = changes(spark, ("k1", 2, "p1", 5.0), ("new", 2, "p0", 6.0))
    commit = hudi_spark.merge(
        source,
        table.path,
        when_matched=[Update({"price": lit(0)}, condition=expr("source.price > null"))],
        options=options("BUCKET"),
    )
    assert commit.stats == ()
    assert prices(table) == {f"k{i}": float(i) for i in range(8)}


def test_of_two_source_rows_with_one_key_the_later_counts(spark: SparkSession, tmp_path: Path) -> None:
    table = create(tmp_path / "table", index="SIMPLE")
    source = changes(spark, ("k1", 3, "p1", 30.0), ("k1", 9, "p1", 90.0), ("k1", 2, "p1", 20.0))
    hudi_spark.merge(source, table.path, when_matched=[Update()])
    assert prices(table)["k1"] == 90


def test_two_source_rows_with_one_key_and_no_order_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    table = create(tmp_path / "table", index="SIMPLE", ordering=False)
    source = changes(spark, ("k1", 3, "p1", 30.0), ("k1", 9, "p1", 90.0))
    with pytest.raises(hf.DataError, match="2 source rows have the record key 'k1' in partition 'p1'"):
        hudi_spark.merge(source, table.path, when_matched=[Update()])
    assert len(table.timeline.instants) == 1


@pytest.mark.parametrize(
    ("column", "message"),
    [("more", "Update: no column 'more'; the columns are id"), ("id", "Update: the column 'id' is of the record key")],
)
def test_columns_that_a_merge_cannot_set(spark: SparkSession, tmp_path: Path, column: str, message: str) -> None:
    table = create(tmp_path / "table")
    clause = Update({column: lit("x")})
    with pytest.raises(hf.SchemaError, match=message):
        hudi_spark.merge(changes(spark), table.path, when_matched=[clause], options=options("BUCKET"))


MOVES = {
    "hoodie.simple.index.update.partition.path": "true",
    "hoodie.record.index.update.partition.path": "true",
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.global.record.level.index.min.filegroup.count": "2",
}
STAYS = {
    **MOVES,
    "hoodie.simple.index.update.partition.path": "false",
    "hoodie.record.index.update.partition.path": "false",
}


def everywhere(
    folder: Path, table_type: str, index: str, more: dict[str, str], *, ordering: bool = True
) -> tuple[hf.Table, dict[str, str]]:
    table = create(folder, table_type, index, ordering=ordering, more=more, ts=5)
    return table, {"hoodie.index.type": index, **more}


def places(table: hf.Table) -> dict[str, tuple[str, str, float]]:
    """By key the partition that a row is in, the one that it says it is in, and the price."""
    names = ["id", "_hoodie_partition_path", "p", "price"]
    found = table.snapshot(columns=names)
    assert len(found) == len(set(found["id"].to_pylist()))
    return {row["id"]: tuple(row[name] for name in names[1:]) for row in found.to_pylist()}


@only_long
@pytest.mark.parametrize(
    ("index", "table_type"),
    [
        ("GLOBAL_SIMPLE", "COPY_ON_WRITE"),
        ("RECORD_INDEX", "MERGE_ON_READ"),
        *([("GLOBAL_SIMPLE", "MERGE_ON_READ"), ("RECORD_INDEX", "COPY_ON_WRITE")] if LONG else []),
    ],
)
def test_with_a_global_index_rows_match_in_any_partition(
    spark: SparkSession, tmp_path: Path, table_type: str, index: str
) -> None:
    table, options = everywhere(tmp_path / "table", table_type, index, MOVES)
    source = changes(
        spark,
        ("k1", 9, "new", 10.0),  # moves
        ("k2", 9, "p0", 20.0),
        ("k3", 1, "new", 30.0),  # is too old to move
        ("k4", 9, "new", -1.0),  # is deleted where it is
        ("k5", 9, "new", 50.0),  # stays: its partition is not among the values
        ("k9", 9, "p1", 90.0),
        ("k9", 8, "p0", 91.0),
    )
    commit = hudi_spark.merge(
        source,
        table.path,
        when_matched=[
            Delete(col("source.price") < 0),
            Update(
                {"price": col("source.price") + col("target.price"), "ts": col("source.ts")}, expr("source.id = 'k5'")
            ),
            Update(),
        ],
        when_not_matched=[Insert()],
        options=options,
    )
    assert commit.num_deletes >= 1
    assert places(hf.open_table(table.path, options=options)) == {
        "k0": ("p0", "p0", 0.0),
        "k1": ("new", "new", 10.0),
        "k2": ("p0", "p0", 20.0),
        "k3": ("p1", "p1", 3.0),
        "k5": ("p1", "p1", 55.0),
        "k6": ("p0", "p0", 6.0),
        "k7": ("p1", "p1", 7.0),
        "k9": ("p1", "p1", 90.0),
    }
    assert hf.open_table(table.path).verify() == []


@only_long
@pytest.mark.parametrize("index", ["GLOBAL_SIMPLE", "RECORD_INDEX"])
def test_with_a_global_index_the_source_need_not_name_the_partition(
    spark: SparkSession, tmp_path: Path, index: str
) -> None:
    table, options = everywhere(tmp_path / "table", "MERGE_ON_READ", index, MOVES, ordering=False)
    hudi_spark.merge(
        changes(spark, ("k1", 9, "", 10.0), ("k2", 9, "", 20.0), ("k9", 9, "", 90.0)).drop("p"),
        table.path,
        when_matched=[Update(condition=expr("source.id = 'k1'")), Update({"p": lit("moved")})],
        when_not_matched=[Insert({"p": lit("p0"), "price": lit(1)})],
        options=options,
    )
    found = places(hf.open_table(table.path, options=options))
    assert (found["k1"], found["k2"]) == (("p1", "p1", 10.0), ("moved", "moved", 2.0))
    assert found["k9"] == ("p0", "p0", 1.0)
    assert len(found) == 9


@only_long
def test_with_a_global_index_that_moves_nothing_rows_stay(spark: SparkSession, tmp_path: Path) -> None:
    table, options = everywhere(tmp_path / "table", "COPY_ON_WRITE", "GLOBAL_SIMPLE", STAYS)
    source = changes(spark, ("k1", 9, "new", 10.0))
    hudi_spark.merge(source, table.path, when_matched=[Update()], options=options)
    assert places(table)["k1"][0] == "p1"
    assert prices(table)["k1"] == 10


def test_what_a_merge_with_a_global_index_refuses(spark: SparkSession, tmp_path: Path) -> None:
    table, options = everywhere(tmp_path / "table", "MERGE_ON_READ", "GLOBAL_SIMPLE", MOVES, ordering=False)
    double = changes(spark, ("k1", 3, "p1", 30.0), ("k1", 9, "p0", 90.0))
    with pytest.raises(hf.DataError, match="2 source rows have the record key 'k1', and no ordering"):
        hudi_spark.merge(double, table.path, when_matched=[Update()], options=options)
    with pytest.raises(hf.SchemaError, match="Update: the column 'id' is of the record key"):
        hudi_spark.merge(double, table.path, when_matched=[Update({"id": lit("x")})], options=options)
    assert len(table.timeline.instants) == 1


@only_long
@pytest.mark.parametrize("index", ["GLOBAL_SIMPLE", "RECORD_INDEX"])
def test_a_row_stays_in_its_partition_from_whose_path_hudi_reads_another_value(
    spark: SparkSession, tmp_path: Path, index: str
) -> None:
    table, options = everywhere(tmp_path / "table", "MERGE_ON_READ", index, MOVES, ordering=False)
    make_partition(tmp_path / "table", "q=1")
    table.insert(pa.Table.from_pylist([{"id": "a", "ts": 5, "p": "q=1", "price": 1.0}], SCHEMA))
    assert places(table)["a"] == ("q=1", "q=1", 1.0)
    source = changes(spark, ("a", 9, "", 0.0)).drop("p", "price")
    hudi_spark.merge(source, table.path, when_matched=[Update({"price": lit(8.0)})], options=options)
    hf.open_table(table.path, options=options).update({"price": 9.0}, where="id = 'a'")
    assert places(hf.open_table(table.path, options=options))["a"] == ("q=1", "q=1", 9.0)


@pytest.mark.parametrize("index", ["BUCKET", "SIMPLE", "GLOBAL_SIMPLE"])
def test_conditions_may_be_tuples_or_expressions(spark: SparkSession, tmp_path: Path, index: str) -> None:
    table = create(tmp_path / "table", index=index)
    known = ((f"k{i}", 2, f"p{i % 2}", 10.0 * i) for i in range(4))
    source = changes(spark, *known, ("n1", 2, "p0", 1.0), ("n2", 2, "p1", 2.0))
    hudi_spark.merge(
        source,
        table.path,
        when_matched=[
            Delete([("target.price", "=", 1.0)]),
            Update({"price": 5}, "source.price = 0"),
            Update(condition=pc.field("source", "price") > pc.field("target", "price") * 5),
        ],
        when_not_matched=[Insert(condition=[("source.price", ">", 1.5)])],
        options=options(index),
    )
    changed = {"k0": 5.0, "k2": 20.0, "k3": 30.0, "n2": 2.0}
    assert prices(table) == {f"k{i}": float(i) for i in range(8) if i != 1} | changed
