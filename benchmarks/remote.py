"""Operations on a remote storage whose requests take some time each, by the number of partitions.

    python -m benchmarks.remote                            # 100 partitions, 20 ms for a request: a minute
    python -m benchmarks.remote --partitions 1000 --ms 50

The storage is a folder in memory that waits before each request; a file is one request, however it is read or written.
``together`` is how many requests were under way at a time, on average.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
from rich.console import Console
from rich.table import Table as RichTable

import hudiformat as hf
from tests.requests import RemoteStorage

SCHEMA = pa.schema([("k", pa.string()), ("ts", pa.int64()), ("p", pa.string()), ("v", pa.int64())])
KINDS = ("COPY_ON_WRITE", "MERGE_ON_READ")
_EACH = 5
_IN_MEMORY = Path("/dev/shm")


def rows(partitions: int, prefix: str, ts: int) -> pa.Table:
    """Return five rows for each partition."""
    numbers = range(_EACH * partitions)
    keys, paths = [f"{prefix}{number}" for number in numbers], [f"p{number % partitions:05}" for number in numbers]
    return pa.table([keys, [ts] * len(numbers), paths, list(numbers)], schema=SCHEMA)


def operations(partitions: int, kind: str) -> Mapping[str, Callable[[hf.Table], object]]:
    """Return what is done, in this order, to one table."""
    last = {"compact": lambda table: table.compact()} if kind == "MERGE_ON_READ" else {}
    return {
        "insert": lambda table: table.insert(rows(partitions, "a", 1)),
        "insert again": lambda table: table.insert(rows(partitions, "b", 2)),
        "upsert": lambda table: table.upsert(rows(partitions, "a", 3)),
        "delete": lambda table: table.delete(rows(partitions, "b", 3).select(["k", "p"])),
        "snapshot": lambda table: table.snapshot(),
        "count": lambda table: table.count(),
        "one partition": lambda table: table.snapshot(filter="p = 'p00001'"),
        **last,
        "verify": lambda table: table.verify(),
    }


def measure(partitions: int, seconds: float, kind: str) -> dict[str, tuple[float, int]]:
    """Return the seconds and the requests of each operation on a new table."""
    place = _IN_MEMORY if _IN_MEMORY.exists() else None
    folder = Path(tempfile.mkdtemp(prefix="hudiformat-remote-", dir=place))
    try:
        hf.create_table(
            folder,
            name="remote",
            schema=SCHEMA,
            record_key=["k"],
            ordering=["ts"],
            partition_by=["p"],
            table_type=kind,
        )
        near, found = hf.open_storage(str(folder)), {}
        storage = RemoteStorage(near, before=lambda _: time.sleep(seconds))
        for name, run in operations(partitions, kind).items():
            table = hf.open_table(storage)
            storage.clear()
            start = time.perf_counter()
            run(table)
            found[name] = time.perf_counter() - start, len(storage.requests)
    finally:
        shutil.rmtree(folder)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what each operation took."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.remote", description=__doc__)
    parser.add_argument("--partitions", type=int, default=100)
    parser.add_argument("--ms", type=float, default=20.0, help="milliseconds of a request (%(default)s)")
    asked = parser.parse_args(arguments)
    table = RichTable("table", "operation", "s", "requests", "together")
    for kind in KINDS:
        for name, (seconds, requests) in measure(asked.partitions, asked.ms / 1000, kind).items():
            together = requests * asked.ms / 1000 / seconds
            table.add_row(kind, name, f"{seconds:.2f}", f"{requests:,}", f"{together:.1f}")
    Console(width=100).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
