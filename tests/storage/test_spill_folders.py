"""Folders for what does not fit into memory."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import pytest

from hudiformat.storage.spill_folders import delete_spill_folder, find_old_spill_folders, spill_folder


@pytest.fixture(autouse=True)
def own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_a_folder_is_gone_after_its_block() -> None:
    with spill_folder() as folder:
        assert Path(folder).is_dir()
        assert list(find_old_spill_folders(seconds=60)) == []
    assert not Path(folder).exists()


def test_one_that_nobody_has_written_to_is_a_killed_processs(tmp_path: Path) -> None:
    with spill_folder() as killed, spill_folder() as used:
        (Path(used) / "rows-1").touch()
        for folder in (killed, used):
            os.utime(folder, (time.time() - 100,) * 2)
        assert list(find_old_spill_folders(seconds=60)) == [Path(killed)]
        delete_spill_folder(Path(killed))
        assert list(tmp_path.iterdir()) == [Path(used)]
        Path(killed).mkdir()
