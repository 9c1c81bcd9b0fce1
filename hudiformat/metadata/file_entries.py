"""What a record of the ``files`` partition says: names with sizes, or that they are gone.  Pure."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import fastavro

from hudiformat.errors import CorruptBlockError


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
