"""Rows get their tags from the columns that keys are made of."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat.naming.bucket_hash import record_key_buckets
from hudiformat.table.options.values import Operation
from hudiformat.write.commit.plan import WritePlan, write_plan
from hudiformat.write.new_rows import groups_of_new

pytest.importorskip("pyspark.sql")

from hudiformat.spark.write.lookup import tagging
from hudiformat.spark.write.lookup.tagging import cache_if_slow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = pa.schema([pa.field("id", pa.string()), pa.field("p", pa.string()), pa.field("n", pa.int64())])
SMALL_GROUPS = {"hoodie.copyonwrite.record.size.estimate": "1000", "hoodie.parquet.max.file.size": "3000"}


def plan_of(folder: Path, options: dict[str, str]) -> WritePlan:
    path = folder / "table"
    hf.create_table(path, name="t", schema=SCHEMA, record_key=["id"], partition_by=["p"])
    context = hf.open_table(path, options=options)._context
    return write_plan(context.state(), Operation.INSERT, "20260101000000000")


def tags(plan: WritePlan, rows: pa.RecordBatch) -> pa.RecordBatch:
    [tagged] = tagging.tag_rows(plan, plan.schema.only(tagging.key_columns(plan)), [rows])
    assert tagged.select(rows.schema.names) == rows
    return tagged.select(tagging.TAGS.names)


def rows_of(*paths: str) -> pa.RecordBatch:
    ids = [f"k{number}" for number in range(len(paths))]
    return pa.RecordBatch.from_pydict({"n": [1] * len(ids), "p": list(paths), "id": ids})


def test_an_inserted_row_has_the_file_group_that_its_partitions_plan_gives(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, SMALL_GROUPS)
    assert plan.sizing is not None
    placed = replace(plan.sizing.plan("a", 9, ()), in_order=False)
    rows = rows_of("a", "b", "a", "a", "b", "a")
    found = tags(replace(plan, planned_inserts={"a": placed}), rows)
    keys = ["k0", "k2", "k3", "k5"]
    expected = dict(zip(keys, groups_of_new(placed, pa.array(keys)).to_pylist(), strict=True))
    groups = dict(zip(found[tagging.KEY].to_pylist(), found[tagging.GROUP].to_pylist(), strict=True))
    assert groups == {**expected, "k1": "+0", "k4": "+0"}  # b was not counted: its rows open one group
    assert found[tagging.PATH].to_pylist() == ["a", "b", "a", "a", "b", "a"]


def test_a_bucket_is_the_file_group_where_there_are_buckets(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "3"})
    found = tags(plan, rows_of("a", "a", "b"))
    buckets = record_key_buckets(pa.array(["k0", "k1", "k2"]), ["k"], 3)
    assert found[tagging.GROUP].to_pylist() == [str(number) for number in buckets]


def test_no_rows_have_no_tags(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, SMALL_GROUPS)
    assert plan.sizing is not None
    placed = replace(plan, planned_inserts={"a": plan.sizing.plan("a", 9, ())})
    rows = rows_of("a").slice(1)
    assert tags(placed, rows).num_rows == 0


def test_names_are_quoted() -> None:
    assert tagging.quote("a`b.c") == "`a``b.c`"


def test_what_may_give_other_rows_again_is_cached_and_what_is_quick_is_not(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(5).write.parquet(str(tmp_path / "rows"))
    files = spark.read.parquet(str(tmp_path / "rows"))
    with ExitStack() as stack:
        assert cache_if_slow(files.where("id > 1"), stack).storageLevel.useMemory is False
        for quick in (files, files.union(files), files.selectExpr("'a Join of Python' as `Exchange`"), spark.range(3)):
            assert cache_if_slow(quick, stack) is quick
        for other in (
            files.selectExpr("rand()"),
            files.distinct(),
            files.where("id > (select max(id) from range(3))"),
            files.limit(2),
            spark.createDataFrame([(1,)], "id long"),
            files.mapInArrow(lambda batches: batches, "id long"),
        ):
            kept = cache_if_slow(other, stack)
            assert kept.storageLevel.useMemory
            assert cache_if_slow(kept, stack) is kept
    assert not kept.storageLevel.useMemory
