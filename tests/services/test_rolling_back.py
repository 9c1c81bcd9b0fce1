"""Rolling back the newest write."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat import CommitError, Table, open_table
from hudiformat.timeline.archive.archiving import ArchiveLimits, archive_instants
from hudiformat.timeline.timeline import Action
from tests.services.support import logged
from tests.tables import content, data_files, new_table, rows


def test_rolling_back_the_newest_write(table: Table) -> None:
    table.insert(rows(("a", 1, "x", 1)))
    before = data_files(Path(table.path))
    second = table.upsert(rows(("a", 2, "x", 2), ("b", 2, "y", 2)))
    done = table.rollback(second.instant)
    assert done.action is Action.ROLLBACK
    assert content(table) == [("a", 1, "x", 1)]
    assert data_files(Path(table.path)) == before
    assert not table.timeline.pending


def test_older_writes_are_not_rolled_back_before_newer_ones(table: Table) -> None:
    first = table.insert(rows(("a", 1, "x", 1)))
    second = table.upsert(rows(("a", 2, "x", 2)))
    with pytest.raises(CommitError, match=f"before the writes after it: {second.instant}"):
        table.rollback(first.instant)
    assert content(table) == [("a", 2, "x", 2)]


def test_what_is_no_write_cannot_be_rolled_back(table: Table) -> None:
    first = table.insert(rows(("a", 1, "x", 1)))
    with pytest.raises(CommitError, match=f"there is no write '1' on the active timeline; .* are {first.instant}"):
        table.rollback("1")


def test_a_compaction_can_be_rolled_back(table: Table) -> None:
    table = logged(table)
    before, files = content(table), data_files(Path(table.path))
    (commit,) = table.compact()
    table.rollback(commit.instant)
    assert content(table) == before
    assert data_files(Path(table.path)) == files
    assert not table.timeline.pending


def test_a_write_that_is_to_be_compacted_is_not_rolled_back(table: Table) -> None:
    table = logged(table)
    newest = table.timeline.completed_writes[-1].time
    planned = table.schedule_compaction()
    assert planned
    with pytest.raises(CommitError, match=f"while {planned.time} compaction .* is going to read its files"):
        table.rollback(newest)
    table.rollback(planned.time)
    table.rollback(newest)
    assert content(table) == [("a", 2, "x", 2), ("b", 1, "x", 1), ("c", 1, "x", 1)]


def test_in_version_6_a_write_below_a_planned_compaction_is_found_by_the_files_that_it_has_made(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", version=6, options={"hoodie.index.type": "INMEMORY"})
    table.insert(rows(("c", 1, "y", 1)))
    second = table.upsert(rows(("c", 2, "y", 2)))
    assert table.schedule_compaction()
    with pytest.raises(CommitError, match="is going to read its files"):
        table.rollback(second.instant)


def test_in_version_6_nothing_is_left_of_a_file_group_whose_writes_are_all_rolled_back(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", version=6, options={"hoodie.index.type": "INMEMORY"})
    writes = [table.insert(rows(("a", 1, "x", 1))), table.upsert(rows(("a", 2, "x", 2)))]
    for write in reversed(writes):
        table.rollback(write.instant)
    assert data_files(tmp_path / "t") == []
    assert table.verify() == []


@pytest.mark.parametrize("undo", ["rollback", "restore"])
def test_in_version_6_the_log_files_of_a_slice_go_with_its_compaction(tmp_path: Path, undo: str) -> None:
    """Or they would be the newest slice once the compaction's instant counts as archived."""
    options = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
    table = new_table(tmp_path / "t", version=6, options=options)
    first = table.insert(rows(("a", 1, "x", 1), ("b", 1, "x", 1)))
    later = [table.upsert(rows(("a", 2, "x", 2))), *table.compact(), table.upsert(rows(("a", 3, "x", 3)))]
    if undo == "restore":
        table.restore(first.instant)
    else:
        for write in reversed(later):
            table.rollback(write.instant)
    assert content(table) == [("a", 1, "x", 1), ("b", 1, "x", 1)]
    limits = {"hoodie.keep.max.commits": "3", "hoodie.keep.min.commits": "2", "hoodie.clean.commits.retained": "1"}
    served = open_table(table.path, options={"hudiformat.sync": "false", **limits}, clock=table._context.clock)
    for ts in range(10, 16):
        served.upsert(rows(("c", ts, "x", ts)))
    assert later[-1].instant < (served.timeline.first_active or "")
    assert content(served) == [("a", 1, "x", 1), ("b", 1, "x", 1), ("c", 15, "x", 15)]
    assert served.verify() == []


def test_the_last_write_that_is_not_archived_is_not_rolled_back(tmp_path: Path) -> None:
    options = {"hoodie.archive.automatic": "false"}
    table = new_table(tmp_path / "t", table_type="COPY_ON_WRITE", options=options)
    writes = [table.upsert(rows((f"k{ts}", ts, "x", ts))) for ts in range(3)]
    state = table._context.state()
    archive_instants(state.storage, state.config, ArchiveLimits(max_commits=2, min_commits=1))
    with pytest.raises(CommitError, match="all writes before it have been archived"):
        table.rollback(writes[-1].instant)
    assert len(content(table)) == 3


@pytest.mark.parametrize("version", [6, 9])
def test_a_rollback_that_hudi_planned_and_refused_is_not_carried_out(tmp_path: Path, version: int) -> None:
    """Hudi looks for savepoints when the plan is on the timeline already."""
    table = new_table(tmp_path / "t", version=version)
    table.insert(rows(("a", 1, "x", 1)))
    kept = table.insert(rows(("b", 1, "x", 1)))
    table.savepoint(kept.instant)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hudiformat.services.rolling_back.refuse_savepoint", lambda *_: None)
        patch.setattr("hudiformat.write.commit.rollback._execute", _refuse)
        with pytest.raises(CommitError, match="savepointed"):
            table.rollback(kept.instant)
    assert [one.action for one in table.timeline.pending] == [Action.ROLLBACK]
    table.insert(rows(("c", 1, "x", 1)))
    assert [row[0] for row in content(table)] == ["a", "b", "c"]
    assert table.timeline.pending == ()
    assert table.verify() == []


def _refuse(*_: object, **__: object) -> None:
    raise CommitError("could not roll back a savepointed commit", path="t")
