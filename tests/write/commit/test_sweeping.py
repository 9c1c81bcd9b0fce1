"""Files that come to light when their write is over: they are gone before they could count as an archived commit's."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat import CommitError, Table, open_table
from hudiformat.storage.opening import open_storage
from hudiformat.timeline.timeline import Action
from hudiformat.write.commit.sweeping import sweep_before_archiving
from tests.effort import sample
from tests.requests import RecordingStorage
from tests.tables import Clock, content, new_table, rows, tree
from tests.write.commit.support import abandoned, of_instant

pytestmark = pytest.mark.unmeasured

SERVICES = {
    "hudiformat.sync": "false",
    "hoodie.keep.max.commits": "3",
    "hoodie.keep.min.commits": "2",
    "hoodie.clean.commits.retained": "1",
}


@pytest.mark.parametrize("version", sample([6, 8, 9], of=3))
@pytest.mark.parametrize("index", ["SIMPLE", "INMEMORY"])
def test_what_a_writer_that_was_taken_for_dead_makes_afterwards_never_counts(
    tmp_path: Path, version: int, index: str
) -> None:
    table = new_table(tmp_path / "t", version=version, options={"hoodie.index.type": index})
    table.insert(rows(("a", 1, "x", 1)))
    slow = abandoned(table, rows(("a", 2, "x", 2), ("b", 2, "y", 2)))
    late = {path: (tmp_path / "t" / path).read_bytes() for path in made_by(tmp_path / "t", slow.plan.instant)}
    table.upsert(rows(("c", 1, "x", 1)))  # rolls it back
    for path, data in late.items():
        (tmp_path / "t" / path).parent.mkdir(exist_ok=True)
        (tmp_path / "t" / path).write_bytes(data)
    expected = [("a", 1, "x", 1), ("c", 1, "x", 1)]
    assert content(table) == expected
    served = open_table(table.path, options={**SERVICES, "hoodie.index.type": index}, clock=table._context.clock)
    for ts in range(2, 12):
        served.upsert(rows(("c", ts, "x", 1)))
        assert content(table) == [expected[0], ("c", ts, "x", 1)]
    assert slow.plan.instant < (served.timeline.first_active or "")
    assert not any((tmp_path / "t" / path).exists() for path in late)


def made_by(root: Path, instant: str) -> list[str]:
    """The data files that have *instant* in their markers' paths."""
    markers = root / ".hoodie" / ".temp" / instant
    found = [path.relative_to(markers).as_posix() for path in markers.rglob("*.marker.*")]
    return [path.rpartition(".marker.")[0] for path in found]


def test_a_writer_that_was_rolled_back_deletes_what_it_made_itself(table: Table) -> None:
    table.insert(rows(("a", 1, "x", 1)))
    slow = abandoned(table, rows(("a", 2, "x", 2)))
    root = Path(table.path)
    late = {path: (root / path).read_bytes() for path in made_by(root, slow.plan.instant)}
    table.upsert(rows(("c", 1, "x", 1)))
    for path, data in late.items():
        (root / path).write_bytes(data)
    with pytest.raises(CommitError, match="it has been rolled back by another writer"), slow:
        slow.commit(())
    assert of_instant(root, slow.plan.instant) == []


def test_nothing_is_listed_where_nothing_was_rolled_back(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    table.insert(rows(("a", 1, "x", 1)))
    monkeypatch.delattr("hudiformat.write.commit.sweeping.list_partitions")
    state = table._context.state()
    before = tree(Path(table.path))
    sweep_before_archiving(state, state.timeline.completed)
    assert tree(Path(table.path)) == before


@pytest.mark.parametrize("version", [6, 8, 9])
def test_removed_partitions_that_a_power_cut_brings_back_never_count(tmp_path: Path, version: int) -> None:
    table = new_table(tmp_path / "t", version=version, options=SERVICES)
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    lost = {path: path.read_bytes() for path in (tmp_path / "t" / "y").iterdir()}
    table.delete_partitions(["y"])
    archived = 0
    for ts in range(2, 14):
        table.upsert(rows(("a", ts, "x", 1)))
        if not archived and table.timeline.completed[-1].action is Action.CLEAN:
            for path, data in lost.items():
                archived += 1
                path.parent.mkdir(exist_ok=True)  # the clean has deleted it, too
                path.write_bytes(data)
        assert content(table) == [("a", ts, "x", 1)]
    assert archived
    assert not any(one.action is Action.REPLACE_COMMIT for one in table.timeline.completed)
    assert table.verify() == []


@pytest.mark.parametrize("what", ["replaced", "rolled back"])
def test_deletions_are_on_disk_before_the_instants_are_archived(tmp_path: Path, what: str) -> None:
    keeps = {key: value for key, value in SERVICES.items() if key != "hudiformat.sync"}
    new_table(tmp_path / "t", options=keeps)
    storage = RecordingStorage(open_storage(tmp_path / "t"))
    table = open_table(storage, options=keeps, clock=Clock())
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    if what == "replaced":
        table.delete_partitions(["y"])
    else:
        table.rollback(table.insert(rows(("c", 1, "y", 1))))
    for ts in range(2, 14):
        table.upsert(rows(("a", ts, "x", 1)))
    synced = [number for number, one in enumerate(storage.requests) if str(one) == "sync_deletions y"]
    deleted = [number for number, one in enumerate(storage.requests) if one.kind == "delete" and one.path[:2] == "y/"]
    archived = [
        number for number, one in enumerate(storage.requests) if one.path.startswith(".hoodie/timeline/history")
    ]
    assert max(deleted) < max(synced) < max(archived)
