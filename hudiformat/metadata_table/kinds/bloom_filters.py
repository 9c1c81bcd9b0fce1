"""The partition ``bloom_filters``: the bloom filter of the record keys of each base file."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from hudiformat.metadata_table.bloom_filters import BLOOM_FILTERS
from hudiformat.metadata_table.changes import Change, KeyedRecords, Stored
from hudiformat.metadata_table.index_keys import file_id, partition_id
from hudiformat.metadata_table.records import encode_record
from hudiformat.naming.file_names import base_name
from hudiformat.timeline.commit_metadata import IndexedFile

_NUMBER, _FIELD, _NAME = 4, "BloomFilterMetadata", "HoodieMetadataBloomFilter"


@dataclass(frozen=True, slots=True)
class BloomFiltersKind:
    """Bloom filters; *schema* is the Avro schema of the metadata table's records, as JSON.

    Source: HoodieTableMetadataUtil.convertMetadataToBloomFilterRecords.
    """

    schema: str

    @property
    def name(self) -> str:
        """See :attr:`IndexKind.name`."""
        return BLOOM_FILTERS

    @property
    def is_plain(self) -> bool:
        """See :attr:`IndexKind.is_plain`."""
        return True

    def records(self, change: Change) -> KeyedRecords:
        """Return the filters of the base files that were written, and drop those of deleted files."""
        written = {
            f"{partition_id(path)}{file_id(base_name(stat.path))}": self._encode(stat.indexed, change.time)
            for path, stats in change.written.items()
            for stat in stats
            if stat.path and stat.indexed is not None and stat.indexed.bloom_filter is not None
        }
        dropped = [
            f"{partition_id(path)}{file_id(name)}"
            for path, names in change.deleted.items()
            for name in names
            if not name.startswith(".")
        ]
        return KeyedRecords.of(written, dropped)

    def part_to_hash(self, keys: pa.Array) -> pa.Array:
        """See :meth:`IndexKind.part_to_hash`."""
        return keys

    def merge(self, _key: str, _older: Stored, newer: Stored) -> Stored:
        """See :meth:`IndexKind.merge`."""
        return newer

    def encode_base_record(self, _key: str, record: Stored) -> bytes:
        """See :meth:`IndexKind.encode_base_record`."""
        return record.value

    def _encode(self, indexed: IndexedFile, time: str) -> bytes:
        text = (indexed.bloom_filter or "").encode()
        fields = {"type": indexed.bloom_type, "timestamp": time, "bloomFilter": text, "isDeleted": False}
        return encode_record(_NUMBER, _FIELD, _NAME, fields, self.schema)
