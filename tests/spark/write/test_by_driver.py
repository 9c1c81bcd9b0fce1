"""The driver writes few rows for few files by itself, and leaves all others to tasks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hudiformat as hf
from hudiformat.file_group.base_file.read import scan_base_file
from hudiformat.table.options.values import Operation
from hudiformat.write.commit.transaction import begin_write
from hudiformat.write.index import tagging
from hudiformat.write.write import write_keyed
from tests.spark.write.lookup.test_global_lookup import Pair, as_frame, as_table, content, doubled, rows_of
from tests.spark.write.lookup.test_record_lookup import RECORDS

pytest.importorskip("pyspark.sql")

import hudiformat.spark as hudi_spark
from hudiformat.spark.write import by_driver
from hudiformat.spark.write.by_driver import _pack, seems_small

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KINDS = [("MERGE_ON_READ", "SIMPLE"), ("COPY_ON_WRITE", "GLOBAL_SIMPLE"), ("MERGE_ON_READ", "RECORD_INDEX")]
ROWS, BYTES = "hudiformat.spark.driver.rows", "hudiformat.spark.driver.bytes"


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows the driver has written, of each write that it did by itself."""
    found: list[int] = []
    write = write_keyed

    def noted(plan: Any, rows: Any, **kept: Any) -> Any:
        found.append(len(rows.keys))
        return write(plan, rows, **kept)

    monkeypatch.setattr(by_driver, "write_keyed", noted)
    return found


@pytest.mark.parametrize(("table_type", "index"), KINDS)
def test_the_driver_writes_what_one_process_does(
    spark: SparkSession, tmp_path: Path, written: list[int], table_type: str, index: str
) -> None:
    options = RECORDS if index == "RECORD_INDEX" else {"hoodie.index.type": index}
    pair = Pair(spark, tmp_path, table_type, options)
    pair.begin("upsert", rows_of(1))
    pair.write("upsert", rows_of(2, deletes=True))
    pair.write("upsert", doubled(rows_of(3)[:10]))
    pair.write("delete", [(f"k{number}", 0, "x", 0, False) for number in range(20, 30)])
    assert written == [40, 20, 10]
    pair.open({**options, "hoodie.datasource.insert.dup.policy": "drop"})
    pair.write("insert", rows_of(4))
    assert len(written) == 4


