"""What every storage does, be it folders, an object store or memory."""

from __future__ import annotations

import pickle
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from hudiformat.errors import StorageError
from hudiformat.storage import mapping
from hudiformat.storage.protocol import FileInfo, Storage


def test_a_listing_is_sorted_and_has_sizes_and_folders(storage: Storage) -> None:
    for path, data in {"b": b"12345", "a": b"", "c/d/file": b"x", "aa": b"1"}.items():
        storage.create(path, data)
    assert storage.list("") == [
        FileInfo("a", 0, False),
        FileInfo("aa", 1, False),
        FileInfo("b", 5, False),
        FileInfo("c", 0, True),
    ]
    assert storage.list("c") == [FileInfo("d", 0, True)]
    assert storage.list("c/d") == [FileInfo("file", 1, False)]


def test_a_listing_says_when_a_file_was_written(storage: Storage) -> None:
    storage.create("a", b"1")
    (found,) = storage.list("")
    assert found.modified is None or abs(time.time() * 1000 - found.modified) < 60_000


def test_a_listing_of_nothing_is_empty(storage: Storage) -> None:
    storage.create("file", b"")
    assert storage.list("missing") == []
    assert storage.list("fil") == []
    assert storage.list("file") == []


def test_a_listing_shows_what_was_written_after_the_one_before(storage: Storage) -> None:
    storage.create("a/1", b"")
    assert len(storage.list("a")) == 1
    storage.create("a/2", b"")
    storage.delete("a/1")
    assert [entry.name for entry in storage.list("a")] == ["2"]


def test_files_and_folders_exist_and_nothing_else_does(storage: Storage) -> None:
    storage.create("a/b/file", b"")
    found = [storage.exists(path) for path in ("a", "a/b", "a/b/file", "a/b/fil", "missing")]
    assert found == [True, True, True, False, False]


@pytest.mark.parametrize("content", [b"", b"content"])
def test_a_file_is_read_whole_mapped_or_in_ranges(storage: Storage, content: bytes) -> None:
    storage.create("a/file", content)
    assert storage.read("a/file") == content
    assert bytes(storage.map("a/file")) == content
    with storage.open_input("a/file") as file:
        assert file.size() == len(content)
        assert file.read_at(3, 0) == content[:3]


def test_a_file_of_several_ranges_is_mapped_as_one(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapping, "RANGE", 1000)
    content = bytes(range(256)) * 40  # eleven ranges, the last one shorter
    storage.create("file", content)
    assert bytes(storage.map("file")) == content


@pytest.mark.parametrize("call", ["read", "map", "open_input"])
def test_what_is_not_there_cannot_be_read(storage: Storage, call: str) -> None:
    with pytest.raises(StorageError, match="cannot read .*missing") as caught:
        getattr(storage, call)("a/missing")
    assert caught.value.path == f"{storage.root}/a/missing"


def test_creating_what_exists_is_refused_and_changes_nothing(storage: Storage) -> None:
    storage.create("a/file", b"first")
    with pytest.raises(StorageError, match="cannot create .*file: File exists") as caught:
        storage.create("a/file", b"second")
    assert caught.value.path == f"{storage.root}/a/file"
    assert storage.read("a/file") == b"first"
    assert storage.list("a") == [FileInfo("file", 5, False)]


def test_overwriting_replaces_the_content(storage: Storage) -> None:
    storage.create("a/file", b"first")
    storage.create("a/file", b"2", overwrite=True)
    assert storage.read("a/file") == b"2"
    assert storage.list("a") == [FileInfo("file", 1, False)]


def test_of_several_writers_exactly_one_creates_the_file_where_that_is_promised(storage: Storage) -> None:
    def create(number: int) -> bool:
        try:
            storage.create("file", b"%d" % number)
        except StorageError:
            return False
        return True

    for _ in range(5):
        with ThreadPoolExecutor(8) as pool:
            won = list(pool.map(create, range(8)))
        assert won[int(storage.read("file"))]
        assert sum(won) == 1 or not storage.capabilities.atomic_create
        storage.delete("file")


def test_a_new_file_takes_pieces_and_knows_its_size(storage: Storage) -> None:
    with storage.open_new("a/log") as file:
        file.write(b"one", memoryview(b"two"), b"")
        file.write()
        file.sync()
        file.write(memoryview(bytearray(16)).cast("q"))
        assert file.size == 22
    assert storage.list("a") == [FileInfo("log", 22, False)]
    assert storage.read("a/log") == b"onetwo" + bytes(16)


def test_a_new_file_is_empty_when_nothing_was_written(storage: Storage) -> None:
    storage.open_new("a/marker").close()
    assert storage.list("a") == [FileInfo("marker", 0, False)]


