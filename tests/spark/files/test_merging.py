"""Files merged by the file sink, and row groups copied from Spark's own files, read by Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from hudiformat.codec.parquet.copying import copy_row_groups
from hudiformat.sink import PolicyContext
from hudiformat.storage.local import LocalStorage

pytest.importorskip("pyspark")

from hudiformat.spark import file_sink
from tests.effort import only_long
from tests.spark.files.test_sink import hidden, ids, shown

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Notes:
    """A policy that writes down what it is given."""

    def __init__(self) -> None:
        self.found: list[tuple[dict[str, str], str, int]] = []

    def commit(self, context: PolicyContext) -> None:
        self.found.append((context.values, context.path, len(context.files())))


@pytest.mark.spark
def test_files_of_several_batches_are_merged_at_the_commit(spark: SparkSession, tmp_path: Path) -> None:
    options = {"sink.partition-commit.policy.kind": "merge,custom", "sink.partition-commit.delay": "1 d"}
    out, notes = tmp_path / "out", Notes()
    for batch in range(2):
        rows = spark.range(20 * batch, 20 * batch + 20, numPartitions=2).selectExpr(
            "id", "id % 2 AS part", "'x' AS day"
        )
        sink = file_sink(str(out), partition_by=["day", "part"], options=options, custom=notes)
        commit = sink(rows, batch)
        assert commit is not None
        assert (commit.files, commit.partitions) == ((), ())
    assert (shown(out), len(hidden(out))) == ([], 2 * 4 + 1)
    assert sink.end() == ["day=x/part=0", "day=x/part=1"]
    assert shown(out) == ["part=0/compacted", "part=1/compacted"]
    assert ids(spark, out) == list(range(40))
    assert notes.found == [({"day": "x", "part": f"{part}"}, f"{out}/day=x/part={part}", 1) for part in range(2)]
    assert hidden(out) == [f"{1:020d}.done"]


@only_long
@pytest.mark.spark
def test_row_groups_of_spark_s_files_are_copied(spark: SparkSession, tmp_path: Path) -> None:
    """With bloom filters and indexes of pages, by which Spark's reader skips."""
    source = tmp_path / "in"
    rows = spark.range(0, 60_000, numPartitions=3).selectExpr(
        "id",
        "CAST(id * 7 AS string) AS name",
        "array(id, id + 1) AS pair",
        "date_add(DATE'2024-01-01', CAST(id % 9 AS int)) AS day",
    )
    writer = rows.write.option("parquet.bloom.filter.enabled#name", "true").option(
        "parquet.page.row.count.limit", "1000"
    )
    writer.option("parquet.bloom.filter.expected.ndv#name", "20000").option(
        "parquet.enable.dictionary", "false"
    ).parquet(str(source))
    paths = sorted(path.name for path in source.glob("*.parquet"))
    copy_row_groups(LocalStorage(tmp_path), [f"in/{path}" for path in paths], "out/all.parquet")
    out = tmp_path / "out"
    metadata = pq.ParquetFile(out / "all.parquet").metadata
    assert (metadata.num_rows, metadata.num_row_groups) == (60_000, 3)
    assert metadata.row_group(2).column(1).bloom_filter_offset is not None
    found = spark.read.parquet(str(out))
    assert found.schema == spark.read.parquet(str(source)).schema
    digest = "sum(CAST(xxhash64(id, name, pair, day) AS decimal(38)))"
    assert found.selectExpr(digest).collect() == rows.selectExpr(digest).collect()
    for where, count in {"id BETWEEN 19990 AND 20010": 21, "name = '350000'": 1, "name = 'x'": 0}.items():
        assert found.where(where).count() == count
    read: Any = found.where("id BETWEEN 20000 AND 39999").groupBy().sum("id").collect()[0][0]
    assert read == sum(range(20_000, 40_000))
