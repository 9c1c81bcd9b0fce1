from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tests.tables import GOLDEN, no_waiting_for_the_disk

__all__ = ["no_waiting_for_the_disk"]


@pytest.fixture(scope="package")
def golden_flink(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with buckets that Flink wrote, whose properties do not name them."""
    folder = tmp_path_factory.mktemp("flink")
    with zipfile.ZipFile(GOLDEN / "flink" / "f-v6-mor-bucket-compacted.zip") as archive:
        archive.extractall(folder)
    properties = min(folder.rglob("hoodie.properties"), key=lambda one: len(str(one)))
    return properties.parent.parent
