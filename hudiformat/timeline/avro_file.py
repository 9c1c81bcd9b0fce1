"""Avro object container files with one record, in which Hudi keeps the metadata and the plans of its timeline.

Written as Java writes them: no codec, one block, only the schema in the header.  Java's sync marker is random; here it
is a digest of the content, so that the same metadata gives the same file.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import fastavro

from hudiformat.avro.container import SCHEMA_KEY, encode_block_head, encode_header, sync_marker
from hudiformat.errors import CorruptTableError, EncodeError


def encode_avro_file(schema_text: str, schema: Any, record: Mapping[str, object]) -> bytes:
    """The bytes of a container that holds *record*; *schema* is *schema_text* as fastavro parses it.

    Raises:
        EncodeError: the record does not fit the schema.

    Source: TimelineMetadataUtils.convertMetadataToByteArray, Hudi 1.2.0; Avro 1.11's DataFileWriter.
    """
    buffer = io.BytesIO()
    try:
        fastavro.schemaless_writer(buffer, schema, record)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise EncodeError(f"metadata that does not fit Hudi's schema: {error}") from error
    data = buffer.getvalue()
    header = encode_header({SCHEMA_KEY: schema_text.encode()})
    block = encode_block_head(1, len(data)) + data
    sync = sync_marker(header, block)
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
