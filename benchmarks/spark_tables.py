"""The tables of :mod:`benchmarks.spark_job`, and its runs: hudiformat here, Hudi in the environment that it needs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import hudiformat as hf
from benchmarks import spark_job
from benchmarks.cases import mixed
from benchmarks.spark_job import BUCKETS, INPUT, KEY, ORDERING, PARTITION, READ, UPSERTED
from hudiformat.schema.meta_fields import META_FIELDS
from tests.conformance.hudi import ROOMY, ROOT, RealHudi
from tools.java import java_home
from tools.kernels import KernelsError, build_package

HUDI_ON_SPARK = "Hudi 1.2.0 on Spark, two cores"
_LONGEST = 3_600
_PARTS = 8

Found = dict[str, dict[str, float]]
"""By what was done: ``seconds``, ``cpu_seconds`` and ``peak_mb``."""


def prepare(folder: Path, count: int) -> None:
    """The rows that are written, a table to upsert all of them into, and one to read: base files under log files."""
    rows = pa.Table.from_batches([mixed(count)]).drop_columns(list(META_FIELDS))
    pq.write_table(rows, folder / INPUT, row_group_size=-(-count // _PARTS), store_schema=False)
    path = folder / UPSERTED
    hf.create_table(
        path, name="rows", schema=rows.schema, record_key=[KEY], ordering=[ORDERING], partition_by=[PARTITION]
    )
    hf.open_table(path, options=BUCKETS).insert(rows)
    hf.open_table(path, options={**BUCKETS, "hoodie.compact.inline.max.delta.commits": "1"}).compact()
    shutil.copytree(path, folder / READ)
    hf.open_table(folder / READ, options=BUCKETS).upsert(rows)


def by_hudiformat(folder: Path, rounds: int, engine: str = "hudiformat") -> Found:
    """What hudiformat's layer takes, on the PySpark that is installed."""
    found: Found = run_here(Path(spark_job.__file__), engine, str(folder), str(rounds), timeout=_LONGEST)
    return found


def run_here(script: Path, *arguments: str, timeout: float) -> Any:
    """Run a job on the PySpark that is installed, with compiled kernels; what it prints last, as JSON."""
    folders = [str(ROOT)]
    with suppress(KernelsError):  # numba's are used only after more rows than a worker of most jobs gets
        folders.append(str(build_package()))
    path = os.pathsep.join(folders)
    environ = {**os.environ, "PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    environ |= {"JAVA_HOME": str(java_home()), "SPARK_SUBMIT_OPTS": ROOMY}
    words = [sys.executable, str(script), *arguments]
    run = subprocess.run(words, env=environ, capture_output=True, text=True, check=True, timeout=timeout)
    return json.loads(run.stdout.splitlines()[-1])


def by_hudi(folder: Path, rounds: int, engine: str = "hudi") -> Found:
    """What Hudi's data source takes.

    Raises:
        NoHudiError: there is no Hudi here.
    """
    return _told_by_hudi(engine, str(folder), str(rounds))


def whole_by_hudi(path: Path, rounds: int) -> dict[str, float]:
    """What Hudi takes to read the whole table at *path*, and throw the rows away.

    Raises:
        NoHudiError: there is no Hudi here.
    """
    return _told_by_hudi(spark_job.WHOLE, str(path), str(rounds))["read"]


def _told_by_hudi(*arguments: str) -> Found:
    hudi = RealHudi()  # whose own session is not started
    try:
        return _last_line(hudi.run_script(Path(spark_job.__file__), *arguments, timeout=_LONGEST))
    finally:
        hudi.stop()


def _last_line(printed: str) -> Found:
    found: Found = json.loads(printed.splitlines()[-1])
    return found
