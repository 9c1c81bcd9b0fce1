"""Machines that misbehave: a full disk, too many open files, a clock that goes back, forks and threads."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar

import pytest

from hudiformat import HudiFormatError, StorageError, Table, open_table
from hudiformat.storage.local import LocalStorage
from tests.effort import every, only_long, sample
from tests.faults import FaultyStorage
from tests.fire.object_store_machine import REFUSED
from tests.racing import RETRIES, ROOT, SHARED
from tests.tables import Row, content, new_table, rows

pytestmark = pytest.mark.unmeasured

T = TypeVar("T")
BEFORE = [("a", 1, "x", 1)]
AFTER = [("a", 2, "x", 2), ("b", 2, "y", 2)]
KINDS = [("COPY_ON_WRITE", 9), ("MERGE_ON_READ", 9), ("MERGE_ON_READ", 6)]


def made(path: Path, table_type: str = "MERGE_ON_READ", version: int = 9) -> Path:
    new_table(path, table_type=table_type, version=version).insert(rows(*BEFORE))
    return path


def check_next_write(path: Path, found: list[Row]) -> None:
    table = open_table(path, options={"hudiformat.sync": "false"})
    table.upsert(rows(("z", 1, "x", 1)))
    assert content(table) == [*found, ("z", 1, "x", 1)]
    assert table.verify() == []


class FullDisk:
    """From operation number *moment* on, nothing can be written; of a write before that, half is."""

    def __init__(self, moment: int) -> None:
        self.left = moment
        self.hit = False

    def run(self, what: str, action: Callable[[], T]) -> T:
        if not what.startswith(("create", "open_new", "write", "sync", "make_folder", "rename")):
            return action()
        self.left -= 1
        if self.left >= 0:
            return action()
        self.hit = True
        raise StorageError(f"cannot {what}: No space left on device")


WRITES: dict[str, Callable[[Table], object]] = {
    "upsert": lambda table: table.upsert(rows(*AFTER)),
    "insert": lambda table: table.insert(rows(AFTER[1])),
    "bulk_insert": lambda table: table.bulk_insert(rows(AFTER[1])),
    "delete": lambda table: table.delete(rows(("a", 2, "x", 0))),
    "insert_overwrite": lambda table: table.insert_overwrite(rows(AFTER[0])),
    "delete_partitions": lambda table: table.delete_partitions(["x"]),
    "rollback": lambda table: table.rollback(table.timeline.completed_writes[-1].time),
}


@pytest.mark.slow
@pytest.mark.parametrize("write", sample(list(WRITES), of=7))
@pytest.mark.parametrize(("table_type", "version"), KINDS)
def test_a_full_disk_at_any_write_leaves_the_table_as_it_was(
    tmp_path: Path, table_type: str, version: int, write: str
) -> None:
    template = made(tmp_path / "template", table_type, version)
    open_table(template).upsert(rows(("a", 1, "x", 1)))
    for moment in range(0, 200, every(2)):
        path = Path(shutil.copytree(template, tmp_path / str(moment)))
        fault = FullDisk(moment)
        storage = FaultyStorage(LocalStorage(path), fault)
        with contextlib.suppress(HudiFormatError):
            WRITES[write](open_table(storage))
        if not fault.hit:
            break
        if write == "rollback":  # it goes on where it was stopped; both states have the same rows
            check_next_write(path, BEFORE)
            continue
        assert content(open_table(path)) == BEFORE, moment
        check_next_write(path, BEFORE)
    assert moment >= 3  # a rollback writes three files


def run_with(path: Path, kind: str, amount: int) -> int:
    command = [sys.executable, "-m", "tests.fire.object_store_machine", str(path), kind, str(amount)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert run.returncode in (0, REFUSED), run.stderr[-3000:]
    return run.returncode


LIMITS = {
    "open files": [*range(0, 13, every(12)), 60],
    "bytes of a file": [*range(0, 3000, 250 * every(12)), 100_000],
}


@only_long
@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the open files of a process are listed in /proc")
@pytest.mark.parametrize("kind", sample(LIMITS, of=2))
def test_a_machine_that_gives_too_little_refuses_with_an_error_of_our_own(tmp_path: Path, kind: str) -> None:
    outcomes = []
    for amount in LIMITS[kind]:
        path = made(tmp_path / str(amount))
        outcomes.append(run_with(path, kind, amount))
        found = content(open_table(path))
        assert found == AFTER if outcomes[-1] == 0 else found in (BEFORE, AFTER)
        check_next_write(path, found)
    assert outcomes[0] == REFUSED
    assert outcomes[-1] == 0


def test_a_clock_that_goes_back_changes_no_order(tmp_path: Path) -> None:
    now = [datetime(2024, 2, 29, 12)]

    def clock() -> datetime:
        now[0] -= timedelta(minutes=7)
        return now[0]

    options = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "2"}
    new_table(tmp_path, options=options)
    table = open_table(tmp_path, options={**options, "hudiformat.sync": "false"}, clock=clock)
    commits = []
    for step in range(6):
        commits.append(table.upsert(rows(("a", 0, "x", step), (f"k{step}", 0, "x", step))).instant)
        assert ("a", 0, "x", step) in content(table)
        assert content(table, as_of=commits[-1]) == content(table)
    assert commits == sorted(commits)
    assert set(table.incremental(commits[3])["k"].to_pylist()) >= {"a", "k4", "k5"}
    table.rollback(table.timeline.completed_writes[-1].time)
    table.clean()
    assert table.verify() == []


def writes_of(table: Table, name: str) -> None:
    for step in range(3):
        table.upsert(rows((f"{name}-{step}", 1, "x", step)))


ALL = sorted(f"w{number}-{step}" for number in range(4) for step in range(3))


def shared(path: Path) -> Table:
    options = {**SHARED, **RETRIES, "hudiformat.sync": "false"}
    table = new_table(path, options=options)
    table.snapshot()
    return table


@pytest.mark.slow
def test_threads_share_an_open_table(tmp_path: Path) -> None:
    table = shared(tmp_path)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: writes_of(table, f"w{number}"), range(4)))
    assert [row[0] for row in content(table)] == ALL
    assert table.verify() == []


@only_long
@pytest.mark.slow
def test_forked_processes_share_a_table_that_was_open_before(tmp_path: Path) -> None:
    path = tmp_path / "t"
    program = f"""
import os, sys, warnings
warnings.simplefilter("ignore")
from tests.fire.test_object_store_machine import shared, writes_of
from pathlib import Path
table = shared(Path({str(path)!r}))
children = []
for number in range(3):
    child = os.fork()
    if child == 0:
        writes_of(table, f"w{{number}}")
        os._exit(0)
    children.append(child)
writes_of(table, "w3")
sys.exit(max(os.waitpid(child, 0)[1] for child in children))
"""
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )
    assert run.returncode == 0, run.stderr[-3000:]
    table = open_table(path)
    assert [row[0] for row in content(table)] == ALL
    assert table.verify() == []
