"""The golden tables, unpacked one by one as they are asked for."""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

GOLDEN = Path(__file__).parents[1] / "golden"
NAMES = sorted(archive.stem for archive in GOLDEN.glob("v*.zip"))


@dataclass(frozen=True)
class GoldenTable:
    """A folder with ``table/``, ``manifest.json`` and ``expected/``."""

    root: Path

    @property
    def table(self) -> Path:
        return self.root / "table"

    @property
    def manifest(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads((self.root / "manifest.json").read_text())
        return content

    def answer(self, path: str) -> pa.Table:
        return pq.read_table(self.root / path)


def unpack(name: str, root: Path) -> GoldenTable:
    target = root / name
    if not target.exists():
        with zipfile.ZipFile(GOLDEN / f"{name}.zip") as archive:
            archive.extractall(target)
    return GoldenTable(target)


def base_files(name: str) -> dict[str, pq.ParquetFile]:
    """The base files of a golden table's data, by their path."""
    with zipfile.ZipFile(GOLDEN / f"{name}.zip") as archive:
        paths = [
            path
            for path in archive.namelist()
            if path.startswith("table/") and "/.hoodie" not in path and path.endswith(".parquet")
        ]
        return {path: pq.ParquetFile(pa.BufferReader(archive.read(path))) for path in paths}
