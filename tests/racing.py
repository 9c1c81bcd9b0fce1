"""Writers that race for one table: each has a row of its own, adds rows, and fights with all others for one row.

As a program, ``python -m tests.racing PATH WRITER COMMITS OPTIONS``, one writer of ours; the options are JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
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


def new_table(path: Path, lock: Mapping[str, str] = SHARED) -> Table:
    create_table(path, name="shared", schema=SCHEMA, record_key=["id"], ordering=["ts"], partition_by=["p"])
    options = {**lock, **RETRIES, "hoodie.metadata.enable": "false", "hudiformat.sync": "false"}
    return open_table(path, options=options)


def start_writers(
    path: Path, names: Sequence[str], lock: Mapping[str, str] = SHARED, commits: int = COMMITS
) -> list[subprocess.Popen[bytes]]:
    """A process for each writer; *lock* are the options by which all writers exclude each other."""
    command = [sys.executable, "-m", "tests.racing", str(path)]
    options = json.dumps({**lock, **RETRIES, "hudiformat.sync": "false"})
    return [subprocess.Popen([*command, name, str(commits), options], cwd=ROOT) for name in names]


def check(found: pa.Table, writers: Sequence[str], commits: int = COMMITS) -> None:
    """No row is lost or doubled, and each is the newest."""
    ids = found["id"].to_pylist()
    added = {f"{writer}-{step}" for writer in writers for step in range(commits)}
    assert sorted(ids) == sorted({*added, *(f"{writer}-own" for writer in writers), "fought for"})
    newest = dict(zip(ids, found["ts"].to_pylist(), strict=True))
    assert {newest[name] for name in ids if name not in added} == {commits - 1}


def main(path: str, writer: str, commits: str, options: str) -> None:
    table = open_table(path, options=json.loads(options))
    for step in range(int(commits)):
        table.upsert(rows(writer, step))


if __name__ == "__main__":
    main(*sys.argv[1:])
