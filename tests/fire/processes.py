"""Processes that write one table, are stopped and go on, are killed and come back; no row is lost or doubled.

Each process adds rows of its own, updates one row of its own, and fights with all others for one row, with services
after its writes.  It notes each commit that it was told of.  ``python -m tests.fire.processes`` runs it; as
``... worker PATH NAME FIRST COMMITS KIND`` it is one of the processes.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from hudiformat import (
    CommitError,
    LockError,
    Table,
    UnsupportedFeatureError,
    WriteConflictError,
    create_table,
    open_table,
)

ROOT = Path(__file__).parents[2]
SCHEMA = pa.schema([("id", pa.string()), ("ts", pa.int64()), ("p", pa.string())])
SHARED = "fought for"
OPTIONS = {
    "hudiformat.sync": "false",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider",
    "hoodie.write.lock.filesystem.expire": "1",
    "hoodie.write.lock.client.wait_time_ms_between_retry": "50",
    "hoodie.write.lock.client.num_retries": "3000",
    "hoodie.write.num.retries.on.conflict.failures": "1000",
    "hoodie.client.heartbeat.interval_in_ms": "500",
    "hoodie.client.heartbeat.tolerable.misses": "4",
    "hoodie.compact.inline": "true",
    "hoodie.compact.inline.max.delta.commits": "5",
    "hoodie.clean.commits.retained": "4",
    "hoodie.keep.min.commits": "6",
    "hoodie.keep.max.commits": "9",
}
OPTIMISTIC, NON_BLOCKING = "OPTIMISTIC_CONCURRENCY_CONTROL", "NON_BLOCKING_CONCURRENCY_CONTROL"


@dataclass(frozen=True, slots=True)
class Shape:
    """A table that several processes write."""

    version: int
    table_type: str
    mode: str
    index: str = "SIMPLE"

    @property
    def options(self) -> Mapping[str, str]:
        compacts = {} if self.table_type == "MERGE_ON_READ" else {"hoodie.compact.inline": "false"}
        mode = {"hoodie.write.concurrency.mode": self.mode, "hoodie.index.type": self.index}
        return {**OPTIONS, **mode, **compacts}


SHAPES = {
    "optimistic": Shape(9, "MERGE_ON_READ", OPTIMISTIC),
    "optimistic-cow": Shape(9, "COPY_ON_WRITE", OPTIMISTIC),
    "optimistic-6": Shape(6, "MERGE_ON_READ", OPTIMISTIC),
    "non-blocking": Shape(9, "MERGE_ON_READ", NON_BLOCKING, "BUCKET"),
}


def new_table(path: Path, shape: Shape) -> None:
    create_table(
        path,
        name="t",
        schema=SCHEMA,
        record_key=["id"],
        ordering=["ts"],
        partition_by=["p"],
        table_type=shape.table_type,
        version=shape.version,
        options={"hoodie.index.type": shape.index, "hoodie.bucket.index.num.buckets": "2"},
    )


def rows(name: str, step: int) -> pa.Table:
    """What a process writes in its commit number *step*."""
    ids = [f"{name}-own", f"{name}-{step}", SHARED]
    return pa.table({"id": ids, "ts": [step] * 3, "p": [name, name, "x"]}, schema=SCHEMA)


def work(path: Path, name: str, first: int, commits: int, kind: str) -> None:
    """One process: its commits from number *first* on, each noted once it has been returned."""
    warnings.simplefilter("ignore")  # a service that loses against another is tried again later
    table = open_table(path, options=dict(SHAPES[kind].options))
    with (path.parent / f"{name}.done").open("a") as done:
        for step in range(first, commits):
            _write(table, name, step)
            done.write(f"{step}\n")
            done.flush()


def _write(table: Table, name: str, step: int) -> None:
    while True:
        try:
            table.upsert(rows(name, step))
        except (WriteConflictError, CommitError, LockError):
            continue  # nothing was committed
        except UnsupportedFeatureError as error:
            if "pending clustering" not in str(error):
                raise
            time.sleep(0.1)
            continue
        return


@dataclass
class Troublemaker:
    """Stops, continues and kills processes at random, and starts those anew that it has killed."""

    path: Path
    kind: str
    commits: int
    random: random.Random
    kills: int = 0
    pauses: int = 0
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    begun_with: dict[str, int] = field(default_factory=dict)
    """The commits that a process had made before it was started: it is left alone until it has made one more."""

    def start(self, name: str) -> None:
        first = self.begun_with[name] = self._done_by(name)
        command = [sys.executable, "-m", "tests.fire.processes", "worker", str(self.path), name, str(first)]
        self.running[name] = subprocess.Popen([*command, str(self.commits), self.kind], cwd=ROOT)

    def _done_by(self, name: str) -> int:
        done = self.path.parent / f"{name}.done"
        return len(done.read_text().split()) if done.exists() else 0

    def run(self, names: list[str], *, limit: float, long_pauses: int) -> None:
        """Make trouble until all processes have made all their commits.

        Raises:
            AssertionError: a process failed, or they take longer than *limit* seconds.
        """
        for name in names:
            self.start(name)
        deadline = time.monotonic() + limit
        while self.running:
            assert time.monotonic() < deadline, f"{sorted(self.running)} are still at work"
            time.sleep(self.random.uniform(0.2, 1.0))
            for name, process in list(self.running.items()):
                if process.poll() is not None:
                    assert process.returncode == 0, f"{name} ended with {process.returncode}"
                    del self.running[name]
            if at_work := sorted(name for name in self.running if self._done_by(name) > self.begun_with[name]):
                self._trouble(self.random.choice(at_work), long_pauses)

    def _trouble(self, name: str, long_pauses: int) -> None:
        process = self.running[name]
        if self.random.random() < 0.25:
            process.send_signal(signal.SIGKILL)
            process.wait()
            self.kills += 1
            self.start(name)
        else:
            process.send_signal(signal.SIGSTOP)
            time.sleep(65 if self.pauses < long_pauses else self.random.uniform(0.2, 4.0))
            process.send_signal(signal.SIGCONT)
            self.pauses += 1


def check(path: Path, kind: str, names: list[str], commits: int) -> None:
    """No row is lost or doubled, and each is the newest.

    Raises:
        AssertionError: one is.
    """
    table = open_table(path, options=dict(SHAPES[kind].options))
    table.upsert(rows("last", commits - 1))  # rolls back what killed processes have left
    if SHAPES[kind].table_type == "MERGE_ON_READ":
        time.sleep(1)
        table.compact()
    found = table.snapshot(columns=["id", "ts"])
    ids = Counter(found["id"].to_pylist())
    every = [*names, "last"]
    steps = {f"{name}-{step}" for name in names for step in range(commits)} | {f"last-{commits - 1}"}
    expected = steps | {f"{name}-own" for name in every} | {SHARED}
    assert set(ids) == expected, f"lost {expected - set(ids)}, unknown {set(ids) - expected}"
    assert set(ids.values()) == {1}, f"doubled {[key for key, count in ids.items() if count > 1]}"
    newest = dict(zip(found["id"].to_pylist(), found["ts"].to_pylist(), strict=True))
    assert {newest[f"{name}-own"] for name in every} == {commits - 1}
    assert table.verify() == [], table.verify()


def main() -> int:
    """Run the processes on tables of all shapes."""
    if sys.argv[1:2] == ["worker"]:
        path, name, first, commits, kind = sys.argv[2:]
        work(Path(path), name, int(first), int(commits), kind)
        return 0
    parser = argparse.ArgumentParser(prog="python -m tests.fire.processes", description=__doc__)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--commits", type=int, default=300)
    parser.add_argument("--kind", choices=SHAPES, action="append")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=3600, help="seconds for each kind")
    parser.add_argument("--long-pauses", type=int, default=1, help="pauses beyond the expiry of the lock")
    chosen = parser.parse_args()
    sys.stdout.write(
        "| kind | processes x commits | kills | pauses | seconds | lost or doubled |\n|---|---|---|---|---|---|\n"
    )
    for kind in chosen.kind or SHAPES:
        line = race(
            kind,
            processes=chosen.processes,
            commits=chosen.commits,
            seed=chosen.seed,
            limit=chosen.limit,
            long_pauses=chosen.long_pauses,
        )
        sys.stdout.write(line)
        sys.stdout.flush()
    return 0


def race(kind: str, *, processes: int, commits: int, seed: int, limit: float, long_pauses: int) -> str:
    """One table of one shape; a line of the table of results."""
    names = [f"w{number}" for number in range(processes)]
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t"
        new_table(path, SHAPES[kind])
        trouble = Troublemaker(path, kind, commits, random.Random(seed))
        try:
            trouble.run(names, limit=limit, long_pauses=long_pauses)
        finally:
            for process in trouble.running.values():
                process.kill()
                process.wait()
        check(path, kind, names, commits)
    seconds = time.monotonic() - began
    return f"| {kind} | {processes} x {commits} | {trouble.kills} | {trouble.pauses} | {seconds:.0f} | 0 |\n"


if __name__ == "__main__":
    sys.exit(main())
