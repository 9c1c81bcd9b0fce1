"""Clustering of many small files, by hudiformat and by Hudi: ``python -m benchmarks --case clustering``.

    python -m benchmarks.clustering FOLDER LAYOUT ROUNDS

FOLDER is what :func:`prepare` has made.  Each layout runs in a process of its own, with one of Arrow's threads, so that
memory can be told; Hudi has two cores.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

import hudiformat as hf
from benchmarks import indexes
from benchmarks.spark_job import CLUSTERED, LAYOUTS, ORDER
from benchmarks.timing import peak_mb

FILES = 200
_PARTITIONS = 4
_NO_SERVICES = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
_STRATEGY = "hoodie.layout.optimize.strategy"
_COLUMNS = "hoodie.clustering.plan.strategy.sort.columns"


def prepare(folder: Path, count: int) -> None:
    """A table of *count* rows in 200 small files, those of fifty bulk inserts into four partitions."""
    path, size = folder / CLUSTERED, count * _PARTITIONS // FILES
    indexes.create(path, {})
    table = hf.open_table(path, options=_NO_SERVICES)
    for start in range(0, count, size):
        table.bulk_insert(indexes.rows_of(np.arange(start, start + size), 1))
    if len(table.file_slices()) != FILES:
        raise AssertionError(f"expected {FILES} files, found {len(table.file_slices())}")


def cluster(folder: Path, layout: str, rounds: int) -> dict[str, float]:
    """Seconds and processor seconds of the best of *rounds*, and the memory of the first."""
    strategy = LAYOUTS[layout]
    options = {} if strategy is None else {_STRATEGY: strategy, _COLUMNS: ORDER}
    taken, megabytes = [], 0.0
    for number in range(rounds):
        path = folder / "own"
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(folder / CLUSTERED, path)
        table = hf.open_table(path, options=options)
        start, computed = time.perf_counter(), time.process_time()
        if number:
            table.cluster()
        else:
            megabytes = peak_mb(table.cluster) or 0.0
        taken.append((time.perf_counter() - start, time.process_time() - computed))
        if len(table.file_slices()) != _PARTITIONS:
            raise AssertionError("a partition is not one file")
    shutil.rmtree(folder / "own")
    seconds, cpu = (min(column) for column in zip(*taken, strict=True))
    return {"seconds": seconds, "cpu_seconds": cpu, "peak_mb": megabytes}


def apart(folder: Path, layout: str, rounds: int) -> dict[str, float]:
    """What this module, run for *layout*, prints."""
    command = [sys.executable, "-m", "benchmarks.clustering", str(folder), layout, str(rounds)]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=3_600)
    found: dict[str, float] = json.loads(run.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    pa.set_cpu_count(1)
    print(json.dumps(cluster(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))))
