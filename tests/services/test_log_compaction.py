"""Log compaction: the blocks of log files are merged, the base file stays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudiformat import CommitError, LogReader, StorageError, Table, UnsupportedFeatureError, open_table
from hudiformat.services.execution import compaction_operation
from hudiformat.timeline.contents import create_requested, read_content
from hudiformat.timeline.plans import CompactionPlan
from hudiformat.timeline.timeline import Action, Instant, State
from tests.tables import FLAGGED, content, data_files, new_table, rows

OFTEN = {
    "hoodie.index.type": "BUCKET",
    "hoodie.bucket.index.num.buckets": "1",
    "hoodie.log.compaction.blocks.threshold": "4",
    "hoodie.clean.automatic": "false",
}


def grown(path: Path, **changes: Any) -> Table:
    """A table whose one file group has rows and deletes of both kinds in three log files."""
    table = new_table(path / "t", schema=FLAGGED, options=OFTEN, **changes)
    table.upsert(rows(*((key, 5, "x", 1) for key in "abcde"), schema=FLAGGED))
    table.upsert(rows(("a", 6, "x", 2), ("b", 4, "x", 2), ("c", 6, "x", 2, True), schema=FLAGGED))
    table.delete(rows(("d", 0, "x"), schema=FLAGGED))
    return table


def newest_log(table: Table) -> Path:
    (file_slice,) = table.file_slices()
    return Path(table.path) / "x" / str(file_slice.log_files[-1].name)


LEFT = [("a", 6, "x", 2), ("b", 5, "x", 1), ("e", 5, "x", 1)]


def test_its_blocks_take_the_place_of_those_they_were_made_of(tmp_path: Path) -> None:
    table = grown(tmp_path)
    instants = [done.time for done in table.timeline.completed]
    before = table.snapshot().sort_by("k")
    (commit,) = table.log_compact()
    (done,) = [one for one in table.timeline.completed if one.time == commit.instant]
    assert done.action is Action.DELTA_COMMIT
    data, deletes = LogReader(newest_log(table))
    assert (data.instant, data.num_records()) == (commit.instant, 3)
    assert data.compacted_instants == deletes.compacted_instants == tuple(reversed(instants))
    assert sorted(deletes.deletes()["record_key"].to_pylist()) == ["c", "d"]
    assert table.snapshot().sort_by("k").equals(before)  # meta fields too
    assert content(table) == LEFT
    requested = Instant(done.time, Action.LOG_COMPACTION, State.REQUESTED)
    plan = read_content(table._context.storage, table.config, requested)
    assert isinstance(plan, CompactionPlan)
    assert plan.strategy is not None
    assert plan.preserve_hoodie_metadata
    assert [one.delta_file_paths and len(one.delta_file_paths) for one in plan.operations or ()] == [3]


@pytest.mark.parametrize("ordering", [["ts"], [], ["ts", "v"]])
def test_what_comes_later_meets_what_was_compacted(tmp_path: Path, ordering: list[str]) -> None:
    table, twin = grown(tmp_path, ordering=ordering), grown(tmp_path / "twin", ordering=ordering)
    table.log_compact()
    later = rows(("a", 5, "x", 3), ("c", 5, "x", 3), ("d", 1, "x", 3), ("e", 9, "x", 3), schema=FLAGGED)
    for one in (table, twin):
        one.upsert(later)
    assert content(table) == content(twin)
    table.upsert(later)
    table.log_compact()  # of what was compacted before, too
    assert content(table) == content(twin)
    table.compact()
    assert content(table) == content(twin)


def test_few_blocks_are_not_worth_it(tmp_path: Path) -> None:
    table = grown(tmp_path)
    assert len(table.log_compact()) == 1
    assert table.log_compact() == []
    table.upsert(rows(("a", 9, "x", 9), schema=FLAGGED))
    assert table.log_compact() == []


def test_one_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = grown(tmp_path)
    before = data_files(Path(table.path))

    def fail(*_args: object, **_options: object) -> None:
        raise StorageError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr("hudiformat.write.commit.publishing.complete_instant", fail)
        with pytest.raises(CommitError, match="the disk is full; the table is as it was"):
            table.log_compact()
    assert table.timeline.pending == ()
    assert data_files(Path(table.path)) == before
    assert content(table) == LEFT
    assert len(table.log_compact()) == 1
    assert content(table) == LEFT


def test_files_that_cannot_be_written_are_let_go_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = grown(tmp_path)

    def fail(*_args: object) -> None:
        raise StorageError("the disk is full")

    monkeypatch.setattr("hudiformat.write.handles.append.AppendHandle.close", fail)
    with pytest.raises(StorageError, match="the disk is full"):
        table.log_compact()


def test_one_that_others_planned_is_run_unless_a_compaction_came_after_it(tmp_path: Path) -> None:
    table = grown(tmp_path)
    plan = CompactionPlan(tuple(compaction_operation(table._context.storage, one) for one in table.file_slices()))
    instant = create_requested(table._context.storage, table.config, "20240229130000000", Action.LOG_COMPACTION, plan)
    assert [commit.instant for commit in table.log_compact()] == [instant.time]
    create_requested(table._context.storage, table.config, "20240229130000005", Action.LOG_COMPACTION, plan)
    table.upsert(rows(("a", 9, "x", 9), schema=FLAGGED))
    create_requested(table._context.storage, table.config, "20240229130000900", Action.COMPACTION, CompactionPlan())
    assert table.log_compact() == []
    assert [one.action for one in table.timeline.pending] == [Action.COMPACTION]


def test_a_slice_whose_blocks_are_all_gone_gets_no_file(tmp_path: Path) -> None:
    table = grown(tmp_path)
    (file_slice,) = table.file_slices()
    name = str(file_slice.log_files[0].name)
    (Path(table.path) / "x" / name).write_bytes(b"")
    plan = CompactionPlan(
        (replace(compaction_operation(table._context.storage, file_slice), delta_file_paths=(name,)),)
    )
    create_requested(table._context.storage, table.config, "20240229130000000", Action.LOG_COMPACTION, plan)
    assert [commit.stats for commit in table.log_compact()] == [()]


class KeepNewer:
    def merge(self, older: pa.Table, newer: pa.Table) -> pa.Table:
        return newer


def test_what_has_no_logs_or_its_own_merger_is_refused(tmp_path: Path) -> None:
    cow = new_table(tmp_path / "cow", table_type="COPY_ON_WRITE")
    with pytest.raises(UnsupportedFeatureError, match="expected a merge-on-read table without a custom merger, found"):
        cow.log_compact()
    table = open_table(grown(tmp_path).path, merger=KeepNewer())
    with pytest.raises(UnsupportedFeatureError, match="found a custom merger"):
        table.log_compact()
