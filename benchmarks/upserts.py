"""An upsert of every row of a table, in a process of its own, so that memory can be told.

    python -m benchmarks.upserts KIND FOLDER ROWS

It runs on one core.  The table is made anew each time; its making is not timed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa

import hudiformat as hf
from benchmarks.cases import mixed
from benchmarks.timing import peak_mb
from hudiformat.schema.meta_fields import META_FIELDS

COW, LOGS = "COW", "bucket index, logs"
COMPRESSIONS = ("gzip", "zstd")
_BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "4"}
_MILLION_A_FILE = {"hoodie.copyonwrite.record.size.estimate": "100", "hoodie.parquet.max.file.size": str(100 * 10**6)}
KINDS: dict[str, tuple[str, dict[str, str]]] = {
    **{
        f"{COW}, {codec}": ("COPY_ON_WRITE", _MILLION_A_FILE | {"hoodie.parquet.compression.codec": codec})
        for codec in COMPRESSIONS
    },
    LOGS: ("MERGE_ON_READ", _BUCKETS),
}
"""Table type and options, by what is measured.  Files are synced, as they are without an option."""


class Measured:
    """Upserts of a kind in processes of their own: their speed, and the most memory that one took."""

    def __init__(self, kind: str, folder: Path, count: int) -> None:
        self._words = [sys.executable, "-m", "benchmarks.upserts", kind, str(folder), str(count)]
        self.peak_mb = 0.0

    def __call__(self) -> float:
        """Rows a second."""
        run = subprocess.run(self._words, capture_output=True, text=True, check=True, timeout=1_200)
        found = json.loads(run.stdout)
        self.peak_mb = max(self.peak_mb, found["peak_mb"])
        return float(found["rows"] / found["seconds"])


def main(kind: str, folder: str, count: str) -> dict[str, float]:
    """Seconds and rows of the upsert, its keys in no order, and the most MB above the rows and what else was there.

    The memory is that of a second one: before it is looked at, allocators give back what they have, and it takes a
    system its time to hand that out anew.
    """
    pa.set_cpu_count(1)
    with suppress(AttributeError, OSError):  # not every system knows it
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    path = Path(folder) / "upserts"
    shutil.rmtree(path, ignore_errors=True)
    table_type, options = KINDS[kind]
    rows = pa.Table.from_batches([mixed(int(count))]).drop_columns(list(META_FIELDS))
    hf.create_table(
        path, name="upserts", schema=rows.schema, record_key=["id"], ordering=["large"], table_type=table_type
    )
    hf.open_table(path, options=options).upsert(rows)
    rows = rows.take(pa.array(np.random.default_rng(7).permutation(rows.num_rows)))

    def upsert() -> None:
        hf.open_table(path, options=options).upsert(rows)

    start = time.perf_counter()
    upsert()
    seconds = time.perf_counter() - start
    return {"rows": float(rows.num_rows), "seconds": seconds, "peak_mb": peak_mb(upsert) or 0.0}


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
