"""What killed processes leave besides data files."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import pytest

from hudiformat import Table
from hudiformat.services.leftovers import OLD, temporary_files
from hudiformat.storage.local import LocalStorage
from hudiformat.storage.protocol import Capabilities
from tests.tables import content, rows


def left_behind(table: Table) -> list[Path]:
    """Temporary files where processes make them."""
    root = Path(table.path)
    folders = (root / ".hoodie", root / ".hoodie" / "timeline", root / "x")
    found = [folder / f".hudiformat-{number}" for number, folder in enumerate(folders)]
    for path in found:
        path.write_text("half")
    return found


def grow_old(path: Path) -> None:
    os.utime(path, (time.time() - OLD - 60,) * 2)


def test_they_are_reported_and_a_clean_deletes_them_when_they_are_old(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spilled = tmp_path / "hudiformat-spill-1"
    spilled.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    table.insert(rows(("a", 1, "x", 1)))
    left = left_behind(table)
    assert table.verify() == []  # somebody may be writing them
    for path in (*left, spilled):
        grow_old(path)
    assert sorted(finding.path for finding in table.verify()) == sorted(
        [*(str(path.relative_to(table.path)) for path in left), str(spilled)]
    )
    assert {finding.kind.value for finding in table.verify()} == {"orphan"}
    table.clean()
    assert table.verify() == []
    assert not any(path.exists() for path in (*left, spilled))
    assert content(table) == [("a", 1, "x", 1)]


def test_an_object_store_has_none(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    table.insert(rows(("a", 1, "x", 1)))
    left_behind(table)
    assert len(list(temporary_files(LocalStorage(table.path)))) == 3
    monkeypatch.setattr(LocalStorage, "capabilities", Capabilities(atomic_create=True))
    assert list(temporary_files(LocalStorage(table.path))) == []
