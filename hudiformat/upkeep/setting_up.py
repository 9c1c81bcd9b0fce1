"""Setting up the metadata table of a table that has no commit yet, as Hudi does before its first one.

Source: HoodieBackedTableMetadataWriter.initializeFromFilesystem and initializeFileGroups, Hudi 1.2.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone

import pyarrow as pa

from hudiformat.blocks import delete_block
from hudiformat.logfile import LogWriter
from hudiformat.metadata import (
    ALWAYS_INDEXED,
    BLOOM_FILTERS,
    COLUMN_STATS,
    DEFINITIONS_FILE,
    DEFINITIONS_KEY,
    FILES,
    METADATA_FOLDER,
    PARTITION_STATS,
    RECORD_INDEX,
    Change,
    FilesKind,
    IndexDefinition,
    default_columns,
    encode_base_file,
    encode_definitions,
    has_value_types,
)
from hudiformat.naming import BaseFileName, LogFileName, WriteToken, next_instant
from hudiformat.options import WriteOptions
from hudiformat.storage import FolderStorage, Storage
from hudiformat.table import Clock, TableSchema
from hudiformat.timeline import (
    PROPERTIES_FILE,
    Action,
    CommitMetadata,
    TableConfig,
    WriteStat,
    begin_instant,
    complete,
    format_properties,
    format_table_config,
    metadata_record_schema,
    parse_table_config,
)
from hudiformat.view import PARTITION_METADATA_FILE

_ALWAYS = {
    "hoodie.table.type": "MERGE_ON_READ",
    "hoodie.table.base.file.format": "HFILE",
    "hoodie.table.keygenerator.type": "HOODIE_TABLE_METADATA",
    "hoodie.table.recordkey.fields": "key",
    "hoodie.populate.meta.fields": "false",
    "hoodie.datasource.write.drop.partition.columns": "false",
    "hoodie.compaction.payload.class": "org.apache.hudi.metadata.HoodieMetadataPayload",
    "hoodie.record.merge.mode": "CUSTOM",
    "hoodie.record.merge.strategy.id": "00000000-0000-0000-0000-000000000000",
    "hoodie.timeline.path": "timeline",
    "hoodie.timeline.history.path": "history",
    "hoodie.archivelog.folder": "history",
}
_BULK_INSERT = "BULK_INSERT_PREPPED"
_TOKEN = str(WriteToken(0, 0, 0))
_V1, _V2 = "V1", "V2"


@dataclass(frozen=True, slots=True)
class NewPartition:
    """A partition that is to be set up: its name, and the ids of its file groups."""

    name: str
    file_ids: tuple[str, ...]

    @classmethod
    def of(cls, name: str, prefix: str, count: int) -> NewPartition:
        """*count* file groups whose ids begin with *prefix*.

        Source: HoodieTableMetadataUtil.getFileIDForFileGroup.
        """
        return cls(name, tuple(f"{prefix}-{number:04d}-0" for number in range(count)))


def set_up_metadata_table(
    storage: Storage, config: TableConfig, options: WriteOptions, schema: TableSchema, clock: Clock
) -> dict[str, str]:
    """Make the metadata table of the new table *config*; the properties that the table gets for it.

    What an earlier attempt has left is deleted first.
    """
    storage.delete_folder(METADATA_FOLDER)
    own = FolderStorage(storage, METADATA_FOLDER)
    own_config = _own_config(config)
    own.make_folder(own_config.history_folder)
    own.create(PROPERTIES_FILE, format_table_config(own_config, saved_at=datetime.now(timezone.utc)))
    avro = TableSchema(metadata_record_schema())
    partitions = list(_partitions(config, options))
    for number, partition in enumerate(partitions):
        _set_up(own, own_config, partition, avro, time=f"{number:017d}", clock=clock)
    properties = {"hoodie.table.metadata.partitions": ",".join(sorted(one.name for one in partitions))}
    definitions = {one.name: one for one in _definitions(config, options, schema)}
    if definitions:
        storage.create(DEFINITIONS_FILE, encode_definitions(definitions), overwrite=True)
        properties[DEFINITIONS_KEY] = DEFINITIONS_FILE
    return properties


def _own_config(config: TableConfig) -> TableConfig:
    """The configuration of the metadata table.

    Source: HoodieBackedTableMetadataWriter.initializeMetaClient, and the metadata tables that Hudi 1.2.0 makes.
    """
    properties = {
        **_ALWAYS,
        "hoodie.table.name": f"{config.name}_metadata",
        "hoodie.table.version": str(config.version),
        "hoodie.table.initial.version": str(config.version),
        "hoodie.timeline.layout.version": str(config.layout_version),
    }
    content = format_properties(properties, saved_at=datetime.now(timezone.utc))
    return parse_table_config(content, path=f"{METADATA_FOLDER}/{PROPERTIES_FILE}")


def _partitions(config: TableConfig, options: WriteOptions) -> Iterator[NewPartition]:
    indexing = options.indexing
    yield NewPartition.of(FILES, "files", 1)
    if indexing.column_stats:
        yield NewPartition.of(COLUMN_STATS, "col-stats", indexing.column_groups)
    if indexing.bloom_filters:
        yield NewPartition.of(BLOOM_FILTERS, "bloom-filters", indexing.bloom_groups)
    if indexing.record_index:
        yield NewPartition.of(RECORD_INDEX, "record-index", indexing.record_groups)
    if indexing.column_stats and indexing.partition_stats and config.partition_fields:
        yield NewPartition.of(PARTITION_STATS, "partition-stats", indexing.partition_groups)


def _definitions(config: TableConfig, options: WriteOptions, schema: TableSchema) -> Iterator[IndexDefinition]:
    indexing = options.indexing
    if indexing.record_index:
        yield IndexDefinition(RECORD_INDEX, RECORD_INDEX, options={"isPartitioned": "false"}, version=_V1)
    if indexing.column_stats:
        has_types = has_value_types(None, config)
        columns = (*ALWAYS_INDEXED, *indexing.columns)
        if not indexing.columns:
            columns = default_columns(schema.avro, indexing.most_columns, has_types=has_types)
        version = _V2 if has_types else _V1
        yield IndexDefinition(COLUMN_STATS, COLUMN_STATS, COLUMN_STATS, columns, version=version)


def _set_up(
    own: Storage, config: TableConfig, partition: NewPartition, schema: TableSchema, *, time: str, clock: Clock
) -> None:
    """Make the file groups of a partition, each by a log file with an empty block, and the list of no files."""
    begun = begin_instant(own, config, time, Action.DELTA_COMMIT, CommitMetadata(_BULK_INSERT))
    content = f"#partition metadata\ncommitTime={time}\npartitionDepth=1\n".encode()
    own.create(f"{partition.name}/{PARTITION_METADATA_FILE}", content, overwrite=True)
    for file_id in partition.file_ids:
        name = LogFileName(file_id=file_id, instant=time, version=1, write_token=_TOKEN)
        with LogWriter(partition.name, name, storage=own) as writer:
            writer.append(delete_block(pa.array([], pa.string()), instant=time, partition_path=partition.name))
    stats = {FILES: (_empty_list(own, partition.file_ids[0], time, schema),)} if partition.name == FILES else {}
    metadata = CommitMetadata(_BULK_INSERT, stats, {"schema": schema.avro})
    complete(own, config, begun, metadata, completion_time=next_instant(clock(), None))


def _empty_list(own: Storage, file_id: str, time: str, schema: TableSchema) -> WriteStat:
    records = FilesKind(schema.avro_with_meta).records(Change(is_commit=True))
    content = encode_base_file(records.keys, records.values, schema=schema.avro_with_meta)
    path = f"{FILES}/{BaseFileName(file_id, _TOKEN, time, 'hfile')}"
    own.create(path, content)
    return WriteStat(
        file_id=file_id,
        path=path,
        partition_path=FILES,
        num_writes=1,
        num_inserts=1,
        total_write_bytes=len(content),
        file_size_in_bytes=len(content),
    )
