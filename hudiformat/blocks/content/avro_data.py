"""Content of an Avro data block: version, record count, then per record its length and its Avro binary.

Layout: spec/log-block.md; the records: spec/avro-records.md.  Source: HoodieAvroDataBlock.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudiformat.avro import Records, avro_to_arrow, encode_records, find_records, find_runs, resolve
from hudiformat.avro.buffers import Longs
from hudiformat.blocks.wanted import Wanted, columns_of, rows_where, selected
from hudiformat.errors import CorruptBlockError, TruncatedBlockError, UnsupportedVersionError
from hudiformat.wire import Cursor, int32, offsets_from

CONTENT_VERSION = 3
RECORD_LENGTH_SIZE = 4
"""Bytes of the length in front of each record."""

_READABLE = (1, 2, 3)
_PROLOGUE = np.dtype([("version", ">i4"), ("count", ">i4")])


def encode(batch: pa.RecordBatch | pa.Table, schema: str) -> memoryview:
    """The content for *batch* under the Avro schema *schema* (JSON)."""
    return encode_records(batch, schema, head=int32(CONTENT_VERSION) + int32(batch.num_rows))


def decode(content: bytes | memoryview, written: str, wanted: Wanted) -> pa.RecordBatch:
    """The records of *content*, which were written with the Avro schema *written*.

    Raises:
        DecodeError: the content is damaged.
        SchemaError: the records cannot be brought to the schema that is wanted, or there is no such column.
    """
    cursor = Cursor(memoryview(content))
    count = _prologue(cursor)
    with offsets_from(cursor.pos):
        return decode_found(find_records(cursor.take(cursor.remaining), count, written), wanted)


def decode_parts(content: bytes | memoryview, written: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """As :func:`decode`, all records in batches of thousands, brought to *schema*.

    Raises:
        DecodeError, SchemaError: as :func:`decode`.
    """
    cursor = Cursor(memoryview(content))
    count = _prologue(cursor)
    there = avro_to_arrow(written).names
    with offsets_from(cursor.pos):
        found = find_records(cursor.take(cursor.remaining), count, written)
        for batch in found.decode_parts([name for name in schema.names if name in there]):
            yield resolve(batch, schema)


def decode_found(records: Records, wanted: Wanted) -> pa.RecordBatch:
    """What is wanted of *records*; of those that a filter leaves out only the columns that it looks at are decoded."""
    if wanted.filter is not None:
        condition = Wanted(wanted.schema, columns_of(wanted.filter, wanted.schema or avro_to_arrow(records.schema)))
        records = records.take(rows_where(wanted.filter, decode_found(records, condition)))
    if wanted.schema is None:
        return records.decode(wanted.columns)
    target = wanted.schema if wanted.columns is None else selected(wanted.schema, wanted.columns)
    there = avro_to_arrow(records.schema).names
    return resolve(records.decode([name for name in dict.fromkeys(target.names) if name in there]), target)


def decode_many(contents: Sequence[bytes | memoryview], written: str, wanted: Wanted) -> pa.RecordBatch:
    """As :func:`decode`, of several contents that were written with one schema, at once: for many small ones.

    Raises:
        DecodeError: a content is damaged; which one is not said.
        SchemaError: as :func:`decode`.
    """
    ends = np.cumsum([len(content) for content in contents])
    return decode_at(b"".join(contents), np.append(0, ends[:-1]), ends, written, wanted)


def decode_at(data: bytes | memoryview, starts: Longs, ends: Longs, written: str, wanted: Wanted) -> pa.RecordBatch:
    """As :func:`decode_many`, of contents that stand in *data*, less than 2 GiB apart."""
    sizes = ends - starts
    if (sizes < _PROLOGUE.itemsize).any():
        raise TruncatedBlockError("a content without version and record count")
    every: npt.NDArray[Any] = np.ndarray((len(data) - 7,), f"V{_PROLOGUE.itemsize}", data, strides=(1,))
    prologues = every[starts].view(_PROLOGUE)
    counts = prologues["count"].astype(np.int64)
    if not np.isin(prologues["version"], _READABLE).all() or ((counts < 0) | (counts > sizes)).any():
        raise CorruptBlockError("a content of unknown version, or with an impossible count")
    return decode_found(find_runs(data, starts + _PROLOGUE.itemsize, ends, counts, written), wanted)


def record_count(content: bytes | memoryview) -> int:
    """How many records *content* declares; the records are not touched."""
    return _prologue(Cursor(memoryview(content)))


def _prologue(cursor: Cursor) -> int:
    if (version := cursor.int32("content version")) not in _READABLE:
        raise UnsupportedVersionError(f"Avro data content of version {version}; known are 1 to {CONTENT_VERSION}")
    count = cursor.int32("record count")
    if not 0 <= count <= cursor.remaining // RECORD_LENGTH_SIZE:
        raise CorruptBlockError(f"{count} records are declared, in {cursor.remaining} bytes")
    return count
