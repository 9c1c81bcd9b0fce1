"""A folder of a storage as a storage of its own; what every storage does is in test_protocol.py."""

from __future__ import annotations

from pathlib import Path

from hudiformat.storage.folder import FolderStorage
from hudiformat.storage.local import LocalStorage


def test_paths_lie_below_the_folder(tmp_path: Path) -> None:
    outer = LocalStorage(tmp_path)
    inner = FolderStorage(outer, ".hoodie/metadata")
    inner.create("files/a", b"1")
    assert outer.read(".hoodie/metadata/files/a") == b"1"
    assert inner.root == f"{tmp_path}/.hoodie/metadata"
    assert inner.capabilities == outer.capabilities


def test_the_empty_path_is_the_folder_itself(tmp_path: Path) -> None:
    outer = LocalStorage(tmp_path)
    inner = FolderStorage(outer, "inner")
    assert not inner.exists("")
    outer.create("inner/a", b"")
    assert [entry.name for entry in inner.list("")] == ["a"]
    assert inner.delete_folder("")
    assert not outer.exists("inner")
