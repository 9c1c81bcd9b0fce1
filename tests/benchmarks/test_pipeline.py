"""The pipeline's benchmark runs, at a size at which figures mean nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import hudiformat as hf
from benchmarks import pipeline, pipeline_job
from benchmarks.pipeline_job import FIRST, INSERT, SMALL, SPREAD, UPSERT, Job
from tests.effort import only_long

pytest.importorskip("pyspark.sql.datasource")

import hudiformat.spark as hudi_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured]
COUNT = 2_000


@only_long
def test_writes_and_reads_are_measured(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(pipeline_job.BUCKETED, "hoodie.bucket.index.num.buckets", "4")
    hudi_spark.register(spark)
    pipeline.prepare(tmp_path, COUNT)
    slices = hf.open_table(tmp_path / "mor").file_slices()
    assert (len(slices), sum(bool(one.log_files) for one in slices)) == (10, 1)
    job = Job(spark, "functions", tmp_path, 1, reads=1)
    job.writes()
    job.reads()
    found = job.found
    assert set(found["parquet"]) == set(found["functions"]) - {FIRST, INSERT, UPSERT, SMALL, SPREAD}
    assert set(found["functions"]) >= {FIRST, INSERT, UPSERT, SMALL, SPREAD}
    assert found["functions"][SMALL]["jobs"] == 1
    lines = pipeline.tables(found).splitlines()
    assert lines[2] == "| write | hudiformat, functions | Parquet |"
    heads = 2  # of writes and of reads
    assert len([line for line in lines if line.startswith("| ")]) == heads + len(found["functions"])


def test_rows_follow_from_their_numbers() -> None:
    assert pipeline.rows_of([3, 5])["id"].to_pylist() == ["k000000003", "k000000005"]
    assert pipeline.rows_of(range(10)).num_columns == 10
