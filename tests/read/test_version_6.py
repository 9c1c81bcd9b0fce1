"""Which blocks of a slice count in table version 6, where a log file holds those of writes that did not complete."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hudiformat import LogReader, TableError, open_table
from hudiformat.read.time_travel import first_pending_write
from hudiformat.storage.local import LocalStorage
from hudiformat.timeline.timeline import Action
from tests.tables import multiset

NAME = "v6-mor-many-blocks-h0150"


@pytest.fixture
def path(own_golden: Callable[[str], Path]) -> Path:
    return own_golden(NAME)


def instants(path: Path) -> list[str]:
    return [done.time for done in open_table(path).timeline.completed_writes]


def rename(path: Path, instant: str, *extensions: str) -> None:
    """Take away the files of an instant that end in *extensions*."""
    for extension in extensions:
        (path / ".hoodie" / f"{instant}.deltacommit{extension}").unlink()


def written(path: Path) -> set[str]:
    return set(open_table(path).snapshot(columns=["_hoodie_commit_time"])["_hoodie_commit_time"].to_pylist())


def test_blocks_of_a_write_that_is_in_flight_are_passed_over(path: Path) -> None:
    *_, before, last = instants(path)
    expected = open_table(path).snapshot(as_of=before)
    rename(path, last, "")
    assert multiset(open_table(path).snapshot()) == multiset(expected)


def test_blocks_of_a_write_that_the_timeline_does_not_know_are_passed_over(path: Path) -> None:
    _, second, third, *_ = instants(path)
    rename(path, second, "", ".inflight", ".requested")
    assert second not in written(path)
    assert third in written(path)


def test_blocks_of_an_archived_write_count(path: Path) -> None:
    first, second, *_ = instants(path)
    expected = multiset(open_table(path).snapshot())
    for instant in (first, second):
        rename(path, instant, "", ".inflight", ".requested")
    assert multiset(open_table(path).snapshot()) == expected


def test_log_files_hold_blocks_of_several_instants(path: Path) -> None:
    """Else the tests above would show nothing that names do not show."""

    def found(log: Path) -> Iterator[str | None]:
        with LogReader(log) as reader:
            yield from (block.instant for block in reader)

    logs = [log for log in path.rglob(".*.log.*") if log.is_file()]
    assert {log.name.split("_")[1].split(".")[0] for log in logs} == {instants(path)[0]}
    assert {instant for log in logs for instant in found(log)} == set(instants(path)[1:])


def test_a_hole_in_the_timeline_is_refused_by_incremental_queries(path: Path) -> None:
    first, second, *_ = instants(path)
    assert open_table(path).incremental(first).num_rows
    rename(path, second, "")
    table = open_table(path)
    pending = first_pending_write(table._context.state())
    assert pending is not None
    assert (pending.time, pending.action) == (second, Action.DELTA_COMMIT)
    with pytest.raises(TableError, match=f"{second} deltacommit .inflight. is not complete, and later ones are"):
        table.incremental(first)


def test_a_pending_write_that_nothing_has_overtaken_is_no_hole(path: Path) -> None:
    first, *_, last = instants(path)
    rename(path, last, "")
    assert set(open_table(path).incremental(first)["_hoodie_commit_time"].to_pylist()) <= set(instants(path)[1:])


def test_files_of_an_incremental_query_that_were_cleaned_away(path: Path) -> None:
    first, *_ = instants(path)
    storage = LocalStorage(str(path))
    for log in path.rglob(".*.log.*"):
        storage.delete(str(log.relative_to(path)))
    with pytest.raises(OSError, match="log"):
        open_table(path).incremental(first)
