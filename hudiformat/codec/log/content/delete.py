"""Content of a delete block: version, length, then one Avro list of deletes.

Layout: spec/log-block.md; the list: spec/avro-records.md.  Source: HoodieDeleteBlock.
"""

from __future__ import annotations

import pyarrow as pa

from hudiformat.codec.avro.delete_list import decode_delete_list, encode_delete_list
from hudiformat.codec.log.content import kryo
from hudiformat.codec.log.content.java_values import to_batch
from hudiformat.errors import CorruptBlockError, UnsupportedVersionError
from hudiformat.wire import Cursor, int32, shift_error_offsets

CONTENT_VERSION = 3
_KRYO = {1: kryo.decode_keys, 2: kryo.decode_deletes}


def encode(record_keys: pa.Array, partition_paths: pa.Array | str, ordering: pa.Array | None) -> bytes:
    """Return the content for these deletes; a delete without an ordering value wins over every earlier record."""
    payload = encode_delete_list(record_keys, partition_paths, ordering)
    return b"".join((int32(CONTENT_VERSION), int32(len(payload)), payload))


def decode(content: bytes | memoryview) -> pa.RecordBatch:
    """Return the deletes of *content* as a batch of record keys, partition paths and ordering values.

    Raises:
        DecodeError: the content is damaged.
        UnsupportedFeatureError: an ordering value of an unknown Java class, in versions 1 and 2.
    """
    cursor = Cursor(memoryview(content))
    version = cursor.int32("content version")
    if version != CONTENT_VERSION and version not in _KRYO:
        raise UnsupportedVersionError(f"delete content of version {version}; known are 1 to {CONTENT_VERSION}")
    payload = cursor.take(cursor.int32("delete list length"), "delete list")
    if cursor.remaining:
        raise CorruptBlockError(f"{cursor.remaining} bytes after the delete list")
    with shift_error_offsets(cursor.pos - len(payload)):
        return decode_delete_list(payload) if version == CONTENT_VERSION else to_batch(_KRYO[version](payload))
