"""Avro object container files with one record: what Hudi keeps its timeline's metadata and plans in.

Written as Java writes them: no codec, one block, only the schema in the header.  Java draws the sync marker at random;
here it is a digest of the content, so that the same metadata gives the same file.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from typing import Any

import fastavro

from hudiformat.errors import CorruptTableError, EncodeError

AVRO_MAGIC = b"Obj\x01"
_SYNC_SIZE = 16

_HEADER = fastavro.parse_schema(
    {
        "type": "record",
        "name": "Header",
        "fields": [
            {"name": "magic", "type": {"type": "fixed", "name": "Magic", "size": len(AVRO_MAGIC)}},
            {"name": "meta", "type": {"type": "map", "values": "bytes"}},
        ],
    }
)
_BLOCK = fastavro.parse_schema(
    {
        "type": "record",
        "name": "Block",
        "fields": [{"name": "count", "type": "long"}, {"name": "data", "type": "bytes"}],
    }
)


def encode_avro_file(schema_text: str, schema: Any, record: Mapping[str, object]) -> bytes:
    """The bytes of a container that holds *record*; *schema* is *schema_text* as fastavro parses it.

    Raises:
        EncodeError: the record does not fit the schema.

    Source: TimelineMetadataUtils.convertMetadataToByteArray, Hudi 1.2.0; Avro 1.11's DataFileWriter.
    """
    try:
        data = _encode(schema, record)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise EncodeError(f"metadata that does not fit Hudi's schema: {error}") from error
    header = _encode(_HEADER, {"magic": AVRO_MAGIC, "meta": {"avro.schema": schema_text.encode()}})
    block = _encode(_BLOCK, {"count": 1, "data": data})
    sync = hashlib.sha256(header + block).digest()[:_SYNC_SIZE]
    return header + sync + block + sync


def decode_avro_file(data: bytes, *, path: str) -> dict[str, Any]:
    """The first record of a container.

    Raises:
        CorruptTableError: not a container, damaged, or without a record; *path* is named.
    """
    try:
        record = next(iter(fastavro.reader(io.BytesIO(data))), None)
    except Exception as error:  # fastavro raises whatever the damage leads to, from EOFError to KeyError
        raise CorruptTableError(f"{path}: expected an Avro file, which it is not: {error!r}", path=path) from error
    if not isinstance(record, dict):
        raise CorruptTableError(
            f"{path}: expected an Avro file with a record, found {type(record).__name__}", path=path
        )
    return record


def _encode(schema: Any, value: object) -> bytes:
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, schema, value)
    return buffer.getvalue()
