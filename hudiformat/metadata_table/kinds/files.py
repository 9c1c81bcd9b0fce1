"""The partition ``files``: the partitions of the table, and the files in each."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import pyarrow as pa

from hudiformat.metadata_table.changes import Change, KeyedRecords, Stored
from hudiformat.metadata_table.records import (
    FileEntries,
    FileEntry,
    decode_file_entries,
    encode_file_entries,
    merge_file_entries,
)
from hudiformat.naming.file_names import base_name

FILES = "files"
ALL_PARTITIONS = "__all_partitions__"
NO_PARTITION = "."
"""The record key of the only partition of a table without partitions."""

_DELETED, _LISTED = FileEntry(0, is_deleted=True), FileEntry(0, is_deleted=False)
_LIST, _FILES = 1, 2


@dataclass(frozen=True, slots=True)
class FilesKind:
    """File names with sizes; *schema* is the Avro schema of the metadata table's records, as JSON.

    Source: HoodieTableMetadataUtil.convertMetadataToFilesPartitionRecords.
    """

    schema: str

    @property
    def name(self) -> str:
        """See :attr:`IndexKind.name`."""
        return FILES

    @property
    def is_plain(self) -> bool:
        """See :attr:`IndexKind.is_plain`."""
        return False

    def records(self, change: Change) -> KeyedRecords:
        """Return the files that were created and deleted, and every partition that was written to, new or not."""
        entries = entries_of(change)
        return KeyedRecords.of({key: encode_entries(key, found, self.schema) for key, found in entries.items()})

    def part_to_hash(self, keys: pa.Array) -> pa.Array:
        """See :meth:`IndexKind.part_to_hash`."""
        return keys

    def merge(self, key: str, older: Stored, newer: Stored) -> Stored:
        """See :meth:`IndexKind.merge`."""
        merged = merge_file_entries(decode_file_entries(*older), decode_file_entries(*newer))
        return Stored(encode_entries(key, merged, self.schema), self.schema)

    def encode_base_record(self, key: str, record: Stored) -> bytes:
        """Return the record without deleted names, because there are no older records from which to remove them."""
        entries = decode_file_entries(*record)
        return encode_entries(
            key, {name: entry for name, entry in entries.items() if not entry.is_deleted}, self.schema
        )


def entries_of(change: Change) -> dict[str, FileEntries]:
    """Return the entries that a change adds, by record key."""
    records: defaultdict[str, dict[str, FileEntry]] = defaultdict(dict)
    partitions = {path or NO_PARTITION: _LISTED for path in change.written}
    partitions |= {path or NO_PARTITION: _DELETED for path in change.gone}
    for path, stats in change.written.items():
        written = [(stat.path or "", stat.file_size_in_bytes) for stat in stats]
        written += [logged for stat in stats for logged in (stat.cdc_stats or {}).items()]
        found = {base_name(name): FileEntry(size, is_deleted=False) for name, size in written if name}
        records[path or NO_PARTITION].update(found)
    for path, names in change.deleted.items():
        records[path or NO_PARTITION].update(dict.fromkeys(names, _DELETED))
    return {ALL_PARTITIONS: partitions, **records} if partitions or change.is_commit else dict(records)


def encode_entries(key: str, entries: FileEntries, schema: str) -> bytes:
    """Encode the record of *key*."""
    return encode_file_entries(entries, _LIST if key == ALL_PARTITIONS else _FILES, schema)
