"""What a record of the ``files`` partition says: names with sizes, or that they are gone.  Pure."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import fastavro

from hudiformat.errors import CorruptBlockError, EncodeError


class FileEntry(NamedTuple):
    """One name of a record: ``size`` in bytes, 0 for a partition.

    Source: HoodieMetadataFileInfo.
    """

    size: int
    is_deleted: bool


FileEntries = Mapping[str, FileEntry]
"""File names of a partition, or the partitions of the table."""


def decode_file_entries(value: bytes, schema: str) -> FileEntries:
    """The entries of a record, written with the Avro schema *schema* (JSON).

    Raises:
        CorruptBlockError: it is no HoodieMetadataRecord.
    """
    try:
        record: Any = fastavro.schemaless_reader(io.BytesIO(value), _parsed(schema), None)
        found = record["filesystemMetadata"] or {}
        return {name: FileEntry(entry["size"], entry["isDeleted"]) for name, entry in found.items()}
    except Exception as error:  # fastavro raises whatever the damage leads to, from EOFError to KeyError
        raise CorruptBlockError(f"expected a HoodieMetadataRecord, which it is not: {error!r}") from error


def encode_file_entries(entries: FileEntries, kind: int, schema: str) -> bytes:
    """A record of *entries*; *kind* is 1 for the list of partitions and 2 for a partition's files.

    The record's own key is left empty, for the HFile has it.

    Raises:
        EncodeError: *schema* is another record's.

    Source: HoodieMetadataPayload.getInsertValue.
    """
    found = {name: {"size": entries[name].size, "isDeleted": entries[name].is_deleted} for name in sorted(entries)}
    buffer = io.BytesIO()
    try:
        record = {"key": "", "type": kind, "filesystemMetadata": found}
        fastavro.schemaless_writer(buffer, _parsed(schema), record)
    except (ValueError, TypeError, KeyError) as error:
        raise EncodeError(f"expected the schema of a HoodieMetadataRecord: {error}") from error
    return buffer.getvalue()


def combine(older: FileEntries, newer: FileEntries) -> FileEntries:
    """What two records of one key say together.

    A name that is gone leaves nothing behind, except where nobody had named it: that stays known, for the older record
    that names it may come from elsewhere.  Of two sizes the larger counts.

    Source: HoodieTableMetadataUtil.combineFileSystemMetadata.
    """
    result = dict(older)
    for name, entry in newer.items():
        before = result.get(name)
        if before is None or (before.is_deleted and entry.is_deleted):
            result[name] = entry
        elif entry.is_deleted:
            del result[name]
        else:
            result[name] = FileEntry(max(before.size, entry.size), is_deleted=False)
    return result


@lru_cache(maxsize=16)
def _parsed(schema: str) -> Any:
    return fastavro.parse_schema(json.loads(schema))
