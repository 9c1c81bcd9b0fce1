"""Streams for tests: rows, tasks that write them, and what is visible afterwards."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

from hudiformat.sink import SinkOptions, TaskCommit, TaskWriter
from hudiformat.storage.protocol import Storage

SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.string()), ("text", pa.string())])


def rows(ids: Sequence[int], day: str = "1") -> pa.RecordBatch:
    columns = {"id": list(ids), "day": [day] * len(ids), "text": [f"row {i}" for i in ids]}
    return pa.RecordBatch.from_pydict(columns, schema=SCHEMA)


def write(
    storage: Storage,
    batch: int,
    *tasks: Sequence[pa.RecordBatch],
    options: SinkOptions | None = None,
    watermark: int | None = None,
    **more: Any,
) -> list[TaskCommit]:
    """The messages of a batch whose task i has written ``tasks[i]``."""
    messages = []
    for number, batches in enumerate(tasks):
        given = {"partition_by": ["day"], "options": options, **more}
        with TaskWriter(storage, SCHEMA, batch=batch, task=number, tasks=len(tasks), **given) as writer:
            for data in batches:
                writer.write(data)
            messages.append(writer.finish(watermark))
    return messages


def files(storage: Storage, folder: str = "") -> Iterator[str]:
    """All files, hidden ones too."""
    for entry in storage.list(folder):
        path = f"{folder}/{entry.name}" if folder else entry.name
        if entry.is_dir:
            yield from files(storage, path)
        else:
            yield path


def visible(storage: Storage) -> list[str]:
    """The files that readers of plain files see."""
    return [path for path in files(storage) if not any(part[0] in "._" for part in path.split("/"))]


def read(storage: Storage, path: str) -> pa.Table:
    """A file's rows; those of Avro files by fastavro."""
    with storage.open_input(path) as file:
        if ".avro" not in path:
            return pq.ParquetFile(file).read()
        return pa.Table.from_pylist([dict(row) for row in fastavro.reader(file) if isinstance(row, dict)])


def ids(storage: Storage) -> list[int]:
    """The ids of all visible rows, file by file."""
    found: list[int] = []
    for path in visible(storage):
        found += read(storage, path)["id"].to_pylist()
    return found


def noise(count: int, seed: int = 0) -> pa.RecordBatch:
    """Rows of a thousand bytes that do not compress."""
    chance = random.Random(seed)
    texts = [chance.randbytes(500).hex() for _ in range(count)]
    return pa.RecordBatch.from_pydict({"id": list(range(count)), "day": ["1"] * count, "text": texts}, schema=SCHEMA)
