"""Compaction: a slice's log files are merged into a base file."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat import CommitError, StorageError, Table, UnsupportedFeatureError
from hudiformat.timeline.timeline import State
from tests.services.support import logged, served
from tests.tables import Clock, content, data_files, new_table, rows


def test_compaction_merges_log_files_into_a_base_file(table: Table) -> None:
    table = logged(table)
    before = content(table)
    (commit,) = table.compact()
    assert (commit.action, len(commit.stats)) == ("commit", 1)
    (found,) = table.file_slices()
    assert (found.base_instant, found.log_files) == (commit.instant, ())
    assert content(table) == before == [("a", 2, "x", 2), ("c", 1, "x", 1)]
    assert table.read_optimized().num_rows == 2
    names = table.snapshot(columns=["_hoodie_file_name"]).column(0).unique().to_pylist()
    assert found.base_file is not None
    assert names == [str(found.base_file.name)]
    assert not (Path(table.path) / ".hoodie" / ".temp" / commit.instant).exists()


def test_nothing_to_compact(table: Table) -> None:
    table.insert(rows(("a", 1, "x", 1)))
    assert not table.schedule_compaction()
    assert table.compact() == []


def test_what_is_written_after_a_compaction_was_planned_stays_in_log_files(table: Table) -> None:
    table = logged(table)
    planned = table.schedule_compaction()
    assert planned
    table.upsert(rows(("c", 2, "x", 5)))
    assert not table.schedule_compaction()  # the file group is being compacted already
    assert content(table) == [("a", 2, "x", 2), ("c", 2, "x", 5)]
    (commit,) = table.compact()
    assert commit.instant == planned.time
    (found,) = table.file_slices()
    assert (found.base_instant, len(found.log_files)) == (planned.time, 1)
    assert content(table) == [("a", 2, "x", 2), ("c", 2, "x", 5)]


def test_a_compaction_that_fails_leaves_its_plan_if_it_was_there_before(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = logged(table)
    assert table.schedule_compaction()

    def stop(*_arguments: object, **_more: object) -> None:
        raise StorageError("the disk is full")

    monkeypatch.setattr("hudiformat.write.commit.publishing.complete_instant", stop)
    with pytest.raises(CommitError, match="could not be completed: the disk is full; the table is as it was"):
        table.compact()
    monkeypatch.undo()
    assert [pending.state for pending in table.timeline.pending] == [State.REQUESTED]
    before = content(table)
    (commit,) = table.compact()
    assert content(table) == before
    assert not table.timeline.pending
    bases = [file for file in data_files(Path(table.path)) if commit.instant in file]
    assert len(bases) == 1


def test_a_compaction_that_cannot_write_leaves_nothing(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    table = logged(table)

    def fail(*_arguments: object) -> None:
        raise StorageError("the disk is full")

    before = data_files(Path(table.path))
    monkeypatch.setattr("hudiformat.write.handles.base_files.OpenBaseFile.write", fail)
    with pytest.raises(StorageError, match="disk is full"):
        table.compact()
    monkeypatch.undo()
    assert table.timeline.pending == ()
    assert data_files(Path(table.path)) == before
    assert content(table) == [("a", 2, "x", 2), ("c", 1, "x", 1)]
    assert len(table.compact()) == 1


@pytest.mark.parametrize("options", [{"compaction_log_files": 3}, {"compaction_log_size": 10**6}])
def test_slices_that_are_not_worth_a_compaction(table: Table, options: dict[str, int]) -> None:
    assert not served(logged(table), **options).schedule_compaction()


def test_a_compaction_takes_the_largest_logs_first_and_no_more_than_its_target(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", clock=Clock(), options={"hoodie.index.type": "INMEMORY"})
    table.bulk_insert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    table.upsert(rows(*((f"k{n}", 2, "y", 2) for n in range(100))))
    assert len(served(table, compaction_target_io_mb=1).compact()[0].stats) == 2
    table.upsert(rows(("a", 3, "x", 3)))
    table.upsert(rows(*((f"k{n}", 3, "y", 3) for n in range(100))))
    tiny = served(table, compaction_target_io_mb=0)
    (commit,) = tiny.compact()
    assert [stat.partition_path for stat in commit.stats] == ["y"]


def test_copy_on_write_tables_have_nothing_to_compact(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", table_type="COPY_ON_WRITE")
    with pytest.raises(UnsupportedFeatureError, match="found a copy-on-write table, which has no log files to compact"):
        table.compact()
