"""Encode the records of a metadata table, and those of the ``files`` partition: names with sizes, or deleted.  Pure."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any, NamedTuple

import fastavro

from hudiformat.codec.avro.values import decode_value, parse_value_schema
from hudiformat.errors import CorruptBlockError, DecodeError, EncodeError, SchemaError

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


class FileEntry(NamedTuple):
    """The entry of a name in a record: a file's ``size`` in bytes, 0 for a partition, or that it ``is_deleted``.

    Source: HoodieMetadataFileInfo.
    """

    size: int
    is_deleted: bool


FileEntries = Mapping[str, FileEntry]
"""The entries of a record by name: of the files of a partition, or of the partitions of the table."""


def decode_file_entries(value: bytes, schema: str) -> FileEntries:
    """Decode the entries of a record that was written with the Avro schema *schema* (JSON).

    Raises:
        CorruptBlockError: the record is not a HoodieMetadataRecord.
    """
    try:
        record: Any = decode_value(value, parse_value_schema(schema))
        entries = record["filesystemMetadata"] or {}
        return {name: FileEntry(int(entry["size"]), bool(entry["isDeleted"])) for name, entry in entries.items()}
    except (DecodeError, SchemaError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise CorruptBlockError(
            f"expected a HoodieMetadataRecord, but the record cannot be decoded: {error!r}"
        ) from error


def encode_file_entries(entries: FileEntries, kind: int, schema: str) -> bytes:
    """Encode a record of *entries*; *kind* is 1 for the list of partitions and 2 for the files of a partition.

    The key field of the record is empty, because the HFile has the key.

    Raises:
        EncodeError: *schema* is not that of a HoodieMetadataRecord.

    Source: HoodieMetadataPayload.getInsertValue.
    """
    fields = {name: {"size": entries[name].size, "isDeleted": entries[name].is_deleted} for name in sorted(entries)}
    buffer = io.BytesIO()
    try:
        record = {"key": "", "type": kind, "filesystemMetadata": fields}
        fastavro.schemaless_writer(buffer, parse_value_schema(schema), record)
    except (SchemaError, ValueError, TypeError, KeyError) as error:
        raise EncodeError(f"expected the schema of a HoodieMetadataRecord: {error}") from error
    return buffer.getvalue()


def merge_file_entries(older: FileEntries, newer: FileEntries) -> FileEntries:
    """Merge two records with the same key.

    A deleted name is removed if the older record has it.  If not, its deletion is kept, because a record that is older
    still may have it.  Of two sizes the larger one is used::

        older: a 5 bytes, b 5 bytes     newer: a 7 bytes, b deleted, c deleted     merged: a 7 bytes, c deleted

    Source: HoodieTableMetadataUtil.combineFileSystemMetadata.
    """
    result = dict(older)
    for name, entry in newer.items():
        previous = result.get(name)
        if previous is None or (previous.is_deleted and entry.is_deleted):
            result[name] = entry
        elif entry.is_deleted:
            del result[name]
        else:
            result[name] = FileEntry(max(previous.size, entry.size), is_deleted=False)
    return result
