"""Files that are taken away, and the list of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hudiformat import StorageError
from hudiformat.check.repair.repair_folder import LIST, REPAIRS, RepairFolder, note_built_indexes, unbuilt_indexes
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
    taken = RepairFolder(storage, "1")
    taken.move_file("a", "why")
    taken.copy_file("a", "why")
    assert taken.is_empty
    assert storage.list("") == []


def test_files_are_moved_and_copied_with_their_paths(storage: Storage) -> None:
    storage.create("x/a", b"1")
    storage.create("x/b", b"")
    taken = RepairFolder(storage, "1")
    taken.copy_file("x/a", "it is replaced")
    taken.move_file("x/a", "it is damaged")
    taken.move_file("x/b", "it is empty")
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
    RepairFolder(storage, "1").take_folder("f", "why")
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
        RepairFolder(storage, "1").copy_file("a", "why")
    assert storage.exists("a")


def test_what_is_owed_is_known_to_the_next_repair(storage: Storage) -> None:
    assert unbuilt_indexes(storage) == {}
    RepairFolder(storage, "1").note_unbuilt_indexes({"files": (), "column_stats": ("a",)})
    RepairFolder(storage, "2").note_unbuilt_indexes({})
    storage.create(f"{REPAIRS}/3/{LIST}", b"{")
    storage.create(f"{REPAIRS}/4/other", b"")
    assert unbuilt_indexes(storage) == {"1": {"files": [], "column_stats": ["a"]}}
    note_built_indexes(storage, "1")
    assert unbuilt_indexes(storage) == {}
