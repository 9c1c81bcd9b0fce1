"""Services that two processes want to run: one runs, and what a dead one left is taken over."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest

from hudiformat import CommitError, FileSlice, LockError, StorageError, Table, open_table
from hudiformat.services import execution
from hudiformat.timeline.timeline import State
from tests.tables import Clock, content, data_files, new_table, rows

ROWS = [("a", 2, "x", 2), ("b", 2, "x", 2)]
OPTIONS = {"hoodie.log.compaction.blocks.threshold": "1", "hoodie.index.type": "INMEMORY"}
SHARED = {"hoodie.write.concurrency.mode": "optimistic_concurrency_control"}
Service = Callable[[Table], Sequence[Any]]


def compact(table: Table) -> Sequence[Any]:
    return table.compact()


def log_compact(table: Table) -> Sequence[Any]:
    return table.log_compact()


SERVICES = pytest.mark.parametrize("service", [compact, log_compact])
MODES = pytest.mark.parametrize("mode", [{}, SHARED], ids=["alone", "shared"])


def logged(path: Path, mode: dict[str, str]) -> Table:
    """A table with log files in one file group."""
    table = new_table(path / "t", clock=Clock(), options={**OPTIONS, **mode})
    table.bulk_insert(rows(("a", 1, "x", 1), ("b", 1, "x", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    table.upsert(rows(("b", 2, "x", 2)))
    return table


def other(table: Table, mode: dict[str, str]) -> Table:
    """The table as another process opens it."""
    return open_table(table.path, options={"hudiformat.sync": "false", **OPTIONS, **mode}, clock=table._context.clock)


def meanwhile(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Call *act* once, when a service is about to merge its first slice."""
    slice_of = execution.slice_of

    def acting(operation: Any) -> FileSlice:
        monkeypatch.setattr(execution, "slice_of", slice_of)
        act()
        return slice_of(operation)

    monkeypatch.setattr(execution, "slice_of", acting)


def files_in(table: Table) -> set[str]:
    """The paths of all files of the table."""
    root = Path(table.path)
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def grow_old(table: Table) -> None:
    """All heartbeats are as old as those of dead processes."""
    for path in (Path(table.path) / ".hoodie" / ".heartbeat").iterdir():
        os.utime(path, (time.time() - 1000,) * 2)


@MODES
@SERVICES
def test_what_another_process_is_running_is_left_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, service: Service, mode: dict[str, str]
) -> None:
    table = logged(tmp_path, mode)
    found: list[Any] = []
    meanwhile(monkeypatch, lambda: found.append(service(other(table, mode))))
    assert len(service(table)) == 1
    assert found == [[]]
    assert content(table) == ROWS
    assert table.timeline.pending == ()
    assert list((Path(table.path) / ".hoodie" / ".heartbeat").iterdir()) == []


@SERVICES
def test_one_that_was_taken_for_dead_leaves_what_the_other_has_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, service: Service
) -> None:
    table = logged(tmp_path, SHARED)
    left: list[str] = []

    def take_over() -> None:
        grow_old(table)
        service(other(table, SHARED))
        left.extend(data_files(Path(table.path)))

    meanwhile(monkeypatch, take_over)
    with pytest.raises((LockError, CommitError), match="no longer this writer's|no longer on the timeline"):
        service(table)
    assert content(table) == ROWS
    assert all(path in left for path in data_files(Path(table.path)))
    table.upsert(rows(("a", 3, "x", 3)))
    assert content(table) == [("a", 3, "x", 3), ROWS[1]]
    assert set(left) <= set(data_files(Path(table.path)))
    assert table.verify() == []


@SERVICES
def test_one_that_is_interrupted_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, service: Service
) -> None:
    table = logged(tmp_path, {})
    before = files_in(table)

    def interrupt() -> None:
        raise KeyboardInterrupt

    meanwhile(monkeypatch, interrupt)
    with pytest.raises(KeyboardInterrupt):
        service(table)
    assert files_in(table) == before
    assert len(service(table)) == 1


@SERVICES
def test_one_that_dies_is_taken_over_at_once_where_no_other_process_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, service: Service
) -> None:
    table = logged(tmp_path, {})

    def interrupt() -> None:
        def is_dead(_context: object) -> NoReturn:
            raise StorageError("a dead process cleans nothing up")

        monkeypatch.setattr(execution, "hold_table_lock", is_dead)
        raise KeyboardInterrupt

    meanwhile(monkeypatch, interrupt)
    with pytest.raises(KeyboardInterrupt):
        service(table)
    assert [one.state for one in table.timeline.pending] == [State.INFLIGHT]
    assert len(service(other(table, {}))) == 1
    assert content(table) == ROWS
    assert table.timeline.pending == ()
