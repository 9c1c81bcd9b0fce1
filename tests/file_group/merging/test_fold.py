"""Of the log entries with one key, which one wins, entry by entry."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from hudiformat.file_group.merging.candidates import Candidates
from hudiformat.file_group.merging.fold import key_numbers, last_entries, sort_into_runs

LOWEST = np.iinfo(np.int64).min


def entries(
    ordering: list[int | None],
    *,
    records: int,
    keys: str = "",
    age: list[int] | None = None,
    deleted: tuple[int, ...] = (),
    resets: tuple[int, ...] = (),
) -> Candidates:
    """Entries, the first *records* of which are rows; *deleted* and *resets* are indices of entries."""
    every = np.arange(len(ordering))
    return Candidates(
        records=(pa.RecordBatch.from_pydict({"n": list(range(records))}),),
        written=(None,),
        keys=pa.chunked_array([pa.array(list(keys), pa.string())]),
        ordering=(pa.chunked_array([pa.array(ordering, pa.int64())]),),
        age=every if age is None else np.array(age),
        deleted=np.isin(every, deleted),
        resets=np.isin(every, resets),
    )


def test_keys_are_numbered() -> None:
    logs = entries([1, 2, 3], records=3, keys="bab")
    numbers, keys = key_numbers(logs)
    assert len(keys) == 2
    assert numbers[0] == numbers[2] != numbers[1]


def test_entries_are_sorted_by_key_and_age() -> None:
    found = sort_into_runs(np.array([1, 0, 1]), entries([5, 7, 6], records=3, age=[2, 1, 0]), by_event_time=True)
    assert found.entry.tolist() == [1, 2, 0]
    assert found.segment.tolist() == [0, 1, 1]
    assert found.starts.tolist() == [0, 1]
    assert found.rank.tolist() == [7, 6, 5]


def test_first_and_last_of_each_key() -> None:
    found = sort_into_runs(np.array([0, 1, 1]), entries([1, 1, 1], records=3), by_event_time=False)
    flags = np.array([False, True, True])
    assert (found.first(flags).tolist(), found.last(flags).tolist()) == ([3, 1], [-1, 2])
    assert found.filter(flags).starts.tolist() == [0]


def test_a_reset_drops_older_entries_and_the_deletes_right_after_it() -> None:
    logs = entries([5, 1, None, 7], records=2, age=[0, 3, 1, 2], deleted=(2, 3), resets=(2,))
    found = sort_into_runs(np.zeros(4, np.int64), logs, by_event_time=True)
    assert (found.entry.tolist(), found.rank.tolist()) == ([2, 1], [LOWEST, 1])


def test_where_deletes_win_a_deleted_row_keeps_its_ordering_value() -> None:
    logs = entries([5, 4, 1], records=3, deleted=(1,))
    found = sort_into_runs(np.zeros(3, np.int64), logs, by_event_time=True, deletes_win=True)
    assert (found.entry.tolist(), found.rank.tolist()) == ([1, 2], [4, 1])
    logs = entries([5, 1, 4], records=2, age=[0, 2, 1], deleted=(2,))
    found = sort_into_runs(np.zeros(3, np.int64), logs, by_event_time=True, deletes_win=True)
    assert (found.entry.tolist(), found.rank.tolist()) == ([2, 1], [LOWEST, 1])


@pytest.mark.parametrize(("by_event_time", "winner"), [(True, 0), (False, 2)])
def test_the_winning_entry_of_each_key(by_event_time: bool, winner: int) -> None:
    logs = entries([5, 7, 4], records=3)
    assert last_entries(np.array([1, 0, 1]), 2, logs, by_event_time=by_event_time).tolist() == [1, winner]


def test_a_key_with_one_entry_keeps_it() -> None:
    assert last_entries(np.array([2, 0, 1]), 3, entries([1, 2, 3], records=3), by_event_time=True).tolist() == [1, 2, 0]
