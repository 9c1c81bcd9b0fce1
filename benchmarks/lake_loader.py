"""The loads of Onehouse's Lake Loader on Spark, in small: hudiformat beside Hudi 1.2.0 and Delta Lake, in one run.

    python -m benchmarks.lake_loader                             # 20,000 rows a load: some minutes
    python -m benchmarks.lake_loader --scale 1 --heap 4g --json FILE   # a million rows a load: hours, 10 GB of disk
    python -m benchmarks.lake_loader --scale 1 --heap 4g --load partitions --rounds 1

``fact``: rows of 1 KB in 40 columns, by day; a quarter of each round updates the newest days, the newest the most, and
the rest is new in the newest two.  ``dim``: 99 columns, no partitions, half of each round are updates.  ``events``: 30
columns of 200 bytes, rows are only added, to the newest day.  ``partitions`` is not one of Onehouse's: ten rows into
each of 10,000 partitions, then 500 updates, and 500 new rows in 100 of them.

The scale multiplies rows and days, not widths.  The engines take the same files, one after the other; their answers are
compared.  hudiformat runs on the PySpark that is installed, Hudi and Delta on PySpark 3.5, each with the same heap.
With 2 GB Hudi ends for want of memory in the first round of a million rows of 1 KB.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import lake_loader_job
from benchmarks.lake_loader_job import CODEC, KEY, ORDERING, PARTITION, SUMMED
from benchmarks.lake_results import ENGINES, markdown
from benchmarks.spark_job import HEAP
from benchmarks.spark_tables import run_here
from tests.conformance.hudi import RealHudi, RealHudiError
from tools.jars import DELTA

ROUNDS = 19
_AT_ONCE = 50_000
_ZIPF, _NEWEST = 2.93, 90
_FIXED = 40
"""Bytes of a row's key, ordering field, partition and number."""
_LONGEST = 6 * 3_600

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Load:
    """A load: rows of the first round and of the others, columns, bytes of a row, days, and the share of updates."""

    rows: int
    batch: int
    columns: int
    width: int
    days: int
    updates: float
    newest: int
    """Days that new rows of a later round are spread over; 0 without partitions."""

    @property
    def operation(self) -> str:
        """How later rounds are written."""
        return "upsert" if self.updates else "insert"

    @property
    def partition(self) -> str:
        """The partition column; empty without partitions."""
        return PARTITION if self.newest else ""

    def scaled(self, scale: float) -> Load:
        """Return the load with *scale* times its rows and days."""
        days = max(round(self.days * scale), 4) if self.newest else 1
        rows, batch = max(round(self.rows * scale), days), max(round(self.batch * scale), 8)
        return Load(rows, batch, self.columns, self.width, days, self.updates, self.newest)


LOADS = {
    "fact": Load(1_000_000, 10_000, 40, 1024, 365, 0.25, 2),
    "dim": Load(1_000_000, 5_000, 99, 1024, 1, 0.5, 0),
    "events": Load(1_000_000, 5_000, 30, 200, 1095, 0.0, 1),
    "partitions": Load(100_000, 1_000, 8, 100, 10_000, 0.5, 100),
}
PUBLISHED = ("fact", "dim", "events")


def rounds_of(load: Load, rounds: int, random: np.random.Generator) -> Iterator[tuple[int, Numbers, Numbers]]:
    """Yield the number of each round, and the numbers and days of its rows; the first fills the table.

    A row of the first round is of the day that its number leaves when it is divided by the number of days.
    """
    first = np.arange(load.rows, dtype=np.int64)
    yield 0, first, first % load.days
    for number in range(1, rounds + 1):
        updated = round(load.batch * load.updates)
        back = (random.zipf(_ZIPF, updated) - 1) % min(_NEWEST, load.days)
        old = _rows_of_days(load, load.days - 1 - back, random)
        start = load.rows + (number - 1) * load.batch
        new = np.arange(start, start + load.batch - updated, dtype=np.int64)
        newest = load.days - 1 - new % max(load.newest, 1)
        yield number, np.concatenate([old, new]), np.concatenate([old % load.days, newest])


def _rows_of_days(load: Load, days: Numbers, random: np.random.Generator) -> Numbers:
    """Return as many rows of the first round as *days* names each day, or all that the day has."""
    there = load.rows // load.days
    chosen = [
        day + load.days * random.choice(there, min(count, there), replace=False)
        for day, count in zip(*np.unique(days, return_counts=True), strict=True)
    ]
    return np.concatenate([np.empty(0, np.int64), *chosen])


