"""Writes that stop half-way: the last commit reads the same, and the next writer cleans up."""

from __future__ import annotations

import itertools
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from hudiformat import CommitError, HudiFormatError, StorageError, Table, TableError, open_table
from hudiformat.timeline.timeline import State
from tests.effort import every, sample
from tests.faults import FaultyStorage
from tests.metadata_table.tables import add_metadata_table, check_listing
from tests.tables import FLAGGED, Clock, content, multiset, new_table, rows, tree
from tests.write.commit.support import AFTER, BEFORE, FIRST, SECOND, abandoned, of_instant

pytestmark = pytest.mark.unmeasured

T = TypeVar("T")
KEPT_UP = "SIMPLE, with a metadata table"
OF_VERSION_6 = "SIMPLE, in a table of version 6"


class Faults:
    """Counts what is done to a storage, and fails from a given moment on: once, or for ever."""

    def __init__(self, moment: int, *, for_ever: bool, after_the_fact: bool) -> None:
        self.moment = moment
        self.count = 0
        self.for_ever = for_ever
        self.after_the_fact = after_the_fact

    def run(self, what: str, action: Callable[[], T]) -> T:
        if what == "close":
            return action()
        self.count += 1
        fails = self.count >= self.moment if self.for_ever else self.count == self.moment
        if fails and self.after_the_fact and not what.startswith("open"):
            action()
        if fails:
            raise StorageError(f"the storage fails at operation {self.count}: {what}")
        return action()


def failing(table: Table, faults: Faults) -> Table:
    return Table(replace(table._context, storage=FaultyStorage(table._context.storage, faults)))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*a service after it failed")  # the storage fails there, too
@pytest.mark.filterwarnings("ignore:.*whether another writer was rolling it back is not known")  # the commit is done
@pytest.mark.filterwarnings("ignore:.*a service of the metadata table failed")
@pytest.mark.parametrize(
    ("index", "lasting", "when"),
    sample(
        [
            ("SIMPLE", "once", "before"),
            ("SIMPLE", "once", "after"),
            ("SIMPLE", "for ever", "before"),
            ("SIMPLE", "for ever", "after"),
            ("BUCKET", "once", "after"),
            (KEPT_UP, "once", "after"),
            (OF_VERSION_6, "once", "before"),
            (OF_VERSION_6, "for ever", "after"),
        ],
        of=4,
    ),
)
def test_a_write_that_fails_at_any_moment_is_whole_or_not_at_all(
    tmp_path: Path, index: str, lasting: str, when: str
) -> None:
    template = tmp_path / "template"
    kept_up, version, index = index == KEPT_UP, 6 if index == OF_VERSION_6 else 9, index.partition(",")[0]
    new_table(template, schema=FLAGGED, version=version, options={"hoodie.index.type": index}).insert(FIRST)
    if kept_up:
        add_metadata_table(template)
    untouched = tree(template)
    finished = False
    for moment in itertools.count(1, every(7)):
        path = Path(shutil.copytree(template, tmp_path / str(moment)))
        table = open_table(path, options={"hoodie.index.type": index}, clock=Clock())
        faults = Faults(moment, for_ever=lasting == "for ever", after_the_fact=when == "after")
        left = None
        try:
            failing(table, faults).upsert(SECOND)
        except HudiFormatError:
            visible = len(table.timeline.completed) == 2
            # An error says that nothing was written, unless the timeline could not be asked any more.
            assert not visible or (lasting, when) == ("for ever", "after"), moment
            assert content(table) == (AFTER if visible else BEFORE), moment
            left = next((pending.time for pending in table.timeline.pending), None)
            assert left or visible or tree(path) == untouched, moment
        else:
            finished = faults.count < moment
            assert content(table) == AFTER, moment
        quick = open_table(path, options={"hudiformat.sync": "false", "hoodie.index.type": index}, clock=Clock())
        quick.upsert(SECOND)  # the next writer
        assert content(table) == AFTER, moment
        assert table.timeline.pending == ()
        assert left is None or of_instant(path, left) == [], moment
        if kept_up:
            check_listing(path)
        assert moment < 100 + 100 * kept_up
        if finished:
            break
    assert moment > 15


def test_a_failed_write_leaves_the_table_as_it_was(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    table.insert(rows(("a", 1, "x", 1)))
    before = tree(Path(table.path))

    def fail(*_args: object, **_options: object) -> None:
        raise StorageError("the disk is full")

    monkeypatch.setattr("hudiformat.write.commit.publishing.complete_instant", fail)
    with pytest.raises(CommitError, match="could not be completed: the disk is full") as caught:
        table.upsert(rows(("a", 2, "x", 2), ("b", 1, "y", 3)))
    assert caught.value.path == table.path
    assert tree(Path(table.path)) == before


def test_a_writer_that_died_is_invisible_and_cleaned_up_by_the_next(tmp_path: Path, any_index: dict[str, str]) -> None:
    table = new_table(tmp_path / "t", schema=FLAGGED, options=any_index)
    table.insert(FIRST)
    dead = abandoned(table, SECOND).plan.instant
    assert [pending.state for pending in table.timeline.pending] == [State.INFLIGHT]
    assert len(of_instant(tmp_path / "t", dead)) > 4
    assert content(table) == BEFORE
    with pytest.raises(TableError, match=f"{dead} deltacommit .inflight. is not complete"):
        table.snapshot(as_of=dead)
    table.upsert(SECOND)
    assert content(table) == AFTER
    assert of_instant(tmp_path / "t", dead) == []


@pytest.mark.slow
def test_a_process_that_is_killed(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", schema=FLAGGED, sync=True)
    table.insert(FIRST)
    script = (
        "import os, sys\n"
        "import hudiformat.write.commit.publishing as publishing\n"
        "from hudiformat import open_table\n"
        "from tests.tables import Clock\n"
        "from tests.write.commit.support import SECOND\n"
        "publishing.complete_instant = lambda *_a, **_k: os._exit(9)\n"
        "clock = Clock()\n"
        "clock.now = clock.now.replace(hour=13)\n"
        "open_table(sys.argv[1], clock=clock).upsert(SECOND)\n"
    )
    killed = subprocess.run([sys.executable, "-c", script, table.path], check=False, cwd=Path(__file__).parents[3])
    assert killed.returncode == 9
    (pending,) = table.timeline.pending
    assert content(table) == BEFORE
    table._context.clock.now = table._context.clock.now.replace(hour=14)  # type: ignore[attr-defined]  # the clock of tests
    table.upsert(SECOND)
    assert content(table) == AFTER
    assert of_instant(tmp_path / "t", pending.time) == []


def test_a_pending_compaction_of_hudis_is_left_alone(own_golden: Callable[[str], Path]) -> None:
    path = own_golden("v9-mor-compaction-pending-h120")
    table = open_table(path)
    pending = table.timeline.pending
    assert [instant.action.value for instant in pending] == ["compaction"]
    expected = multiset(table.snapshot())
    table.delete(table.snapshot().slice(0, 0))
    assert table.timeline.pending == pending
    assert multiset(table.snapshot()) == expected
