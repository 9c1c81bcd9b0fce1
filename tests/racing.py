"""Writers that race for one table: each has a row of its own, adds rows, and fights with all others for one row.

As a program, ``python -m tests.racing PATH WRITER COMMITS``, one writer of ours.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from hudiformat import Table, create_table, open_table

COMMITS = int(os.environ.get("HUDIFORMAT_COMMITS", "3"))
"""Of each writer; a long race has 200."""
ROOT = Path(__file__).parents[1]
SCHEMA = pa.schema([("id", pa.string()), ("ts", pa.int64()), ("p", pa.string())])
SHARED = {
    "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider",
    "hoodie.write.lock.client.wait_time_ms_between_retry": "50",
    "hoodie.write.lock.client.num_retries": "1200",
}
RETRIES = {"hoodie.write.num.retries.on.conflict.failures": "1000"}


def rows(writer: str, step: int) -> pa.Table:
    """What *writer* writes in its commit number *step*."""
    ids = [f"{writer}-own", f"{writer}-{step}", "fought for"]
    return pa.table({"id": ids, "ts": [step] * 3, "p": [writer, writer, "x"]}, schema=SCHEMA)


def new_table(path: Path) -> Table:
    create_table(path, name="shared", schema=SCHEMA, record_key=["id"], ordering=["ts"], partition_by=["p"])
    options = {**SHARED, **RETRIES, "hoodie.metadata.enable": "false", "hudiformat.sync": "false"}
    return open_table(path, options=options)


def start_writers(path: Path, names: Sequence[str]) -> list[subprocess.Popen[bytes]]:
    """A process for each writer."""
    command = [sys.executable, "-m", "tests.racing", str(path)]
    return [subprocess.Popen([*command, name, str(COMMITS)], cwd=ROOT) for name in names]


def check(found: pa.Table, writers: Sequence[str]) -> None:
    """No row is lost or doubled, and each is the newest."""
    ids = found["id"].to_pylist()
    added = {f"{writer}-{step}" for writer in writers for step in range(COMMITS)}
    assert sorted(ids) == sorted({*added, *(f"{writer}-own" for writer in writers), "fought for"})
    newest = dict(zip(ids, found["ts"].to_pylist(), strict=True))
    assert {newest[name] for name in ids if name not in added} == {COMMITS - 1}


def main(path: str, writer: str, commits: str) -> None:
    table = open_table(path, options={**SHARED, **RETRIES, "hudiformat.sync": "false"})
    for step in range(int(commits)):
        table.upsert(rows(writer, step))


if __name__ == "__main__":
    main(*sys.argv[1:])
