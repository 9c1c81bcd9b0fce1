"""Parquet files that are put together from chunks, or damaged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from hudiformat.codec.parquet.copying import RowGroupCopier
from hudiformat.codec.parquet.source import Chunk, ChunkField, FileField, GroupField, ParquetSource
from hudiformat.codec.parquet.thrift import Items, Kind, encode_struct
from tests.codec.log.memory_storage import MemoryStorage

_NUM_VALUES = 5
"""Of a column's metadata."""


def assembled(schema: ParquetSource, rows: int, chunks: Sequence[Chunk]) -> bytes:
    """A file with the schema of another, of one row group of *chunks*."""
    storage = MemoryStorage()
    with storage.open_new("all.parquet") as file:
        copier = RowGroupCopier(file)
        copier.assemble(schema, rows, chunks)
        copier.close()
    return storage.read("all.parquet")


def with_fewer_values(sound: bytes, column: int) -> bytes:
    """*sound* with another footer: the chunk of *column* in the first row group says that it has no values."""
    footer = ParquetSource.open(pa.BufferReader(sound), "file").footer
    path = (FileField.ROW_GROUPS, 0, GroupField.COLUMNS, column, ChunkField.METADATA, _NUM_VALUES)
    damaged = encode_struct(_with_zero(footer, path))
    end = len(sound) - 8 - int.from_bytes(sound[-8:-4], "little")
    return sound[:end] + damaged + len(damaged).to_bytes(4, "little") + b"PAR1"


def _with_zero(value: Any, path: tuple[int, ...]) -> Any:
    """A struct or list of structs with a zero at *path*: numbers of fields, and places in lists."""
    if not path:
        return 0
    step, *rest = path
    if isinstance(value, Items):
        changed = _with_zero(value.values[step], tuple(rest))
        return Items(Kind.STRUCT, (*value.values[:step], changed, *value.values[step + 1 :]))
    return {**value, step: replace(value[step], value=_with_zero(value[step].value, tuple(rest)))}
