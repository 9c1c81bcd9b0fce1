"""Files that are taken away, and the list of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hudiformat import StorageError
from hudiformat.check.repair.taking_away import LIST, REPAIRS, TakenAway, owed_indexes, settle
from hudiformat.storage.local import LocalStorage
from hudiformat.storage.protocol import Storage
from tests.memory_files import memory_files


@pytest.fixture(params=["local", "like an object store"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    if request.param == "local":
        return LocalStorage(tmp_path)
    opened = memory_files()
    assert not opened.capabilities.rename
    return opened


def listed(storage: Storage, instant: str = "1") -> list[tuple[str, str, str, str]]:
    content = json.loads(storage.read(f"{REPAIRS}/{instant}/{LIST}"))
    return [(one["from"], one["to"], one["how"], one["why"]) for one in content["files"]]


def test_nothing_is_made_before_the_first_file(storage: Storage) -> None:
    taken = TakenAway(storage, "1")
    taken.take("a", "why")
    taken.keep("a", "why")
    assert taken.is_empty
    assert storage.list("") == []


def test_files_are_moved_and_copied_with_their_paths(storage: Storage) -> None:
    storage.create("x/a", b"1")
    storage.create("x/b", b"")
    taken = TakenAway(storage, "1")
    taken.keep("x/a", "it is replaced")
    taken.take("x/a", "it is damaged")
    taken.take("x/b", "it is empty")
    assert [entry.name for entry in storage.list("x")] == []
    assert listed(storage) == [
        ("x/a", f"{REPAIRS}/1/x/a", "copied", "it is replaced"),
        ("x/a", f"{REPAIRS}/1/x/a.2", "taken", "it is damaged"),
        ("x/b", f"{REPAIRS}/1/x/b", "taken", "it is empty"),
    ]
    assert [storage.read(to) for _, to, _, _ in listed(storage)] == [b"1", b"1", b""]


def test_folders_are_moved_whole(storage: Storage) -> None:
    storage.create("f/g/a", b"1")
    storage.create("f/b", b"2")
    TakenAway(storage, "1").take_folder("f", "why")
    assert storage.list("f") == []
    assert {source for source, *_ in listed(storage)} == {"f/g/a", "f/b"}
    assert storage.read(f"{REPAIRS}/1/f/g/a") == b"1"


def test_a_copy_that_differs_leaves_the_file(tmp_path: Path) -> None:
    class Changing(LocalStorage):
        def map(self, path: str) -> memoryview:
            return memoryview(b"other" if REPAIRS in path else b"bytes")

    storage = Changing(tmp_path)
    storage.create("a", b"bytes")
    with pytest.raises(StorageError, match="expected a copy of a, found other bytes"):
        TakenAway(storage, "1").keep("a", "why")
    assert storage.exists("a")


def test_what_is_owed_is_known_to_the_next_repair(storage: Storage) -> None:
    assert owed_indexes(storage) == {}
    TakenAway(storage, "1").owe({"files": (), "column_stats": ("a",)})
    TakenAway(storage, "2").owe({})
    storage.create(f"{REPAIRS}/3/{LIST}", b"{")
    storage.create(f"{REPAIRS}/4/other", b"")
    assert owed_indexes(storage) == {"1": {"files": [], "column_stats": ["a"]}}
    settle(storage, "1")
    assert owed_indexes(storage) == {}
