"""Questions that are asked of one state of a table while others change it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hudiformat import CorruptTableError, StorageError, Table, TableError
from hudiformat.table.one_state import MOST_ATTEMPTS, run_on_stable_state
from hudiformat.table.state import TableState
from tests.tables import new_table, rows


@pytest.fixture
def table(tmp_path: Path) -> Table:
    made = new_table(tmp_path / "t", options={"hoodie.clean.automatic": "false"})
    made.insert(rows(("a", 1, "x", 1)))
    return made


def failing(table: Table, error: Exception, *, times: int, changes: bool) -> Callable[[TableState], int]:
    """A question that fails so many times, while another writer commits or not; it counts the writes."""
    left = times

    def ask(state: TableState) -> int:
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

    def ask(state: TableState) -> int:
        if not asked:
            table.rollback(newest.instant)
        asked.append(1)
        return len(state.slices())

    assert run_on_stable_state(table._context, ask) == 1
    assert len(asked) == 2


def test_what_lists_nothing_is_never_overtaken(table: Table) -> None:
    def ask(state: TableState) -> int:
        table.rollback(state.timeline.completed_writes[-1].time)
        return len(state.timeline.completed_writes)

    assert run_on_stable_state(table._context, ask, lists=False) == 1
