"""Bytes and rows of a table after each commit, by what the commits say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hudiformat import Table, open_table
from hudiformat.report.facts import Growth
from hudiformat.report.growth import MOST_POINTS, GrowthCounter
from hudiformat.timeline.commit_metadata import CommitMetadata, WriteStat
from hudiformat.timeline.timeline import Action, Instant, State
from tests.effort import sample
from tests.report.support import facts_of, slice_of
from tests.tables import NAMES, GoldenTable, new_table, rows

EXACT = [name for name in NAMES if "damaged" not in name and not name.startswith("v6-mor-r") and "failed" not in name]
"""Below version 8 a rollback adds blocks to log files, and does not say how large they are."""


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return new_table(tmp_path / "t", options={"hoodie.index.type": "INMEMORY"})


def growth(table: Table) -> Growth:
    return facts_of(table, verify=False).growth


def total(table: Table) -> int:
    return sum(one.size for one in table.file_slices())


@pytest.mark.parametrize("name", sample(EXACT, of=13))
def test_of_hudis_tables_the_last_point_is_the_size_of_the_table(
    name: str, golden: Callable[[str], GoldenTable]
) -> None:
    table = open_table(golden(name).table)
    found = growth(table)
    assert found.total[-1] == total(table)
    assert len(found.times) == len(table.timeline.completed_writes)


def test_rows_follow_inserts_deletes_and_compaction(table: Table) -> None:
    table.bulk_insert(rows(("a", 1, "x", 1), ("b", 1, "x", 1), ("c", 1, "y", 1)))
    table.upsert(rows(("a", 2, "x", 2), ("d", 2, "x", 2)))
    table.delete(rows(("b", 3, "x", 1)))
    table.compact()
    found = growth(table)
    assert found.is_whole
    assert found.operations == ("bulk_insert", "upsert", "delete", "compact")
    assert found.rows.tolist() == [3, 4, 3, 3]
    assert found.inserted.tolist() == [3, 1, 0, 0]
    assert found.updated.tolist() == [0, 1, 0, 0]
    assert found.deleted.tolist() == [0, 0, 1, 0]
    assert found.total[-1] == total(table)


def test_what_a_replace_commit_takes_away_counts_no_more(table: Table) -> None:
    table.bulk_insert(rows(("a", 1, "x", 1), ("b", 1, "x", 1)))
    table.insert_overwrite(rows(("c", 1, "x", 1)))
    found = growth(table)
    assert found.rows.tolist() == [2, 1]
    assert found.total[-1] == total(table)


def test_log_files_that_were_completed_after_a_compaction_began_stay(table: Table) -> None:
    table.bulk_insert(rows(("a", 1, "x", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    table.schedule_compaction()
    table.upsert(rows(("b", 3, "x", 3)))
    table.compact()
    found = growth(table)
    assert found.rows.tolist() == [1, 1, 2, 2]
    assert found.total[-1] == total(table)


def write(time: str, *stats: WriteStat, operation: str | None = "UPSERT") -> tuple[Instant, CommitMetadata]:
    return Instant(time, Action.DELTA_COMMIT, State.COMPLETED), CommitMetadata(operation, {"": stats})


def test_the_files_from_before_archived_commits_are_there_from_the_start() -> None:
    slices = [slice_of("", "a-0", 100, instant="1"), slice_of("", "b-0", None, 30, instant="1")]
    counter = GrowthCounter([*slices, slice_of("", "c-0", 7, instant="9")], "5", is_whole=False)
    log = WriteStat("a-0", ".a-0_6.log.1_0-1-2", num_inserts=2, total_write_bytes=11, partition_path="")
    counter.add(*write("6", log))
    found = counter.growth()
    assert (found.total.tolist(), found.rows.tolist(), found.is_whole) == ([141], [2], False)


def test_stats_without_a_file_of_hudis_count_as_written_alone() -> None:
    counter = GrowthCounter([], None, is_whole=True)
    stat = WriteStat(None, None, total_write_bytes=5, partition_path=None)
    counter.add(*write("1", stat, operation=None))
    found = counter.growth()
    assert (found.operations, found.written.tolist(), found.total.tolist()) == (("",), [5], [0])


def test_a_file_group_that_was_never_seen_may_be_replaced() -> None:
    counter = GrowthCounter([], None, is_whole=True)
    done = Instant("2", Action.REPLACE_COMMIT, State.COMPLETED)
    counter.add(done, CommitMetadata("CLUSTER", {}, partition_to_replace_file_ids={"x": ("a-0",)}))
    assert counter.growth().total.tolist() == [0]


def test_the_newest_points_are_kept() -> None:
    counter = GrowthCounter([], None, is_whole=True)
    for number in range(MOST_POINTS + 2):
        counter.add(*write(str(number)))
    assert counter.growth().times[::MOST_POINTS] == ("2",)
    assert len(counter.growth().times) == MOST_POINTS


def test_without_commits_there_are_no_points() -> None:
    assert GrowthCounter([], None, is_whole=True).growth().times == ()
