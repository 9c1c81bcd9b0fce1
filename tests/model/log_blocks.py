"""A parser of log files for the slow reader: as short and as plain as can be.  Nothing of hudiformat is used."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

MAGIC = b"#HUDI#"
COMMAND, DELETE, AVRO, HFILE, PARQUET, CDC = 0, 1, 3, 4, 5, 6
INSTANT, TARGET, SCHEMA, COMPACTED = 0, 1, 2, 4


@dataclass(frozen=True)
class Block:
    """A block of a log file."""

    kind: int
    header: dict[int, str]
    content: bytes

    @property
    def instant(self) -> str:
        return self.header.get(INSTANT, "")

    def records(self) -> list[dict[str, Any]]:
        """The rows of a data block."""
        if self.kind == PARQUET:
            rows: list[dict[str, Any]] = pq.read_table(pa.BufferReader(self.content)).to_pylist()
            return rows
        assert self.kind in (AVRO, CDC), self.kind
        schema = fastavro.parse_schema(json.loads(self.header[SCHEMA]))
        data = io.BytesIO(self.content)
        assert _int(data) == 3  # the version of the content
        found = []
        for _ in range(_int(data)):
            record = io.BytesIO(data.read(_int(data)))
            found.append(fastavro.schemaless_reader(record, schema, None))
        return found

    def deletes(self) -> list[tuple[str, str, int | None]]:
        """Record key, partition path and ordering value of each entry of a delete block; None for no value."""
        assert self.kind == DELETE
        data = io.BytesIO(self.content)
        assert _int(data) == 3
        data = io.BytesIO(data.read(_int(data)))
        found: list[tuple[str, str, int | None]] = []
        while (count := _varint(data)) != 0:
            found += [(_text(data), _text(data), _ordering(data)) for _ in range(count)]
        return found


def read_blocks(path: Path) -> list[Block]:
    """The blocks of a log file; whatever is wrong with it is an AssertionError."""
    data = io.BytesIO(path.read_bytes())
    found = []
    while (magic := data.read(len(MAGIC))) != b"":
        assert magic == MAGIC, f"{path} at {data.tell()}"
        size = _long(data)
        body = io.BytesIO(data.read(size))
        assert _int(body) == 1
        kind = _int(body)
        header = {}
        for _ in range(_int(body)):
            key = _int(body)
            header[key] = body.read(_int(body)).decode()
        content = body.read(_long(body))
        assert _int(body) == 0  # the footer
        assert _long(body) == size + len(MAGIC)
        assert body.tell() == size
        found.append(Block(kind, header, content))
    return found


def _int(data: io.BytesIO) -> int:
    return int.from_bytes(data.read(4), "big", signed=True)


def _long(data: io.BytesIO) -> int:
    return int.from_bytes(data.read(8), "big", signed=True)


def _varint(data: io.BytesIO) -> int:
    number, shift = 0, 0
    while True:
        byte = data.read(1)[0]
        number |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return (number >> 1) ^ -(number & 1)


def _text(data: io.BytesIO) -> str:
    return data.read(_varint(data)).decode() if _varint(data) == 1 else ""


def _ordering(data: io.BytesIO) -> int | None:
    branch = _varint(data)
    assert branch in (0, 2, 3), branch  # null, int, long
    value = None if branch == 0 else _varint(data)
    return None if branch == 2 and value == 0 else value
