"""Reading a file slice of a table, each reader in a process of its own, so that memory can be told.

    python -m benchmarks.slices hudiformat|hudi TABLE

Both run on one core.  The table is read twice: the first time includes the import of what the reader needs, and the
second is that of a process which has begun.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa

import hudiformat as hf
from benchmarks.cases import Case, mixed
from benchmarks.timing import peak_mb
from hudiformat.schema.meta_fields import META_FIELDS

LOG_FILES = 4
ROWS_PER_FILE = 100
ROW_BYTES = 250
"""About what a writer takes a mixed row for."""

_ONE_SLICE = {"hoodie.metadata.enable": "false", "hoodie.copyonwrite.record.size.estimate": "100"}
"""New rows are taken to be so small that all of them go to one file."""


def make_table(path: Path, case: Case, count: int, *, share: float = 1) -> Path:
    """A table of one slice: *count* rows of *case* in a base file, and log files that replace *share* of them once."""
    rows = pa.Table.from_batches([case.make(count)]).drop_columns(list(META_FIELDS))
    hf.create_table(path, name="slices", schema=rows.schema, record_key=["id"], ordering=["large"])
    hf.open_table(path, options=_ONE_SLICE).insert(rows)
    order = np.random.default_rng(7).permutation(count)[: int(count * share)]
    for part in np.array_split(order, LOG_FILES):
        hf.open_table(path, options=_ONE_SLICE).upsert(rows.take(pa.array(part)))
    return path


def make_pieces(path: Path, pieces: int, *, files: bool) -> Path:
    """The same of mixed rows, with one update in so many log files, or blocks of one, of about a hundred rows each."""
    rows = pa.Table.from_batches([mixed(pieces * ROWS_PER_FILE)]).drop_columns(list(META_FIELDS))
    hf.create_table(path, name="slices", schema=rows.schema, record_key=["id"], ordering=["large"])
    hf.open_table(path, options=_ONE_SLICE).insert(rows)
    options = _ONE_SLICE | {"hoodie.logfile.data.block.max.size": str(ROW_BYTES * ROWS_PER_FILE)}
    options |= {"hoodie.logfile.max.size": "1"} if files else {}
    hf.open_table(path, options=options).upsert(rows)
    return path


def readers() -> dict[str, Callable[[str], pa.Table]]:
    """How a table is read, by the name of the reader."""

    def with_hudi(path: str) -> pa.Table:
        import hudi

        return pa.Table.from_batches(hudi.HudiTable(path).read())

    return {"hudiformat": lambda path: hf.open_table(path).snapshot(), "hudi": with_hudi}


def peer_name() -> str:
    """The package ``hudi`` with its version.

    Raises:
        ImportError: it is not installed.
    """
    import hudi  # noqa: F401 - an extra

    return f"hudi {importlib.metadata.version('hudi')}"


class Measured:
    """A reader of a table in processes of its own: its speed, and the most memory that it took.

    With *first* it is the speed of the first reading.
    """

    def __init__(self, reader: str, path: Path, *, first: bool = False) -> None:
        self._words = [sys.executable, "-m", "benchmarks.slices", reader, str(path)]
        self._seconds = "first" if first else "seconds"
        self.peak_mb = 0.0

    def __call__(self) -> float:
        """Rows a second."""
        run = subprocess.run(self._words, capture_output=True, text=True, check=True, timeout=600)
        found = json.loads(run.stdout)
        self.peak_mb = max(self.peak_mb, found["peak_mb"])
        return float(found["rows"] / found[self._seconds])


def main(reader: str, path: str) -> dict[str, float]:
    """Seconds of both readings, rows of the second, and the most MB above what was there before the first."""
    pa.set_cpu_count(1)
    with suppress(AttributeError, OSError):  # not every system knows it
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    read = readers()[reader]
    found: dict[str, float] = {}

    def twice() -> None:
        for reading in ("first", "seconds"):
            start = time.perf_counter()
            found["rows"] = read(path).num_rows
            found[reading] = time.perf_counter() - start

    above = peak_mb(twice)
    return {**found, "peak_mb": above or 0.0}


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
