"""The ``.hoodie`` folders of the golden tables, unpacked once, and tables with numbered instants."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from hudiformat.timeline.table_config import TableType
from tests.timeline.support import Table

GOLDEN = Path(__file__).parents[1] / "golden"


def unpacked_table(archive: Path, target: Path) -> Path:
    """The folder of an archive's table, unpacked below *target*."""
    with zipfile.ZipFile(archive) as content:
        content.extractall(target, [name for name in content.namelist() if name.startswith("table/")])
    return target / "table"


@pytest.fixture(scope="session")
def golden_tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Each golden table by its name: a folder with ``table/.hoodie`` and ``manifest.json``."""
    root = tmp_path_factory.mktemp("golden")
    for archive in sorted(GOLDEN.glob("v*.zip")):
        with zipfile.ZipFile(archive) as content:
            wanted = [
                name for name in content.namelist() if name.startswith("table/.hoodie/") or name == "manifest.json"
            ]
            content.extractall(root / archive.stem, wanted)
    return {folder.name: folder for folder in sorted(root.iterdir())}


@pytest.fixture(scope="session")
def manifests(golden_tables: dict[str, Path]) -> dict[str, Any]:
    """What was done to each golden table, and what came out."""
    return {name: json.loads((folder / "manifest.json").read_text()) for name, folder in golden_tables.items()}


@pytest.fixture
def newest(tmp_path: Path) -> Table:
    return Table(tmp_path, 9, TableType.COPY_ON_WRITE)


@pytest.fixture
def oldest(tmp_path: Path) -> Table:
    return Table(tmp_path, 6, TableType.COPY_ON_WRITE)
