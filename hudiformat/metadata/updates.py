"""The records that an action of a table adds to the ``files`` partition, and their bytes.  Pure.

Source: HoodieTableMetadataUtil.convertMetadataToFilesPartitionRecords, Hudi 1.2.0; spec/metadata-table.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa

from hudiformat.basefile import BloomFilter
from hudiformat.blocks import BlockHeader, BlockType, HeaderKey, LogBlock
from hudiformat.hfile import encode_hfile
from hudiformat.metadata.file_entries import FileEntries, FileEntry, encode_file_entries
from hudiformat.naming import base_name
from hudiformat.timeline import CleanMetadata, CommitMetadata

FILES = "files"
ALL_PARTITIONS = "__all_partitions__"
NO_PARTITION = "."
"""The record key of the only partition of a table without partitions."""

IndexRecords = Mapping[str, FileEntries]
"""Entries by record key: a partition path, NO_PARTITION or ALL_PARTITIONS."""

_DELETED = FileEntry(0, is_deleted=True)
_LIST, _FILES = 1, 2


def records_of_commit(metadata: CommitMetadata) -> IndexRecords:
    """Return the records of the files that a commit wrote; every partition that it wrote to is listed, new or not."""
    records: dict[str, FileEntries] = {}
    for path, stats in metadata.partition_to_write_stats.items():
        written = [(stat.path or "", stat.file_size_in_bytes) for stat in stats]
        written += [change for stat in stats for change in (stat.cdc_stats or {}).items()]
        records[path or NO_PARTITION] = {
            base_name(name): FileEntry(size, is_deleted=False) for name, size in written if name
        }
    return {ALL_PARTITIONS: dict.fromkeys(records, FileEntry(0, is_deleted=False)), **records}


def records_of_clean(metadata: CleanMetadata) -> IndexRecords:
    """Return the records of the files that a clean deleted."""
    deleted = {path: partition.delete_path_patterns for path, partition in metadata.partition_metadata.items()}
    return records_of_deleted(deleted, gone=())


def records_of_deleted(files: Mapping[str, Iterable[str]], *, gone: Iterable[str]) -> IndexRecords:
    """Return the records of deleted *files*, names by partition path, and of the deleted partitions *gone*."""
    records = {path or NO_PARTITION: dict.fromkeys(names, _DELETED) for path, names in files.items()}
    partitions = {path or NO_PARTITION: _DELETED for path in gone}
    return {ALL_PARTITIONS: partitions, **records} if partitions else records


def encode_log_block(records: IndexRecords, *, instant: str, schema: str) -> LogBlock:
    """Return the HFile block of a delta commit.

    *schema* is the Avro schema of the metadata table's records, with meta fields, as JSON.

    Raises:
        EncodeError: *schema* is not that of a HoodieMetadataRecord.
    """
    header = BlockHeader({HeaderKey.INSTANT_TIME: instant, HeaderKey.SCHEMA: schema})
    return LogBlock(BlockType.HFILE_DATA, header, _hfile(records, schema))


def encode_base_file(records: IndexRecords, *, schema: str) -> bytes:
    """Return the HFile of a compaction; deleted names are left out, because there are no older records to remove.

    Raises:
        EncodeError: *schema* is not that of a HoodieMetadataRecord.

    Source: HoodieAvroHFileWriter.
    """
    kept = {
        key: {name: entry for name, entry in entries.items() if not entry.is_deleted}
        for key, entries in records.items()
    }
    keys = sorted(kept, key=str.encode)
    info = {"bloomFilterTypeCode": b"SIMPLE", "minRecordKey": keys[0].encode(), "maxRecordKey": keys[-1].encode()}
    bloom = BloomFilter.of(pa.array(keys, pa.string())).serialize().encode()
    return _hfile(kept, schema, info=info, meta_blocks={"bloomFilter": bloom})


def _hfile(
    records: IndexRecords,
    schema: str,
    info: Mapping[str, bytes] | None = None,
    meta_blocks: Mapping[str, bytes] | None = None,
) -> bytes:
    keys = sorted(records, key=str.encode)
    values = [encode_file_entries(records[key], _LIST if key == ALL_PARTITIONS else _FILES, schema) for key in keys]
    return encode_hfile(
        pa.array([key.encode() for key in keys], pa.binary()),
        pa.array(values, pa.binary()),
        file_info={"schema": schema.encode(), **(info or {})},
        meta_blocks=meta_blocks,
    )
