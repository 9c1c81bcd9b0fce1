"""Questions that are asked of one state of a table while others change it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hudiformat import CorruptTableError, StorageError, Table, TableError, open_storage, open_table
from hudiformat.file_group.slices import ListedFiles
from hudiformat.table.one_state import MOST_ATTEMPTS, is_overtaken, run_on_stable_state
from hudiformat.table.state import TableState
from hudiformat.timeline.archive.archiving import ArchiveLimits, archive_instants
from tests.requests import RecordingStorage
from tests.tables import new_table, rows


@pytest.fixture
def table(tmp_path: Path) -> Table:
    made = new_table(tmp_path / "t", options={"hoodie.clean.automatic": "false"})
    made.insert(rows(("a", 1, "x", 1)))
    return made


def failing(table: Table, error: Exception, *, times: int, changes: bool) -> Callable[[TableState, ListedFiles], int]:
    """A question that fails so many times, while another writer commits or not; it counts the writes."""
    left = times

    def ask(state: TableState, _listed: ListedFiles) -> int:
        nonlocal left
        if left:
            left -= 1
            if changes:
                table.insert(rows((f"k{left}", 1, "x", left)))
            raise error
        return len(state.timeline.completed_writes)

    return ask


@pytest.mark.parametrize("error", [StorageError("gone"), CorruptTableError("half of it")], ids=repr)
def test_what_cannot_be_read_is_asked_again_where_the_timeline_has_changed(table: Table, error: Exception) -> None:
    assert run_on_stable_state(table._context, failing(table, error, times=2, changes=True)) == 3


def test_what_cannot_be_read_is_an_error_where_nothing_has_changed(table: Table) -> None:
    with pytest.raises(StorageError, match="gone"):
        run_on_stable_state(table._context, failing(table, StorageError("gone"), times=1, changes=False))


def test_others_may_be_faster_every_time(table: Table) -> None:
    ask = failing(table, StorageError("gone"), times=MOST_ATTEMPTS, changes=True)
    with pytest.raises(TableError, match="in each of 5 attempts .* try again later"):
        run_on_stable_state(table._context, ask)


def test_an_answer_that_a_rollback_has_overtaken_is_not_given(table: Table) -> None:
    newest = table.upsert(rows(("a", 2, "x", 2), ("b", 2, "y", 2)))
    asked: list[int] = []

    def ask(state: TableState, listed: ListedFiles) -> int:
        if not asked:
            table.rollback(newest.instant)
        asked.append(1)
        return len(state.slices(listed=listed))

    assert run_on_stable_state(table._context, ask) == 1
    assert len(asked) == 2


def test_what_lists_nothing_is_never_overtaken(table: Table) -> None:
    def ask(state: TableState, _listed: ListedFiles) -> int:
        table.rollback(state.timeline.completed_writes[-1].time)
        return len(state.timeline.completed_writes)

    assert run_on_stable_state(table._context, ask) == 1


@pytest.mark.parametrize("of_the_past", [False, True])
def test_a_clean_overtakes_a_look_that_lists_after_it(table: Table, of_the_past: bool) -> None:
    for number in range(3):
        table.insert(rows((f"k{number}", 1, "x", number)))
    state, listed = table._context.state(), ListedFiles()
    assert not is_overtaken(state, listed, of_the_past=of_the_past)
    quick = open_table(table.path, options={"hoodie.clean.commits.retained": "1"}, clock=table._context.clock)
    assert quick.clean()
    state.slices(listed=listed)
    # The newest slice of one partition is still there; slices of the past may be gone.
    assert is_overtaken(state, listed, of_the_past=of_the_past) is of_the_past


def test_a_rollback_overtakes_a_look_that_lists_several_partitions(table: Table) -> None:
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    newest = table.upsert(rows(("a", 2, "x", 2)))
    state, listed = table._context.state(), ListedFiles()
    table.rollback(newest.instant)
    assert not is_overtaken(state, listed)
    state.slices(listed=listed)
    assert is_overtaken(state, listed)


def test_a_write_alone_overtakes_no_look(table: Table) -> None:
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    state, listed = table._context.state(), ListedFiles()
    table.upsert(rows(("a", 2, "x", 2)))
    assert len(state.slices(listed=listed)) == 2  # the newer log file is in no slice
    assert not is_overtaken(state, listed, of_the_past=True)


def test_a_quiet_look_at_one_partition_asks_nothing_to_know_that_it_is_current(table: Table) -> None:
    table.insert(rows(("a", 1, "x", 1)))
    storage = RecordingStorage(open_storage(table.path))
    found = open_table(storage, clock=table._context.clock)
    state, listed = found._context.state(), ListedFiles()
    assert state.schema.arrow == table.schema  # every query reads the newest write for it
    state.slices(listed=listed)
    storage.clear()
    assert not is_overtaken(state, listed)
    assert storage.requests == []


def test_a_rollback_overtakes_a_look_at_one_partition_that_misses_files_of_the_newest_write(table: Table) -> None:
    table.insert(rows(("a", 1, "x", 1)))
    newest = table.upsert(rows(("a", 2, "x", 2)))
    state, listed = table._context.state(), ListedFiles()
    table.rollback(newest.instant)
    state.slices(listed=listed)
    assert is_overtaken(state, listed)


def test_a_look_that_finds_no_partition_any_more_is_overtaken(table: Table) -> None:
    state, listed = table._context.state(), ListedFiles()
    for done in reversed(table.timeline.completed_writes):
        table.rollback(done.time)
    assert state.slices(listed=listed) == []
    assert is_overtaken(state, listed)


def test_archiving_overtakes_no_look(table: Table) -> None:
    for number in range(3):
        table.insert(rows((f"k{number}", 1, "x", number), (f"k{number}", 1, "y", number)))
    state, listed = table._context.state(), ListedFiles()
    state.slices(listed=listed)
    assert archive_instants(table._context.storage, table.config, ArchiveLimits(2, 1, compaction_delta_commits=1))
    assert not is_overtaken(state, listed, of_the_past=True)
