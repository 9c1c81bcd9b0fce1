"""Encode the records of a metadata table.  Pure."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import fastavro

from hudiformat.codec.avro.values import parse_value_schema
from hudiformat.errors import EncodeError, SchemaError

_NAMESPACE = "org.apache.hudi.avro.model"


def encode_record(number: int, field: str, name: str, content: Mapping[str, Any], schema: str) -> bytes:
    """Return the record of type *number* whose *field* is a record *name* with *content*, in the schema *schema*.

    The key field of the record is empty, because the HFile has the key.

    Raises:
        EncodeError: *schema* is not that of a HoodieMetadataRecord.

    Source: HoodieMetadataPayload.getInsertValue.
    """
    buffer = io.BytesIO()
    try:
        record = {"key": "", "type": number, field: (f"{_NAMESPACE}.{name}", dict(content))}
        fastavro.schemaless_writer(buffer, parse_value_schema(schema), record)
    except (SchemaError, ValueError, TypeError, KeyError) as error:
        raise EncodeError(f"expected the schema of a HoodieMetadataRecord: {error!r}") from error
    return buffer.getvalue()
