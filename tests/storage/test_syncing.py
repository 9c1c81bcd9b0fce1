from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hudiformat.storage import LocalStorage, local, syncing


def note_synced(monkeypatch: pytest.MonkeyPatch, synced: list[Path]) -> None:
    """Have the folders that are synced noted, and not synced."""
    monkeypatch.setattr(local, "sync_folder", synced.append)
    monkeypatch.setattr(syncing, "sync_folder", synced.append)


@pytest.mark.parametrize("way", ["create", "open_new", "rename"])
def test_the_folders_above_a_new_file_are_synced_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    storage = LocalStorage(tmp_path / "table")
    synced: list[Path] = []
    note_synced(monkeypatch, synced)
    storage.create("file", b"", sync=False)
    if way == "create":
        storage.create("a/b/file", b"")
    elif way == "rename":
        storage.rename("file", "a/b/file")
    else:
        with storage.open_new("a/b/file") as file:
            file.sync()
    above = [tmp_path / "table/a/b", tmp_path / "table/a", tmp_path / "table", tmp_path]
    assert [folder for folder in above if folder not in synced] == []
    synced.clear()
    storage.create("a/b/other", b"")
    assert synced == [tmp_path / "table/a/b"]  # those above are known to be on disk
    storage.delete_folder("a")
    synced.clear()
    storage.create("a/b/file", b"")
    assert tmp_path / "table" in synced


def test_folders_that_somebody_else_has_deleted_are_synced_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = LocalStorage(tmp_path / "table")
    storage.create("a/b/file", b"")
    shutil.rmtree(tmp_path / "table/a")
    synced: list[Path] = []
    note_synced(monkeypatch, synced)
    storage.create("a/b/file", b"")
    assert synced == [tmp_path / "table/a/b", tmp_path / "table/a", tmp_path / "table"]


def test_folders_whose_sync_failed_are_synced_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    failing = [tmp_path]
    synced: list[Path] = []

    def sync(folder: Path) -> None:
        if folder in failing:
            raise OSError(5, "input/output error")
        synced.append(folder)

    monkeypatch.setattr(syncing, "sync_folder", sync)
    with pytest.raises(OSError, match="input/output error"):
        syncing.sync_entry(tmp_path / "a/b/file", tmp_path)
    failing.clear()
    synced.clear()
    syncing.sync_entry(tmp_path / "a/b/file", tmp_path)
    assert synced == [tmp_path / "a/b", tmp_path / "a", tmp_path]


def test_forgetting_what_was_never_synced_does_nothing(tmp_path: Path) -> None:
    syncing.forget_synced(tmp_path / "nowhere/at/all")
