"""Content of an Avro data block: version, record count, then per record its length and its Avro binary.

Layout: spec/log-block.md; the records: spec/avro-records.md.  Source: HoodieAvroDataBlock.
"""

from __future__ import annotations

import pyarrow as pa

from hudiformat.avro import decode_records, encode_records, resolve
from hudiformat.errors import UnsupportedVersionError
from hudiformat.wire import Cursor, int32

CONTENT_VERSION = 3
_READABLE = (1, 2, 3)


def encode(batch: pa.RecordBatch, schema: str) -> bytes:
    """The content for *batch* under the Avro schema *schema* (JSON)."""
    return b"".join((int32(CONTENT_VERSION), int32(batch.num_rows), encode_records(batch, schema)))


def decode(
    content: bytes | memoryview, written: str, *, schema: pa.Schema | None, columns: list[str] | None
) -> pa.RecordBatch:
    """The records of *content*, which were written with the Avro schema *written*.

    Raises:
        DecodeError: the content is damaged.
        SchemaError: the records cannot be brought to *schema*.
    """
    cursor = Cursor(memoryview(content))
    count = _prologue(cursor)
    batch = decode_records(cursor.take(cursor.remaining), count, written, columns=columns)
    return batch if schema is None else resolve(batch, schema)


def record_count(content: bytes | memoryview) -> int:
    """How many records *content* declares; the records are not touched."""
    return _prologue(Cursor(memoryview(content)))


def _prologue(cursor: Cursor) -> int:
    if (version := cursor.int32("content version")) not in _READABLE:
        raise UnsupportedVersionError(f"Avro data content of version {version}; known are 1 to {CONTENT_VERSION}")
    return cursor.int32("record count")