def test_a_new_file_where_there_is_one_is_refused(storage: Storage) -> None:
    storage.create("log", b"there")
    with pytest.raises(StorageError, match="cannot create .*log: File exists"):
        storage.open_new("log")
    assert storage.read("log") == b"there"


def test_a_closed_file_can_be_closed_again_and_no_longer_written(storage: Storage) -> None:
    file = storage.open_new("log")
    file.close()
    file.close()
    with pytest.raises(StorageError, match="cannot write .*log"):
        file.write(b"lost")
    with pytest.raises(StorageError, match="cannot sync .*log"):
        file.sync()


def test_a_file_takes_another_name_in_a_folder_that_is_made(storage: Storage) -> None:
    storage.create("staged/file", b"content")
    storage.rename("staged/file", "day=1/other")
    assert storage.read("day=1/other") == b"content"
    assert not storage.exists("staged/file")
    assert [entry.name for entry in storage.list("day=1")] == ["other"]


def test_a_name_that_is_taken_is_not_given_again(storage: Storage) -> None:
    storage.create("a", b"first")
    storage.create("b", b"second")
    with pytest.raises(StorageError, match="cannot rename .*a to .*b: File exists") as caught:
        storage.rename("a", "b")
    assert caught.value.path == f"{storage.root}/a"
    assert (storage.read("a"), storage.read("b")) == (b"first", b"second")


def test_what_is_not_there_is_not_renamed(storage: Storage) -> None:
    with pytest.raises(StorageError, match="cannot rename .*missing"):
        storage.rename("missing", "folder/name")
    assert not storage.exists("folder/name")


def test_a_folder_that_was_made_is_empty(storage: Storage) -> None:
    for _ in range(2):
        storage.make_folder("deep/folder")
    assert storage.list("deep/folder") == []
    storage.create("deep/folder/file", b"")
    assert storage.list("deep/folder") == [FileInfo("file", 0, is_dir=False)]


def test_files_and_folders_are_deleted_once(storage: Storage) -> None:
    storage.create("a/b/file", b"")
    storage.create("a/c", b"")
    assert [storage.delete("a/c"), storage.delete("a/c")] == [True, False]
    assert storage.exists("a/b/file")
    assert storage.delete_folder("a")
    assert not storage.exists("a/b/file")
    assert not storage.delete("missing")
    assert not storage.delete_folder("missing")


def test_a_file_is_no_folder_and_a_folder_no_file_when_it_comes_to_deleting(storage: Storage) -> None:
    storage.create("a/b.parquet/file", b"")
    with pytest.raises(StorageError, match="cannot delete .*b.parquet"):
        storage.delete("a/b.parquet")
    with pytest.raises(StorageError, match="cannot delete .*file"):
        storage.delete_folder("a/b.parquet/file")
    assert storage.exists("a/b.parquet/file")


def test_a_storage_survives_pickle(storage: Storage) -> None:
    storage.create("file", b"content")
    copy: Storage = pickle.loads(pickle.dumps(storage))
    assert (copy.root, copy.capabilities) == (storage.root, storage.capabilities)
    assert copy.read("file") == b"content"
    copy.create("other", b"")
    assert storage.exists("other")


def test_a_folder_with_content_stays_whoever_asks(storage: Storage) -> None:
    storage.create("a/b/file", b"1")
    assert not storage.delete_empty_folder("a")
    assert not storage.delete_empty_folder("a/b")
    assert not storage.delete_empty_folder("missing")
    assert not storage.delete_empty_folder("a/b/file")
    assert storage.read("a/b/file") == b"1"
    storage.delete("a/b/file")
    has_folders = storage.exists("a/b")
    if storage.delete_empty_folder("a/b"):
        assert has_folders
        assert not storage.exists("a/b")
        assert storage.delete_empty_folder("a")
    assert storage.list("a/b") == []


def test_deletions_are_synced_whether_the_folder_is_still_there_or_not(storage: Storage) -> None:
    storage.create("a/b/file", b"1")
    storage.delete("a/b/file")
    for folder in ("a/b", "a/missing", "missing", ""):
        storage.sync_deletions(folder)
    assert storage.list("a/b") == []


def test_no_method_takes_a_path_that_leads_out_of_the_root(storage: Storage) -> None:
    storage.create("file", b"1")
    for bad in ("..", "../file", "a/../../file", "/file", "a//file", "./file", "fi\0le", "fi\ud800le"):
        for call in (
            storage.list,
            storage.exists,
            storage.read,
            storage.map,
            storage.open_input,
            lambda path: storage.create(path, b""),
            lambda path: storage.create(path, b"", overwrite=True),
            storage.open_new,
            lambda path: storage.rename("file", path),
            lambda path: storage.rename(path, "other"),
            storage.make_folder,
            storage.delete,
        ):
            with pytest.raises(StorageError, match="refused the path"):
                call(bad)
    assert storage.read("file") == b"1"
