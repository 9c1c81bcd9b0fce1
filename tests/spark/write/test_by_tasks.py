"""File groups that Spark's tasks fill are sized as planned, whatever the index and the table type."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat.write.commit.transaction import Commit
from hudiformat.write.new_rows import groups_of_new
from tests.effort import LONG
from tests.rows import assert_same_rows

pytest.importorskip("pyspark.sql")
from pyspark.sql import functions

import hudiformat.spark as hudi_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.unmeasured

SCHEMA = pa.schema([pa.field("id", pa.string()), pa.field("ts", pa.int64()), pa.field("p", pa.string())])
SIZES = {
    "hoodie.parquet.max.file.size": "100000",
    "hoodie.parquet.small.file.limit": "100000",
    "hoodie.copyonwrite.record.size.estimate": "1000",
    "hoodie.record.size.estimation.threshold": "100",  # no commit is large enough to count
    "hoodie.merge.small.file.group.candidates.limit": "2",
    "hoodie.parquet.bloom.filter.enabled": "false",  # it would be most of a file
}
TABLES = [("COPY_ON_WRITE", "SIMPLE"), *(("MERGE_ON_READ", index) for index in ("INMEMORY", "BUCKET"))]
if LONG:
    TABLES += [("COPY_ON_WRITE", "BLOOM"), ("COPY_ON_WRITE", "INMEMORY")]
    TABLES += [("MERGE_ON_READ", "SIMPLE"), ("MERGE_ON_READ", "BLOOM")]


def create(folder: Path, table_type: str, index: str, **options: str) -> hf.Table:
    return hf.create_table(
        folder,
        name="things",
        schema=SCHEMA,
        record_key=["id"],
        ordering=["ts"],
        partition_by=["p"],
        table_type=table_type,
        options={**SIZES, "hoodie.index.type": index, "hoodie.bucket.index.num.buckets": "2", **options},
    )


def opened(table: hf.Table, **options: str) -> dict[str, str]:
    index = table._context.options.index_type.value
    return {**SIZES, "hoodie.index.type": index, **options}


def things(spark: SparkSession, start: int, count: int, *, ts: int = 1) -> DataFrame:
    """Rows in several tasks, a third of them in the partition ``a``."""
    rows = spark.range(start, start + count, 1, 5)
    return rows.selectExpr("concat('k', id) as id", f"cast({ts} as bigint) as ts", "if(id % 3 = 0, 'a', 'b') as p")


def inserted(commit: Commit) -> Counter[tuple[str, int]]:
    """How many file groups of each partition got how many new rows."""
    groups: Counter[tuple[str, str]] = Counter()
    for stat in commit.stats:
        groups[(stat.partition_path or "", stat.file_id or "")] += stat.num_inserts
    return Counter((path, rows) for (path, _), rows in groups.items() if rows)


def planned(table: hf.Table, rows: pa.Table, *, new: pa.Table) -> Counter[tuple[str, int]]:
    result: Counter[tuple[str, int]] = Counter()
    for plan in table.plan_inserts(rows):
        keys = [row["id"] for row in new.to_pylist() if row["p"] == plan.partition_path]
        groups = Counter(groups_of_new(plan, pa.array(keys)).to_pylist())
        result.update((plan.partition_path, count) for count in groups.values())
    return result


@pytest.mark.parametrize(("table_type", "index"), TABLES)
def test_rows_and_file_groups_are_those_of_a_write_in_one_process(
    spark: SparkSession, tmp_path: Path, table_type: str, index: str
) -> None:
    table, plain = create(tmp_path / "spark", table_type, index), create(tmp_path / "plain", table_type, index)
    has_plans = index != "BUCKET"
    for step, (rows, new) in enumerate(
        [
            (things(spark, 0, 450), things(spark, 0, 450)),
            (things(spark, 400, 400, ts=2), things(spark, 450, 350)),  # 50 updates among them
        ]
    ):
        arrow = rows.toArrow()
        expected = planned(table, arrow, new=new.toArrow()) if has_plans else None
        commit = hudi_spark.upsert(rows, table.path, options=opened(table))
        plain.upsert(arrow)
        assert commit.num_writes == arrow.num_rows
        if expected is not None:
            assert inserted(commit) == expected
            assert step or sum(expected.values()) == 2 + 3  # 150 and 300 rows, 100 to a group
        assert len({stat.path for stat in commit.stats}) == len(commit.stats)
        assert len({(stat.partition_path, stat.file_id) for stat in commit.stats}) == len(commit.stats)
    hudi_spark.delete(things(spark, 100, 600), table.path, options=opened(table))
    plain.delete(things(spark, 100, 600).toArrow())
    assert_same_rows(table.snapshot(columns=SCHEMA.names), plain.snapshot(columns=SCHEMA.names), key=("id",))
    assert len(table.file_slices()) == len(plain.file_slices())


def test_a_file_group_is_written_by_one_task_where_many_bring_rows_for_it(spark: SparkSession, tmp_path: Path) -> None:
    table = create(tmp_path / "table", "COPY_ON_WRITE", "SIMPLE")
    hudi_spark.insert(things(spark, 0, 90), table.path, options=opened(table))
    before = {item.file_id for item in table.file_slices()}
    commit = hudi_spark.upsert(things(spark, 0, 150, ts=2), table.path, options=opened(table))
    assert before <= {stat.file_id for stat in commit.stats}
    assert len(commit.stats) == len(table.file_slices())
    assert table.snapshot().num_rows == 150


@pytest.mark.parametrize("way", ["function", "data source"])
def test_new_rows_never_hide_what_is_in_log_files(spark: SparkSession, tmp_path: Path, way: str) -> None:
    table = create(tmp_path / "table", "MERGE_ON_READ", "SIMPLE")
    table.bulk_insert(things(spark, 0, 6).toArrow())
    table.upsert(things(spark, 0, 3, ts=2).toArrow())
    table.delete(things(spark, 3, 3).toArrow())
    new, options = things(spark, 10, 3), opened(table, **{"hudiformat.sizing": "flink"})
    if way == "function":
        hudi_spark.insert(new, table.path, options=options)
    else:
        hudi_spark.register(spark)
        writer = new.write.format("hudiformat").mode("append").option("operation", "insert").options(**options)
        writer.save(table.path)
    found = table.snapshot(columns=["id", "ts"]).to_pylist()
    expected = [*((f"k{i}", 2) for i in range(3)), *((f"k{i}", 1) for i in range(10, 13))]
    assert sorted((row["id"], row["ts"]) for row in found) == sorted(expected)


def test_keys_that_are_there_are_dropped_or_refused_by_an_insert(spark: SparkSession, tmp_path: Path) -> None:
    table = create(tmp_path / "table", "MERGE_ON_READ", "SIMPLE")
    hudi_spark.insert(things(spark, 0, 10), table.path, options=opened(table))
    drop = opened(table, **{"hoodie.datasource.insert.dup.policy": "drop"})
    commit = hudi_spark.insert(things(spark, 5, 10), table.path, options=drop)
    assert commit.num_writes == 5
    assert table.snapshot().num_rows == 15
    fail = opened(table, **{"hoodie.datasource.insert.dup.policy": "fail"})
    with pytest.raises(hf.DataError, match=r"the record key 'k1\d' is in partition '[ab]' already"):
        hudi_spark.insert(things(spark, 10, 10), table.path, options=fail)
    assert len(table.timeline.completed) == 2


def test_deletes_of_rows_that_are_not_there_make_no_file_group(spark: SparkSession, tmp_path: Path) -> None:
    schema = SCHEMA.append(pa.field("_hoodie_is_deleted", pa.bool_()))
    table = hf.create_table(
        tmp_path / "t", name="t", schema=schema, record_key=["id"], ordering=["ts"], partition_by=["p"], options=SIZES
    )
    flagged = things(spark, 0, 200).selectExpr("*", "id in ('k1', 'k2') or p = 'a' as _hoodie_is_deleted")
    commit = hudi_spark.upsert(flagged, table.path, options=SIZES)
    assert {stat.partition_path for stat in commit.stats} == {"b"}
    assert table.snapshot().num_rows == 133 - 2


def test_a_key_in_two_file_groups_is_updated_in_both(spark: SparkSession, tmp_path: Path) -> None:
    table = create(tmp_path / "table", "COPY_ON_WRITE", "SIMPLE", **{"hoodie.parquet.small.file.limit": "0"})
    for _ in range(2):
        table.insert(things(spark, 1, 1).toArrow())
    commit = hudi_spark.upsert(things(spark, 1, 1, ts=2), table.path)
    assert [stat.num_update_writes for stat in commit.stats] == [1, 1]
    assert table.snapshot()["ts"].to_pylist() == [2, 2]


@pytest.mark.parametrize("mode", ["NONE", "PARTITION_SORT", "GLOBAL_SORT"])
def test_a_bulk_insert_makes_new_file_groups(spark: SparkSession, tmp_path: Path, mode: str) -> None:
    table = create(tmp_path / "table", "COPY_ON_WRITE", "SIMPLE")
    table.insert(things(spark, 0, 10).toArrow())
    before = {item.file_id for item in table.file_slices()}
    options = opened(table, **{"hoodie.bulkinsert.sort.mode": mode})
    commit = hudi_spark.bulk_insert(things(spark, 10, 200), table.path, options=options)
    assert not before & {stat.file_id for stat in commit.stats}
    assert commit.num_writes == 200
    assert table.snapshot().num_rows == 210
    if mode == "NONE":
        assert len(commit.stats) == 5 * 2  # every task has rows of both partitions
    else:
        for stat in commit.stats:
            item = next(one for one in table.file_slices() if one.file_id == stat.file_id)
            rows = table.slice_reader().read(table._context.storage, item, columns=["_hoodie_record_key"])
            keys = rows["_hoodie_record_key"].to_pylist()
            assert keys == sorted(keys)


def test_a_bulk_insert_combines_when_it_is_told_to(spark: SparkSession, tmp_path: Path) -> None:
    table = create(tmp_path / "table", "MERGE_ON_READ", "SIMPLE")
    rows = things(spark, 0, 50).union(things(spark, 0, 50, ts=3))
    options = opened(table, **{"hoodie.combine.before.insert": "true"})
    commit = hudi_spark.bulk_insert(rows, table.path, options=options)
    assert commit.num_writes == 50
    assert set(table.snapshot()["ts"].to_pylist()) == {3}


@pytest.mark.parametrize("mode", ["NONE", "GLOBAL_SORT"])
def test_a_bulk_insert_that_combines_takes_no_ordering_value_for_zero(
    spark: SparkSession, tmp_path: Path, mode: str
) -> None:
    table = create(tmp_path / "table", "MERGE_ON_READ", "SIMPLE")
    nothing = functions.lit(None).cast("long")
    rows = things(spark, 0, 50).withColumn("ts", nothing).union(things(spark, 0, 50, ts=-3))
    options = opened(table, **{"hoodie.combine.before.insert": "true", "hoodie.bulkinsert.sort.mode": mode})
    hudi_spark.bulk_insert(rows, table.path, options=options)
    assert table.snapshot()["ts"].to_pylist() == [None] * 50


RING = {"hoodie.index.bucket.engine": "CONSISTENT_HASHING"}
RULES = {"hoodie.bucket.index.partition.expressions": "^a,5"}


@pytest.mark.parametrize("buckets", [RING, RULES])
def test_tasks_write_to_the_buckets_of_each_partition(
    spark: SparkSession, tmp_path: Path, buckets: dict[str, str]
) -> None:
    table = create(tmp_path / "table", "MERGE_ON_READ", "BUCKET", **buckets)
    plain = create(tmp_path / "plain", "MERGE_ON_READ", "BUCKET", **buckets)
    hudi_spark.register(spark)
    for first, last in ((0, 200), (100, 250)):
        frame = things(spark, first, last - first, ts=first)
        if first:
            frame.write.format("hudiformat").mode("append").option("operation", "upsert").save(table.path)
        else:
            hudi_spark.upsert(frame, table.path)
        plain.upsert(frame.toArrow())
        assert_same_rows(table.snapshot(columns=SCHEMA.names), plain.snapshot(columns=SCHEMA.names), key=("id",))
        counts = Counter(one.partition_path for one in table.file_slices())
        assert counts == Counter(one.partition_path for one in plain.file_slices())
    assert counts == {"a": 5 if buckets is RULES else 2, "b": 2}
