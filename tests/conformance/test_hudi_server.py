"""The harness itself: real Hudi answers, and its errors arrive as errors."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tests.conformance.hudi import RealHudi, RealHudiError
from tests.effort import only_long

OPTIONS = {
    "hoodie.table.name": "harness",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.datasource.write.operation": "upsert",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "part",
    "hoodie.table.ordering.fields": "ts",
}


@pytest.fixture(scope="module")
def table(hudi: RealHudi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("harness") / "table"
    rows = pa.table(
        {
            "id": ["a", "b"],
            "ts": pa.array([1, 1], pa.int64()),
            "part": ["x", "y"],
            "at": pa.array([0, 1], pa.timestamp("us", "UTC")),
        }
    )
    hudi.write(rows, path, OPTIONS)
    hudi.write(rows.slice(0, 1).set_column(1, "ts", pa.array([2], pa.int64())), path, OPTIONS)
    return path


@only_long
def test_hudi_reads_what_hudi_wrote_with_the_types_it_had(hudi: RealHudi, table: Path) -> None:
    rows = hudi.read(table).sort_by("id").select(["id", "ts", "part", "at"])
    assert rows.column("ts").to_pylist() == [2, 1]
    assert rows.schema.field("at").type == pa.timestamp("us", "UTC")


def test_options_reach_the_reader(hudi: RealHudi, table: Path) -> None:
    assert hudi.read(table, {"hoodie.datasource.query.type": "read_optimized"}).column("ts").to_pylist() == [1, 1]


def test_sql_and_code_run_beside_the_tables(hudi: RealHudi) -> None:
    assert hudi.sql("select 1 as one").to_pylist() == [{"one": 1}]
    assert hudi.eval_("result = jvm.org.apache.hudi.common.model.HoodieTableType.values()[1].name()") == "MERGE_ON_READ"


def test_an_error_in_java_arrives_in_short_and_whole(hudi: RealHudi, tmp_path: Path) -> None:
    with pytest.raises(RealHudiError, match="TableNotFoundException") as caught:
        hudi.read(tmp_path / "missing")
    assert "\tat org.apache.hudi" in caught.value.trace


@only_long  # test_both_ways.py runs one, too
def test_a_script_runs_on_pyspark_3_5_with_hudi_and_hudiformat(hudi: RealHudi, table: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, pyspark, hudiformat.errors\n"
        "from pyspark.sql import SparkSession\n"
        "spark = SparkSession.builder.getOrCreate()\n"
        "print(pyspark.__version__, spark.read.format('hudi').load(sys.argv[1]).count())\n"
    )
    version, count = hudi.run_script(script, str(table)).splitlines()[-1].split()
    assert version.startswith("3.5.")
    assert count == "2"
