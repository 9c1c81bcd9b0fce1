"""Parquet files taken over without a copy, beside deltalake: ``python -m benchmarks.adoption``.

1,000 files of 1,000 rows in 25 partitions of Hive's style.  hudiformat reads the record keys, checks that none comes
twice, and writes a file of meta fields for each; deltalake lists the files and reads their footers.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import deltalake
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, convert_to_deltalake

import hudiformat as hf
from benchmarks.timing import interleaved, timed

FILES, ROWS, PARTITIONS = 1_000, 1_000, 25
OURS, PEER = "hudiformat", "deltalake"


def write_files(folder: Path, files: int, rows: int) -> None:
    """Write so many files of so many rows, from a fixed seed; no key comes twice."""
    chosen = np.random.default_rng(1)
    for number in range(files):
        partition = folder / f"day=2024-01-{number % PARTITIONS + 1:02d}"
        partition.mkdir(parents=True, exist_ok=True)
        columns = {
            "id": np.arange(number * rows, (number + 1) * rows),
            "v": chosen.random(rows),
            "s": chosen.integers(0, 1000, rows).astype(str),
            "ts": np.ones(rows, np.int64),
        }
        pq.write_table(pa.table(columns), partition / f"part-{number:04d}.parquet")


def _adopt(folder: Path) -> int:
    return hf.adopt(folder, record_key="id", partition_by="day", ordering="ts", copy=False).count()


def _convert(folder: Path) -> int:
    kind = deltalake.Schema.from_arrow(pa.schema([("day", pa.string())]))
    convert_to_deltalake(str(folder), partition_by=kind, partition_strategy="hive")
    return int(DeltaTable(folder).to_pyarrow_dataset().count_rows())


def main(arguments: Sequence[str] | None = None) -> int:
    """Take the files over by each, and print the seconds of the best round."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--files", type=int, default=FILES, help="files (%(default)s)")
    parser.add_argument("--rows", type=int, default=ROWS, help="rows of a file (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds, of which the best counts (%(default)s)")
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder, asked.files, asked.rows)

        def restore() -> None:
            for made in ("_hudi", "_delta_log"):
                shutil.rmtree(folder / made, ignore_errors=True)

        contenders: dict[str, Callable[[], int]] = {OURS: lambda: _adopt(folder), PEER: lambda: _convert(folder)}
        for contender in contenders.values():
            restore()
            assert contender() == asked.files * asked.rows
        speeds = interleaved(
            {name: timed(contender, asked.files, before=restore) for name, contender in contenders.items()},
            asked.rounds,
        )
    seconds = ", ".join(f"{name} {asked.files / speed:.2f} s" for name, speed in speeds.items())
    print(f"{asked.files} files of {asked.rows} rows: {seconds}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
