"""The main job's table, months of flights: real Hudi sees in it what we see, and goes on with it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import hudiformat as hf
from examples.flights.reports import KEY, SCHEMA
from examples.flights.source import read_flights
from tests.conformance.hudi import ROOT, RealHudi
from tests.effort import LONG, only_long
from tests.jvms import STARTUP
from tests.rows import assert_same_rows

ROW = ("_hoodie_partition_path", "_hoodie_record_key")
MONTHS = int(os.environ.get("HUDIFORMAT_MONTHS", "2" if LONG else "1"))
"""Of four commits each; ``make demo`` has all twelve."""
READ_OPTIMIZED = {"hoodie.datasource.query.type": "read_optimized"}
COMPACT_NOW = "hoodie.compact.inline.max.delta.commits=1"

pytestmark = [pytest.mark.spark, only_long]  # test_both_ways.py has log files that roll over, of few rows


def _without_coverage() -> dict[str, str]:
    """The environment for a million rows: what they go through is measured elsewhere, and measuring takes its time."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("COV_", "COVERAGE_"))}


@pytest.fixture(scope="module")
def flights(java: Path, tmp_path_factory: pytest.TempPathFactory) -> hf.Table:
    """The table as ``make demo`` leaves it, of some months; the job itself fails when a row is not as it must be."""
    pytest.importorskip("pyspark.sql.datasource")
    path = tmp_path_factory.mktemp("flights") / "table"
    job = subprocess.run(
        [sys.executable, "-m", "examples.flights", str(path), "--months", str(MONTHS)],
        cwd=ROOT,
        env={
            **_without_coverage(),
            "JAVA_HOME": str(java),
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": os.pathsep.join([str(STARTUP), str(ROOT)]),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert job.returncode == 0, job.stdout + job.stderr
    assert "rows that differ from plain Spark: 0" in job.stdout
    return hf.open_table(path)


def flights_that_left() -> int:
    every = read_flights().filter(pc.field("month") <= MONTHS)
    return len(every) - int(every["dep_time"].null_count)


def test_log_files_rolled_over_and_hold_every_flight_that_left(flights: hf.Table) -> None:
    slices = flights.file_slices()
    assert len(slices) == 2 * MONTHS
    assert max(log.name.version for item in slices for log in item.log_files) > 2
    assert flights.snapshot(columns=["flight"]).num_rows == flights_that_left()


def test_hudi_reads_the_same_rows(hudi: RealHudi, flights: hf.Table) -> None:
    assert_same_rows(flights.snapshot(), hudi.read(flights.path), key=ROW)
    assert_same_rows(flights.read_optimized(), hudi.read(flights.path, READ_OPTIMIZED), key=ROW)


@pytest.mark.parametrize("commit", [MONTHS + 1, *([0, 3 * MONTHS - 2] if LONG else [])])
def test_hudi_reads_the_same_rows_at_earlier_commits(hudi: RealHudi, flights: hf.Table, commit: int) -> None:
    instant = flights.timeline.completed[commit].time
    then = flights.snapshot(as_of=instant)
    assert 0 < then.num_rows < 336_776
    assert_same_rows(then, hudi.read(flights.path, {"as.of.instant": instant}), key=ROW)


def test_hudi_upserts_and_compacts_and_we_read_the_new_state(hudi: RealHudi, flights: hf.Table) -> None:
    some = flights.snapshot(columns=SCHEMA.names).slice(0, 500)
    moment = pc.add(some["event_time"], pa.scalar(86_400_000_000, pa.duration("us")))
    newer = some.set_column(SCHEMA.names.index("event_time"), "event_time", moment)
    newer = newer.set_column(SCHEMA.names.index("status"), "status", pa.array(["inspected"] * 500))
    write = {
        "hoodie.table.name": "flights",
        "hoodie.datasource.write.table.type": "MERGE_ON_READ",
        "hoodie.datasource.write.recordkey.field": ",".join(KEY),
        "hoodie.datasource.write.partitionpath.field": "month",
        "hoodie.table.ordering.fields": "event_time",
        "hoodie.datasource.write.operation": "upsert",
        "hoodie.metadata.enable": "false",  # building it would read every log file, which takes minutes
    }
    hudi.write(newer, flights.path, write)
    upserted = hf.open_table(flights.path)
    assert pc.sum(pc.equal(upserted.snapshot(columns=["status"])["status"], "inspected")).as_py() == 500
    assert_same_rows(upserted.snapshot(), hudi.read(flights.path), key=ROW)
    for step in ("schedule", "run"):
        hudi.sql(f"call run_compaction(op => '{step}', path => '{flights.path}', options => '{COMPACT_NOW}')")
    compacted = hf.open_table(flights.path)
    assert compacted.timeline.completed[-1].action.value == "commit"
    rows = compacted.snapshot()
    assert_same_rows(rows, hudi.read(flights.path), key=ROW)
    assert_same_rows(compacted.read_optimized(), hudi.read(flights.path, READ_OPTIMIZED), key=ROW)
    assert compacted.read_optimized().num_rows == rows.num_rows == flights_that_left()
