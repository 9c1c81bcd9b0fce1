"""How long commits take as a table gets older: ``python -m benchmarks --case commits``.

    python -m benchmarks.commits WRITER WORKLOAD FOLDER COMMITS

Each writer runs in a process of its own, in which one table object gets all commits.  hudiformat syncs files, which is
its default; deltalake does not.
"""

from __future__ import annotations

import gc
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa

import hudiformat as hf
from benchmarks.timing import resident_mb

SCHEMA = pa.schema(
    [("id", pa.string()), ("ts", pa.int64()), ("p", pa.string()), ("v", pa.float64()), ("s", pa.string())]
)
MERGE, APPEND = "deltalake, merge", "deltalake, append"
OURS = "hudiformat"
PARTS = 10
"""Of a series, of each of which the median is told."""


@dataclass(frozen=True, slots=True)
class Workload:
    """Upserts of *rows* rows, whose keys are *keys* at random; before them all keys are in the table if it *begins* so.

    ``most_ms`` is what the median commit may take.
    """

    rows: int
    keys: int
    commits: int
    options: dict[str, str]
    begins_full: bool
    most_ms: float

    def batch(self, number: int) -> pa.Table:
        """The rows of the commit *number*; 0 is what the table begins with."""
        chosen = np.random.default_rng(number)
        count = self.keys if number == 0 and self.begins_full else self.rows
        keys = chosen.choice(self.keys, count, replace=False)
        columns = [
            [f"key-{key:08d}" for key in keys],
            np.full(count, number),
            [f"p{key % 2}" for key in keys],
            chosen.random(count),
            [f"text {key * 7919 % 10007}" for key in keys],
        ]
        return pa.table(columns, schema=SCHEMA)


WORKLOADS = {
    "100 rows": Workload(100, 10_000, 1_000, {}, begins_full=True, most_ms=25),
    "20,000 rows, SIMPLE": Workload(
        20_000, 200_000, 100, {"hoodie.index.type": "SIMPLE"}, begins_full=False, most_ms=120
    ),
    "20,000 rows, 512 buckets": Workload(
        20_000,
        200_000,
        100,
        {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "256"},
        begins_full=False,
        most_ms=600,
    ),
}


def series(writer: str, workload: Workload, folder: Path, commits: int) -> dict[str, list[float]]:
    """The milliseconds of each commit after the first, and the peak memory in MB."""
    shutil.rmtree(folder, ignore_errors=True)
    write = _ours(workload, folder) if writer == OURS else _delta(folder, merges=writer == MERGE)
    write(workload.batch(0))
    taken = []
    for number in range(1, commits + 1):
        rows = workload.batch(number)
        start = time.perf_counter()
        write(rows)
        taken.append(1000 * (time.perf_counter() - start))
        if number % 100 == 0:
            gc.collect()
    shutil.rmtree(folder)
    return {"ms": taken, "peak_mb": [resident_mb("VmHWM")]}


def _ours(workload: Workload, folder: Path) -> Callable[[pa.Table], object]:
    hf.create_table(
        folder,
        name="commits",
        schema=SCHEMA,
        record_key=["id"],
        ordering=["ts"],
        partition_by=["p"],
        options=workload.options,
    )
    return hf.open_table(folder).upsert


def _delta(folder: Path, *, merges: bool) -> Callable[[pa.Table], object]:
    from deltalake import DeltaTable, write_deltalake

    write_deltalake(folder, pa.table([pa.array([], field.type) for field in SCHEMA], schema=SCHEMA), partition_by=["p"])
    table = DeltaTable(folder)

    def merge(rows: pa.Table) -> object:
        matched = table.merge(rows, "s.id = t.id and s.p = t.p", source_alias="s", target_alias="t")
        return matched.when_matched_update_all().when_not_matched_insert_all().execute()

    return merge if merges else lambda rows: write_deltalake(table, rows, mode="append")


def apart(writer: str, name: str, folder: Path, commits: int) -> dict[str, list[float]]:
    """What this module, run for *writer*, prints."""
    command = [sys.executable, "-m", "benchmarks.commits", writer, name, str(folder), str(commits)]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=7_200)
    found: dict[str, list[float]] = json.loads(run.stdout.splitlines()[-1])
    return found


def medians(taken: list[float]) -> list[float]:
    """The median of each tenth of a series."""
    size = max(len(taken) // PARTS, 1)
    return [median(taken[start : start + size]) for start in range(0, size * min(PARTS, len(taken)), size)]


def growth(taken: list[float]) -> float:
    """By how many milliseconds a commit takes longer than the one before, from the middle of a series to its end."""
    every = medians(taken)
    middle = len(every) // 2
    commits = max((len(every) - 1 - middle) * max(len(taken) // PARTS, 1), 1)
    return (every[-1] - every[middle]) / commits


if __name__ == "__main__":
    print(json.dumps(series(sys.argv[1], WORKLOADS[sys.argv[2]], Path(sys.argv[3]), int(sys.argv[4]))))