def rows_of(load: Load, numbers: Numbers, days: Numbers, ts: int, random: np.random.Generator) -> pa.Table:
    """Return rows of random texts; key, ordering field, partition and a number come first."""
    columns: dict[str, Any] = {
        KEY: np.char.add("k", np.char.zfill(numbers.astype(str), 9)),
        ORDERING: np.full(len(numbers), ts),
        PARTITION: np.char.add("d", np.char.zfill(days.astype(str), 5)),
        SUMMED: numbers * (ts + 1),
    }
    others = load.columns - len(columns)
    length = max((load.width - _FIXED) // others, 1)
    for number in range(others):
        letters = random.integers(ord("a"), ord("a") + 16, len(numbers) * length, np.uint8)
        ends = np.arange(len(numbers) + 1, dtype=np.int32) * length
        columns[f"c{number}"] = pa.StringArray.from_buffers(len(numbers), pa.py_buffer(ends), pa.py_buffer(letters))
    return pa.table(columns)


def prepare(load: Load, rounds: int, folder: Path) -> None:
    """Write the rows of each round as Parquet files."""
    random = np.random.default_rng(53)
    for ts, numbers, days in rounds_of(load, rounds, random):
        inputs = folder / f"round-{ts:03}"
        inputs.mkdir()
        for start in range(0, len(numbers), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            rows = rows_of(load, numbers[part], days[part], ts, random)
            pq.write_table(rows, inputs / f"{start:09}.parquet", compression="zstd", store_schema=False)


def measured(engine: str, folder: Path, load: Load, heap: str) -> dict[str, Any]:
    """Return what *engine* took for the load whose rows are in *folder*, with a JVM of *heap*, or why it failed.

    Raises:
        NoHudiError: there is no PySpark 3.5 here.
        NoArtifactError: Delta's jars cannot be fetched.
    """
    jars = ":".join(map(str, DELTA.fetch())) if engine == "delta" else ""
    script, arguments = (
        Path(lake_loader_job.__file__),
        [engine, str(folder), load.operation, load.partition, jars, heap],
    )
    if engine == "hudiformat":
        found: dict[str, Any] = run_here(script, *arguments, timeout=_LONGEST)
        return found
    hudi = RealHudi()  # whose own session is not started
    try:
        found = json.loads(hudi.run_script(script, *arguments, timeout=_LONGEST).splitlines()[-1])
    except RealHudiError as error:
        sys.stderr.write(error.trace)
        return {"failed": "of memory" if "OutOfMemoryError" in error.trace else "of an error"}
    finally:
        hudi.stop()
    return found


def run(load: Load, rounds: int, place: Path | None, heap: str) -> dict[str, Any]:
    """Return what each engine took for *load*.

    Raises:
        AssertionError: the answers of two engines differ; one that failed has none.
    """
    folder = Path(tempfile.mkdtemp(prefix="hudiformat-lake-", dir=place))
    try:
        prepare(load, rounds, folder)
        found = {engine: measured(engine, folder, load, heap) for engine in ENGINES}
    finally:
        shutil.rmtree(folder)
    done = {engine: taken for engine, taken in found.items() if "failed" not in taken}
    answers = {engine: [one["answer"] for one in taken["queries"].values()] for engine, taken in done.items()}
    if len(set(map(tuple, answers.values()))) != 1:
        raise AssertionError(f"the engines have different answers: {answers}")
    return found


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the loads and print what they took."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lake_loader", description=__doc__)
    parser.add_argument("--load", nargs="*", choices=sorted(LOADS), default=list(PUBLISHED))
    parser.add_argument("--scale", type=float, default=0.02, help="times the rows and days of the loads (%(default)s)")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds after the first (%(default)s)")
    parser.add_argument("--heap", default=HEAP, help="of each engine's JVM (%(default)s)")
    parser.add_argument("--folder", type=Path, help="where rows and tables are kept meanwhile")
    parser.add_argument("--json", type=Path, help="write the results here")
    asked = parser.parse_args(arguments)
    today = datetime.now(timezone.utc).date()
    machine = f"{today}; {_processor()}, {os.cpu_count()} cores"
    conditions = f"{machine}; scale {asked.scale:g}, a heap of {asked.heap}; all files {CODEC}"
    found: dict[str, Any] = {"conditions": conditions, "loads": {}}
    for name in asked.load:
        found["loads"][name] = run(LOADS[name].scaled(asked.scale), asked.rounds, asked.folder, asked.heap)
        if asked.json is not None:
            asked.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    sys.stdout.write("\n".join(markdown(found)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
