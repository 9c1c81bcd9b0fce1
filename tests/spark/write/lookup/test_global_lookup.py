"""Tasks write with a global index what one process writes: rows are found in any partition, and may leave it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import hudiformat as hf
from tests.effort import LONG, only_long

pytest.importorskip("pyspark.sql")

import hudiformat.spark as hudi_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.unmeasured

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string()),
        pa.field("ts", pa.int64()),
        pa.field("p", pa.string()),
        pa.field("v", pa.int32()),
        pa.field("_hoodie_is_deleted", pa.bool_()),
    ]
)
POLICY = "hoodie.datasource.insert.dup.policy"
Row = tuple[str, int | None, str, int, bool]


def rows_of(seed: int, *, deletes: bool = False) -> list[Row]:
    """Rows with distinct keys, some of them in other partitions than with another seed, and some older."""
    random = Random(seed)
    keys = random.sample(range(60), 40)
    partitions = ("x", "y", "z")
    return [
        (f"k{key}", random.choice((None, -1, 0, 1, 2, 3)), random.choice(partitions), seed, deletes and key % 7 == 0)
        for key in keys
    ]


def as_table(rows: list[Row]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], SCHEMA)


def as_frame(spark: SparkSession, rows: Sequence[Row]) -> DataFrame:
    kinds = "id string, ts bigint, p string, v int, _hoodie_is_deleted boolean"
    return spark.createDataFrame(rows, kinds).repartition(3)


def content(table: hf.Table) -> list[tuple[object, ...]]:
    """Each row with the partition that it lies in."""
    found = table.snapshot(columns=["_hoodie_partition_path", "id", "ts", "p", "v"])
    return sorted(zip(*(column.to_pylist() for column in found.columns), strict=True), key=repr)


class Pair:
    """A table that tasks write, and one with the same rows that one process writes."""

    def __init__(self, spark: SparkSession, folder: Path, table_type: str, options: dict[str, str]) -> None:
        self.spark, self.options = spark, options
        self.tables: list[hf.Table] = []
        for name in ("tasks", "one"):
            hf.create_table(
                folder / name,
                name="things",
                schema=SCHEMA,
                record_key=["id"],
                ordering=["ts"],
                partition_by=["p"],
                table_type=table_type,
                options=options,
            )
            self.tables.append(hf.open_table(folder / name, options=options))

    def open(self, options: dict[str, str]) -> None:
        """Use both with other options from now on."""
        self.options = options
        self.tables = [hf.open_table(table.path, options=options) for table in self.tables]

    def begin(self, operation: str, rows: list[Row]) -> None:
        """Write *rows* to both in one process."""
        for table in self.tables:
            getattr(table, operation)(as_table(rows))

    def write(self, operation: str, rows: list[Row]) -> None:
        """Write *rows* to both; the tables and what the commits count are the same."""
        tasks, one = self.tables
        by_tasks = getattr(hudi_spark, operation)(as_frame(self.spark, rows), tasks.path, options=self.options)
        by_one = getattr(one, operation)(as_table(rows))
        assert content(tasks) == content(one)
        assert (by_tasks.num_writes, by_tasks.num_deletes) == (by_one.num_writes, by_one.num_deletes)


def doubled(rows: list[Row]) -> list[Row]:
    """*rows*, and for each a newer one with its key in another partition."""
    return [*rows, *((key, 10, "y" if partition == "x" else "x", 9, False) for key, _, partition, *_ in rows)]


@only_long
@pytest.mark.parametrize(
    ("table_type", "index"), [("MERGE_ON_READ", "BLOOM"), *([("COPY_ON_WRITE", "SIMPLE")] if LONG else [])]
)
def test_tasks_write_what_one_process_does(spark: SparkSession, tmp_path: Path, table_type: str, index: str) -> None:
    pair = Pair(spark, tmp_path, table_type, {"hoodie.index.type": f"GLOBAL_{index}"})
    pair.begin("upsert", rows_of(1))
    pair.begin("insert", [(f"k{number}", 1, "w", 0, False) for number in range(10)])  # some are in two partitions now
    pair.write("upsert", rows_of(2, deletes=True))
    pair.write("upsert", doubled(rows_of(3)[:10]))
    pair.write("delete", [(f"k{number}", 0, "q", 0, False) for number in range(20, 30)])


def test_rows_stay_where_they_may_not_move(spark: SparkSession, tmp_path: Path) -> None:
    stays = {
        "hoodie.index.type": "GLOBAL_SIMPLE",
        "hoodie.simple.index.update.partition.path": "false",
        "hoodie.combine.before.upsert": "false",
    }
    pair = Pair(spark, tmp_path, "MERGE_ON_READ", stays)
    pair.begin("upsert", rows_of(1))
    pair.write("upsert", rows_of(2))


@only_long
def test_inserts_look_in_all_partitions_only_where_they_have_to(spark: SparkSession, tmp_path: Path) -> None:
    dropping = {"hoodie.index.type": "GLOBAL_SIMPLE", POLICY: "drop", "hoodie.combine.before.insert": "true"}
    pair = Pair(spark, tmp_path, "COPY_ON_WRITE", dropping)
    pair.begin("insert", rows_of(1))
    pair.write("insert", doubled(rows_of(2)))
    tasks, _ = pair.tables
    there, new = as_frame(spark, rows_of(2)), as_frame(spark, doubled([("new", 1, "z", 1, False)]))
    with pytest.raises(hf.DataError, match="the record key 'k[0-9]+' is in the table already"):
        hudi_spark.insert(there, tasks.path, options={**dropping, POLICY: "fail"})
    hudi_spark.insert(new, tasks.path, options={**dropping, POLICY: "none"})
    assert [row for row in content(tasks) if row[1] == "new"] == [("x", "new", 10, "x", 9)]


def test_inserts_are_written_as_they_come_where_nothing_is_combined(spark: SparkSession, tmp_path: Path) -> None:
    pair = Pair(spark, tmp_path, "COPY_ON_WRITE", {"hoodie.index.type": "GLOBAL_SIMPLE"})
    pair.write("insert", doubled(rows_of(1)))
