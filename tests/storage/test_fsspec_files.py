"""Listings of file systems of fsspec, whatever their ``find`` says, and their errors and times."""

from __future__ import annotations

# ruff: noqa: FBT002 - the signatures are those of fsspec
import uuid
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.memory import MemoryFileSystem
from pyarrow import fs

from hudiformat.errors import HudiFormatWarning, StorageError
from hudiformat.storage.opening import open_storage
from hudiformat.storage.protocol import Capabilities, Storage

MOMENT = 1_700_000_000_500


class FlatFiles(MemoryFileSystem):  # type: ignore[misc]  # fsspec has no types
    """As adlfs: ``find`` gives the files of all subfolders, and errors are its own."""

    cachable = False
    protocol = "abfs"

    def find(self, path: str, maxdepth: int | None = None, withdirs: bool = False, **options: Any) -> Any:
        return super().find(path, maxdepth=None, withdirs=False, **options)

    def _open(self, path: str, mode: str = "rb", **options: Any) -> Any:
        if path.endswith("strange") and mode == "rb":
            raise RuntimeError("ResourceNotFound")
        return super()._open(path, mode=mode, **options)


def with_time(name: str, value: object) -> Storage:
    class TimedFiles(MemoryFileSystem):  # type: ignore[misc]  # fsspec has no types
        cachable = False

        def ls(self, path: str, detail: bool = True, **options: Any) -> Any:
            return [
                {key: found for key, found in entry.items() if key != "created"} | {name: value}
                for entry in super().ls(path, detail=True, **options)
            ]

    storage = open_storage(f"/{uuid.uuid4()}", filesystem=TimedFiles())
    storage.create("file", b"")
    return storage


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_listing_has_one_folder_whatever_find_says(wrapped: bool) -> None:
    files = FlatFiles()
    opened = fs.PyFileSystem(fs.FSSpecHandler(files)) if wrapped else files
    storage = open_storage(f"/{uuid.uuid4()}", filesystem=opened)
    storage.create("x/deep/file", b"1")
    storage.create("top", b"1")
    assert [(entry.name, entry.is_dir) for entry in storage.list("")] == [("top", False), ("x", True)]
    assert [(entry.name, entry.is_dir) for entry in storage.list("x")] == [("deep", True)]


def test_errors_of_a_file_system_are_errors_of_the_storage() -> None:
    storage = open_storage(f"/{uuid.uuid4()}", filesystem=FlatFiles())
    storage.create("strange", b"1")
    with pytest.raises(StorageError, match="cannot read .*strange: ResourceNotFound"):
        storage.read("strange")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mtime", MOMENT / 1000),
        ("modification_time", MOMENT),
        ("last_modified", datetime.fromtimestamp(MOMENT / 1000, timezone.utc)),
        ("LastModified", datetime.fromtimestamp(MOMENT / 1000, timezone.utc)),
        ("updated", "2023-11-14T22:13:20.500Z"),
    ],
)
def test_the_time_of_a_file_is_found_by_any_of_its_names(name: str, value: object) -> None:
    (entry,) = with_time(name, value).list("")
    assert entry.modified == MOMENT


@pytest.mark.parametrize("value", [None, "yesterday", 0, True])
def test_a_time_that_is_none_is_not_known(value: object) -> None:
    (entry,) = with_time("mtime", value).list("")
    assert entry.modified is None


def test_a_capability_that_a_file_system_cannot_have_is_not_believed() -> None:
    class LooksFirst(MemoryFileSystem):  # type: ignore[misc]  # fsspec has no types
        protocol = "looks"

    with pytest.warns(HudiFormatWarning, match="atomic_create=True of capabilities= does not hold"):
        storage = open_storage("/a", filesystem=LooksFirst(), capabilities=Capabilities(atomic_create=True))
    assert storage.capabilities == Capabilities()


class KeepingFiles(FlatFiles):
    """As adlfs: whether a file is there, the listing of its folder says if it was kept."""

    def ls(self, path: str, detail: bool = True, **options: Any) -> Any:
        folder = path.rstrip("/")
        if folder not in self.dircache:
            found = super().ls(path, detail=True, **options)
            self.dircache[folder] = found
            return found
        return self.dircache[folder]

    def info(self, path: str, **options: Any) -> Any:
        self._ls_from_cache(path)  # raises if the listing of the folder was kept and lacks the file
        return super().info(path, **options)


def test_no_listing_is_kept_that_another_thread_may_have_got_before(tmp_path: Path) -> None:
    storage, behind = (open_storage(str(tmp_path), filesystem=KeepingFiles()) for _ in range(2))
    assert storage.list("") == []
    behind.create("a", b"1")
    storage.list("")
    behind.create("lock", b"1")
    assert storage.exists("lock")
    assert storage.read("lock") == b"1"
