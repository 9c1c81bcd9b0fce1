"""The metadata tables that real Hudi wrote say what lies in the folders beside them."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from hudiformat.metadata import METADATA_FOLDER, listing
from hudiformat.storage import LocalStorage
from hudiformat.timeline import load_table_config, load_timeline
from hudiformat.view import Visibility, list_partitions
from tests.metadata.tables import data_files
from tests.table.golden import GOLDEN, NAMES, unpack


def has_metadata_table(name: str) -> bool:
    with zipfile.ZipFile(GOLDEN / f"{name}.zip") as archive:
        return any(path.startswith(f"table/{METADATA_FOLDER}/files/") for path in archive.namelist())


WITH_METADATA_TABLE = [name for name in NAMES if has_metadata_table(name)]


def test_tables_of_both_layouts_are_there() -> None:
    assert WITH_METADATA_TABLE == ["v6-cow-metadata-table-h0150", "v9-mor-metadata-table-h120"]


@pytest.mark.parametrize("name", WITH_METADATA_TABLE)
def test_the_listing_is_that_of_the_folders(name: str, tmp_path: Path) -> None:
    storage = LocalStorage(unpack(name, tmp_path).table)
    config = load_table_config(storage)
    timeline = load_timeline(storage, config)
    visibility = Visibility.of(timeline)
    expected = {path: data_files(files, visibility) for path, files in list_partitions(storage)}
    assert all(expected.values())
    found = listing(storage, config, timeline)
    assert dict(found) == expected
    assert found.partitions() == sorted(expected)
    assert {path: found.files(path) for path in expected} == expected