def test_keys_that_one_commit_has_read_are_not_read_for_the_next(
    spark: SparkSession, tmp_path: Path, written: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def noted(storage: Any, path: str, *given: Any, **named: Any) -> Any:
        read.append(path)
        return scan_base_file(storage, path, *given, **named)

    monkeypatch.setattr(tagging, "scan_base_file", noted)
    pair = Pair(spark, tmp_path, "MERGE_ON_READ", {"hoodie.index.type": "SIMPLE"})
    pair.begin("upsert", rows_of(1))
    by_commit = []
    for _ in range(3):
        read.clear()
        hudi_spark.upsert(as_frame(spark, rows_of(1)), pair.tables[0].path, options=pair.options)
        by_commit.append(len(read))
    assert by_commit[0] > 0
    assert by_commit[1:] == [0, 0]


def bytes_of_files(pair: Pair, partitions: str) -> int:
    """The bytes of the base files in *partitions* of a pair's tables."""
    return sum(file.stat().st_size for name in partitions for file in Path(pair.tables[0].path, name).glob("*.parquet"))


@pytest.mark.parametrize("limit", [{ROWS: "0"}, {ROWS: "39"}, {BYTES: "1000"}])
def test_many_rows_are_for_tasks(
    spark: SparkSession, tmp_path: Path, written: list[int], limit: dict[str, str]
) -> None:
    pair = Pair(spark, tmp_path, "COPY_ON_WRITE", {"hoodie.index.type": "SIMPLE", **limit})
    pair.begin("upsert", rows_of(1))
    pair.write("upsert", rows_of(2))
    assert not written


def test_rows_for_large_files_are_for_tasks(spark: SparkSession, tmp_path: Path, written: list[int]) -> None:
    options = {"hoodie.index.type": "SIMPLE"}
    pair = Pair(spark, tmp_path, "COPY_ON_WRITE", options)
    pair.begin("upsert", rows_of(1))
    some = bytes_of_files(pair, "x") + 5_000  # for the rows
    assert some < bytes_of_files(pair, "xyz")
    pair.open({**options, BYTES: str(some)})
    pair.write("upsert", [(f"k{number}", 5, "x", 5, False) for number in range(10)])
    assert written == [10]  # of the files in other partitions nothing is read
    pair.write("upsert", rows_of(2))
    assert written == [10]


def test_no_rows_are_written_by_nobody(spark: SparkSession, tmp_path: Path, written: list[int]) -> None:
    pair = Pair(spark, tmp_path, "MERGE_ON_READ", {})
    pair.begin("upsert", rows_of(1))
    pair.write("upsert", [])
    assert written == []


def test_a_record_key_that_is_null_is_refused_and_nothing_is_written(
    spark: SparkSession, tmp_path: Path, written: list[int]
) -> None:
    pair = Pair(spark, tmp_path, "MERGE_ON_READ", {})
    pair.begin("upsert", rows_of(1))
    table, before = pair.tables[0], content(pair.tables[0])
    with pytest.raises(hf.DataError, match="null"):
        hudi_spark.upsert(as_frame(spark, [(None, 1, "x", 1, False)]), table.path)  # type: ignore[list-item]
    assert content(table) == before
    assert not written


def test_a_task_stops_once_there_are_too_many_bytes() -> None:
    read = []

    def batches() -> Any:
        for number in range(9):
            read.append(number)
            yield pa.record_batch({"v": [number] * 100})

    assert list(_pack(1_000, batches())) == []
    assert read == [0, 1]
    (packed,) = _pack(10_000, batches())
    assert pa.ipc.open_stream(packed[0][0].as_py()).read_all().num_rows == 900
    assert list(_pack(10, [])) == []


@pytest.mark.parametrize("index", ["SIMPLE", "BUCKET"])
def test_few_inserts_are_the_driver_s(spark: SparkSession, tmp_path: Path, written: list[int], index: str) -> None:
    pair = Pair(spark, tmp_path, "MERGE_ON_READ", {"hoodie.index.type": index})
    pair.begin("upsert", rows_of(1))
    pair.write("insert", [(f"new{number}", 1, "x", 1, False) for number in range(20)])
    assert written == [20]


@pytest.mark.parametrize("operation", ["bulk_insert", "insert_overwrite", "insert_overwrite_table"])
@pytest.mark.parametrize("index", ["SIMPLE", "BUCKET"])
def test_new_file_groups_of_few_rows_are_the_driver_s_where_spark_knows_their_number(
    spark: SparkSession, tmp_path: Path, written: list[int], operation: str, index: str
) -> None:
    pair = Pair(spark, tmp_path, "MERGE_ON_READ", {"hoodie.index.type": index})
    pair.begin("upsert", rows_of(1))
    new = as_table([(f"new{number}", 1, "x", 1, False) for number in range(20)])
    pq.write_table(new, tmp_path / "new.parquet")
    tasks, one = pair.tables
    getattr(hudi_spark, operation)(spark.read.parquet(str(tmp_path / "new.parquet")), tasks.path, options=pair.options)
    getattr(one, operation)(new)
    assert content(tasks) == content(one)
    assert written == [20]


def test_rows_are_asked_for_at_once_where_spark_knows_that_they_are_few(spark: SparkSession, tmp_path: Path) -> None:
    pair = Pair(spark, tmp_path, "MERGE_ON_READ", {})
    with begin_write(pair.tables[0]._context, Operation.UPSERT) as write:
        plan = write.plan
        assert seems_small(spark.createDataFrame(as_table(rows_of(1))), plan)
        assert not seems_small(spark.range(1 << 40), plan)
        assert not seems_small(spark.range(1), replace(plan, options=replace(plan.options, driver_rows=0)))
