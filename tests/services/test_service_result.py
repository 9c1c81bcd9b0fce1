"""The value that every service of a table returns."""

from __future__ import annotations

import inspect
import pickle
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import get_type_hints

import pytest

from hudiformat import (
    Action,
    Instant,
    MaintenanceReport,
    Repair,
    ServiceReport,
    ServiceResult,
    State,
    Table,
    TableError,
)
from tests.tables import new_table, rows

SERVICES = (
    *("compact", "log_compact", "schedule_compaction", "cluster", "schedule_clustering", "clean"),
    *("rollback", "savepoint", "delete_savepoint", "restore"),
    *("create_index", "drop_index", "change_version", "maintain", "repair"),
)
NO_SERVICES = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
OFTEN = {"hoodie.log.compaction.blocks.threshold": "2", "hoodie.compact.inline.max.delta.commits": "1"}


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = new_table(tmp_path / "t", options={**NO_SERVICES, **OFTEN})
    table.insert(rows(("a", 1, "x", 1)))
    for step in (2, 3):
        table.upsert(rows(("a", step, "x", step)))
    return table


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_says_that_it_returns_one(name: str) -> None:
    found = inspect.signature(getattr(Table, name)).return_annotation
    assert found.startswith(("ServiceResult[", "MaintenanceReport", "Repair"))
    assert {MaintenanceReport, Repair, ServiceReport} <= set(ServiceResult.__subclasses__())


def test_a_service_that_writes_rows_lists_its_commits(table: Table) -> None:
    done = table.compact()
    [commit] = done
    assert (len(done), done[0], done[:], done.commits) == (1, commit, [commit], (commit,))
    assert (done.instant, done.instants) == (commit.instant, (commit.instant,))
    assert (done.action, done.state, done.is_completed) == (Action.COMMIT, State.COMPLETED, True)
    assert done == [commit]
    assert done == commit
    assert repr(done) == "<ServiceResult compaction: 1 files written>"
    assert table.compact() == []


def test_a_service_without_rows_is_like_its_instant(table: Table) -> None:
    planned = table.schedule_compaction()
    [instant] = planned
    assert instant == planned
    assert (planned.time, planned.completion_time, planned.is_completed) == (instant.time, None, False)
    assert planned in table.timeline.pending
    assert {instant: "planned"}[planned] == "planned"  # type: ignore[index]  # it equals a text
    assert planned.commits == ()


def test_there_may_be_nothing_to_do(table: Table) -> None:
    table.compact()
    nothing = table.schedule_compaction()
    assert not nothing
    assert (list(nothing), nothing.instants, repr(nothing)) == ([], (), "<ServiceResult compaction: nothing to do>")
    assert nothing == []
    assert nothing == None  # noqa: E711 - as before there was a result, though `is` cannot be asked for
    assert hash(nothing) == hash(None)
    with pytest.raises(TableError, match=r"compaction: expected an instant, found none: there was nothing to do; look"):
        _ = nothing.instant


def test_a_result_can_be_passed_where_an_instant_is_taken(table: Table) -> None:
    kept = table.savepoint(table.timeline.completed_writes[-1])
    assert kept.done == f"the files of {kept.instant} are kept"
    table.upsert(rows(("a", 4, "x", 4)))
    assert table.restore(kept).action is Action.RESTORE
    assert table.snapshot(kept, columns="v").to_pydict() == {"v": [3]}
    assert table.delete_savepoint(kept)
    compacted = table.compact()
    assert table.rollback(compacted).done == f"{compacted.instant} rolled back"


def test_a_service_that_leaves_no_instant_says_what_it_did(table: Table) -> None:
    assert table.create_index("column_stats").done == "files, column_stats built"
    assert table.create_index("column_stats") == []
    dropped = table.drop_index("column_stats")
    assert dropped
    assert (dropped.done, len(dropped)) == ("column_stats dropped", 0)
    assert not table.drop_index("column_stats")
    assert table.drop_index("files").done == "files dropped"
    assert table.change_version(8).done == "changed from version 9 to version 8"
    assert not table.change_version(8)


def test_maintenance_and_repair_are_collections_of_results(table: Table) -> None:
    report = table.maintain(only=["compaction", "clean"])
    assert [one.service for one in report] == ["compaction", "clean"]
    assert report.instants == report[0].instants == (table.timeline.completed_writes[-1].time,)
    assert report.commits == report[0].commits
    assert (bool(report), report.done) == (True, "compaction: 1 files written")
    assert not table.maintain(only="compaction")
    repair = table.repair()
    assert not repair
    assert list(repair) == list(repair.steps) == []


def test_a_result_is_a_value() -> None:
    one = ServiceResult("clean", "2 files deleted", (Instant("1", Action.CLEAN, State.COMPLETED),))
    assert pickle.loads(pickle.dumps(one)) == one
    assert one != ServiceResult("clean", "3 files deleted", one.items)
    assert one != "1"
    with pytest.raises(FrozenInstanceError):
        one.done = ""  # type: ignore[misc]  # it is frozen
    assert get_type_hints(ServiceResult)["service"] is str
