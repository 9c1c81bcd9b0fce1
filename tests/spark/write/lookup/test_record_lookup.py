"""Tasks look keys up in the record index, and write what one process writes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import hudiformat as hf
from hudiformat.file_group.reader import SliceReader
from tests.effort import LONG, only_long
from tests.metadata_statistics import check_record_index, check_statistics
from tests.spark.write.lookup.test_global_lookup import POLICY, Pair, rows_of

pytest.importorskip("pyspark.sql")

from hudiformat.spark.write.lookup import record_lookup

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECORDS = {
    "hoodie.index.type": "RECORD_INDEX",
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.record.index.min.filegroup.count": "3",
}


KINDS = [("MERGE_ON_READ", True), ("MERGE_ON_READ", False), ("COPY_ON_WRITE", True)]


@only_long
@pytest.mark.parametrize(("table_type", "few"), KINDS if LONG else KINDS[:1])
def test_tasks_write_what_one_process_does(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table_type: str, few: bool
) -> None:
    if not few:
        monkeypatch.setattr(record_lookup, "few_keys", lambda _: None)
    pair = Pair(spark, tmp_path, table_type, {**RECORDS, "hoodie.record.index.update.partition.path": "true"})
    pair.begin("upsert", rows_of(1, deletes=True))
    pair.write("upsert", rows_of(2, deletes=True))
    pair.write("delete", [(f"k{number}", 0, "q", 0, False) for number in range(20, 30)])
    pair.open(RECORDS)
    pair.write("upsert", rows_of(3))
    pair.open({**RECORDS, POLICY: "drop"})
    pair.write("insert", rows_of(4))
    for table in pair.tables:
        check_record_index(Path(table.path))
        check_statistics(Path(table.path))


def test_no_row_is_read_where_the_index_says_enough(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = Pair(spark, tmp_path, "MERGE_ON_READ", RECORDS)
    pair.begin("upsert", [(f"k{number}", 1, "x", 1, False) for number in range(20)])
    asked: list[SliceReader] = []
    monkeypatch.setattr(record_lookup, "live_rows", asked.append)
    pair.write("upsert", [(f"k{number}", 2, "x", 2, False) for number in range(15, 25)])
    assert asked == []
    assert isinstance(pair.tables[0], hf.Table)
