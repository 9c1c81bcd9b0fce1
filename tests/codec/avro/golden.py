"""Blocks of golden tables, framed just well enough to take their content out."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

GOLDEN = Path(__file__).parents[2] / "golden"
DELETE, AVRO, CDC = 1, 3, 6
_SCHEMA = 2


@dataclass(frozen=True)
class GoldenBlock:
    """One block: its type, the schema in its header, its content."""

    type: int
    schema: str
    content: bytes


def golden_blocks(table: str) -> list[GoldenBlock]:
    """Every block of the data log files of a golden table."""
    archive = GOLDEN / f"{table}.zip"
    with zipfile.ZipFile(archive) as files:
        logs = [name for name in files.namelist() if ".log." in name and "/.hoodie/" not in name]
        return [block for name in sorted(logs) for block in _blocks(files.read(name))]


def _blocks(data: bytes) -> Iterator[GoldenBlock]:
    pos = 0
    while pos < len(data):
        assert data[pos : pos + 6] == b"#HUDI#"
        (length,) = struct.unpack_from(">q", data, pos + 6)
        kind, entries = struct.unpack_from(">4xii", data, pos + 14)
        cursor = pos + 26
        header = {}
        for _ in range(entries):
            key, size = struct.unpack_from(">ii", data, cursor)
            header[key] = data[cursor + 8 : cursor + 8 + size].decode()
            cursor += 8 + size
        (size,) = struct.unpack_from(">q", data, cursor)
        yield GoldenBlock(kind, header.get(_SCHEMA, ""), data[cursor + 8 : cursor + 8 + size])
        pos += 14 + length
