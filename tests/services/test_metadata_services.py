"""The services of the metadata table keep it small."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat import open_table
from hudiformat.storage.folder import FolderStorage
from hudiformat.timeline.config_files import load_table_config
from hudiformat.timeline.contents import create_requested
from hudiformat.timeline.timeline import Action, load_timeline
from tests.effort import LONG, only_long
from tests.metadata_table.tables import check_listing
from tests.metadata_tables import base_files, indexed_table, told, with_metadata_table
from tests.tables import content, new_table, rows


@pytest.mark.slow
def test_the_metadata_table_stays_small(tmp_path: Path) -> None:
    often = {
        "hoodie.metadata.compact.max.delta.commits": "3",
        "hoodie.keep.max.commits": "4",
        "hoodie.keep.min.commits": "3",
        "hoodie.clean.commits.retained": "1",
    }
    table = with_metadata_table(new_table(tmp_path / "t"), often)
    for number in range(24):
        table.upsert(rows(("a", number, "x", number)))
        assert len(list((tmp_path / "t" / ".hoodie/metadata/files").iterdir())) <= 13
        assert len(told(table)) <= 13
    assert content(table) == [("a", 23, "x", 23)]
    check_listing(tmp_path / "t")


@pytest.mark.parametrize("mode", ["SINGLE_WRITER", "OPTIMISTIC_CONCURRENCY_CONTROL"])
def test_a_compaction_that_nobody_finished_is_planned_anew_unless_another_writer_may_be_at_it(
    tmp_path: Path, mode: str
) -> None:
    chosen = {"hoodie.metadata.compact.max.delta.commits": "1", "hoodie.write.concurrency.mode": mode}
    table = with_metadata_table(new_table(tmp_path / "t"), chosen)
    own = FolderStorage(table._context.storage, ".hoodie/metadata")
    create_requested(own, load_table_config(own), "20000101000000001", Action.COMPACTION)
    table.insert(rows(("a", 1, "x", 1)))
    table.insert(rows(("b", 1, "x", 1)))
    is_alone = mode == "SINGLE_WRITER"
    pending = [one.time for one in load_timeline(own, load_table_config(own)).pending]
    assert pending == ([] if is_alone else ["20000101000000001"])
    assert len(base_files(table)) == 1 + is_alone
    check_listing(tmp_path / "t")


@only_long
@pytest.mark.slow
@pytest.mark.parametrize("version", [9, *([6] if LONG else [])])
def test_what_is_pending_may_be_recorded_after_many_writes_whose_keys_stay_known(tmp_path: Path, version: int) -> None:
    """It is recorded at its old time; instants after that count as unfinished where they are archived."""
    often = {
        "hoodie.metadata.compact.max.delta.commits": "2",
        "hoodie.keep.max.commits": "4",
        "hoodie.keep.min.commits": "3",
        "hoodie.clean.commits.retained": "1",
        "hoodie.index.type": "RECORD_INDEX",
    }
    table = new_table(tmp_path / "t", version=version, options=often)
    table.create_index("record_index")
    keys = [f"k{number}" for number in range(14)]
    for ts in (1, 2):
        table.upsert(rows((keys[0], ts, "x", ts)))
    assert table.schedule_compaction()
    for key in keys[1:]:
        table.upsert(rows((key, 1, "x", 1)))
    table.compact()
    table.upsert(rows(*((key, 3, "x", 3) for key in keys)))
    assert content(table) == [(key, 3, "x", 3) for key in sorted(keys)]
    check_listing(tmp_path / "t")


def test_a_compaction_of_version_6_that_was_left_half_way_is_finished(tmp_path: Path) -> None:
    """What was written since is named by it, so it cannot be planned anew."""
    path = tmp_path / "t"
    often = {"hoodie.metadata.compact.max.delta.commits": "3"}
    table = indexed_table(path, version=6, options=often)
    commit = table.upsert(rows(("a", 1, "x", 1)))
    table.upsert(rows(("b", 1, "y", 1)))  # before it the metadata table is compacted
    own = path / ".hoodie/metadata"
    done = own / f".hoodie/{commit.instant}001.commit"
    done.unlink()  # as if the process had died just before
    assert list((own / "files").glob(f".files-0000-0_{commit.instant}001.log.1*"))
    check_listing(path)
    assert content(open_table(path)) == [("a", 1, "x", 1), ("b", 1, "y", 1)]
    table.upsert(rows(("c", 1, "y", 1)))
    assert done.exists()
    check_listing(path)
    table.upsert(rows(("d", 1, "z", 1)))
    check_listing(path)
