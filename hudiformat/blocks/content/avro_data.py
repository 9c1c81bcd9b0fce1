"""Content of an Avro data block: version, record count, then per record its length and its Avro binary.

Layout: spec/log-block.md; the records: spec/avro-records.md.  Source: HoodieAvroDataBlock.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudiformat.avro import avro_to_arrow, decode_records, decode_runs, encode_records, resolve
from hudiformat.errors import CorruptBlockError, SchemaError, TruncatedBlockError, UnsupportedVersionError
from hudiformat.wire import Cursor, int32, offsets_from

CONTENT_VERSION = 3
RECORD_LENGTH_SIZE = 4
"""Bytes of the length in front of each record."""

_READABLE = (1, 2, 3)
_PROLOGUE = np.dtype([("version", ">i4"), ("count", ">i4")])


def encode(batch: pa.RecordBatch, schema: str) -> bytes:
    """The content for *batch* under the Avro schema *schema* (JSON)."""
    return encode_records(batch, schema, head=int32(CONTENT_VERSION) + int32(batch.num_rows))


def decode(
    content: bytes | memoryview, written: str, *, schema: pa.Schema | None, columns: list[str] | None
) -> pa.RecordBatch:
    """The records of *content*, which were written with the Avro schema *written*.

    *columns* picks from *schema* where there is one, and else from what was written.

    Raises:
        DecodeError: the content is damaged.
        SchemaError: the records cannot be brought to *schema*, or there is no column of that name.
    """
    cursor = Cursor(memoryview(content))
    count = _prologue(cursor)
    with offsets_from(cursor.pos):
        return decode_framed(cursor.take(cursor.remaining), count, written, schema=schema, columns=columns)


def decode_framed(
    records: memoryview, count: int, written: str, *, schema: pa.Schema | None, columns: list[str] | None
) -> pa.RecordBatch:
    """As :func:`decode`, of the records alone, each behind its length."""
    return _brought(partial(decode_records, records, count, written), written, schema, columns)


def decode_many(
    contents: Sequence[bytes | memoryview], written: str, *, schema: pa.Schema | None, columns: list[str] | None
) -> pa.RecordBatch:
    """As :func:`decode`, of several contents that were written with one schema, at once: for many small ones.

    Raises:
        DecodeError: a content is damaged; which one is not said.
        SchemaError: the records cannot be brought to *schema*, or there is no column of that name.
    """
    data = b"".join(contents)
    ends = np.cumsum([len(content) for content in contents])
    starts = np.append(0, ends[:-1])
    if (ends - starts < _PROLOGUE.itemsize).any():
        raise TruncatedBlockError("a content without version and record count")
    every: npt.NDArray[Any] = np.ndarray((len(data) - 7,), f"V{_PROLOGUE.itemsize}", data, strides=(1,))
    prologues = every[starts].view(_PROLOGUE)
    if not np.isin(prologues["version"], _READABLE).all() or (prologues["count"] < 0).any():
        raise CorruptBlockError("a content of unknown version, or with a negative count")
    counts = prologues["count"].astype(np.int64)
    decode_all = partial(decode_runs, data, starts + _PROLOGUE.itemsize, ends, counts, written)
    return _brought(decode_all, written, schema, columns)


def _brought(
    decode_columns: Callable[..., pa.RecordBatch], written: str, schema: pa.Schema | None, columns: list[str] | None
) -> pa.RecordBatch:
    """What *decode_columns* makes of the columns that are needed, brought to *schema*."""
    if schema is None:
        return decode_columns(columns=columns)
    target = schema if columns is None else _selected(schema, columns)
    there = avro_to_arrow(written).names
    return resolve(decode_columns(columns=[name for name in dict.fromkeys(target.names) if name in there]), target)


def record_count(content: bytes | memoryview) -> int:
    """How many records *content* declares; the records are not touched."""
    return _prologue(Cursor(memoryview(content)))


def _selected(schema: pa.Schema, columns: list[str]) -> pa.Schema:
    for name in columns:
        if schema.get_field_index(name) < 0:
            raise SchemaError(f"column {name} is not in the schema, which has {schema.names}", column=name)
    return pa.schema([schema.field(name) for name in columns], metadata=schema.metadata)


def _prologue(cursor: Cursor) -> int:
    if (version := cursor.int32("content version")) not in _READABLE:
        raise UnsupportedVersionError(f"Avro data content of version {version}; known are 1 to {CONTENT_VERSION}")
    count = cursor.int32("record count")
    if not 0 <= count <= cursor.remaining // RECORD_LENGTH_SIZE:
        raise CorruptBlockError(f"{count} records are declared, in {cursor.remaining} bytes")
    return count
