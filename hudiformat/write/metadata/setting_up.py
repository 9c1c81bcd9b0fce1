"""Set up a metadata table, and decide which partitions it gets, with how many file groups.

A new table gets its metadata table before its first commit, as in Hudi.

Source: HoodieBackedTableMetadataWriter.initializeFromFilesystem, Hudi 1.2.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone

from hudiformat.errors import UnsupportedFeatureError
from hudiformat.metadata_table.bloom_filters import BLOOM_FILTERS
from hudiformat.metadata_table.changes import Change
from hudiformat.metadata_table.column_stats import COLUMN_STATS, PARTITION_STATS
from hudiformat.metadata_table.definitions import (
    ALWAYS_INDEXED,
    DEFINITIONS_FILE,
    DEFINITIONS_KEY,
    IndexDefinition,
    default_columns,
    encode_definitions,
    has_value_types,
)
from hudiformat.metadata_table.kinds.files import FILES, FilesKind
from hudiformat.metadata_table.kinds.record_index import RECORD_INDEX
from hudiformat.schema.table_schema import TableSchema
from hudiformat.storage.folder import FolderStorage
from hudiformat.storage.protocol import Storage
from hudiformat.table.options.values import IndexingOptions, WriteOptions
from hudiformat.table.state import Clock
from hudiformat.timeline.config_files import (
    METADATA_FOLDER,
    PROPERTIES_FILE,
    VERSION_WITH_COMPLETION_TIMES,
    format_table_config,
    parse_table_config,
)
from hudiformat.timeline.records import metadata_record_schema
from hudiformat.timeline.table_config import TableConfig, format_properties
from hudiformat.write.metadata.building import NewPartition, build_partition

_ALWAYS = {
    "hoodie.table.type": "MERGE_ON_READ",
    "hoodie.table.base.file.format": "HFILE",
    "hoodie.table.keygenerator.type": "HOODIE_TABLE_METADATA",
    "hoodie.table.recordkey.fields": "key",
    "hoodie.populate.meta.fields": "false",
    "hoodie.datasource.write.drop.partition.columns": "false",
    "hoodie.compaction.payload.class": "org.apache.hudi.metadata.HoodieMetadataPayload",
    "hoodie.record.merge.strategy.id": "00000000-0000-0000-0000-000000000000",
    "hoodie.timeline.path": "timeline",
    "hoodie.timeline.history.path": "history",
    "hoodie.archivelog.folder": "history",
}
_V1, _V2 = "V1", "V2"
_OF_VERSION_6 = {"hoodie.archivelog.folder": "archived"}
_BEFORE_ALL = "0" * 14
"""The prefix of the instants that set up a metadata table.  Source: HoodieTableMetadata.SOLO_COMMIT_TIMESTAMP."""
_SUFFIX_OF_VERSION_6 = 10
"""Source: HoodieTableMetadataUtil.PARTITION_INITIALIZATION_TIME_SUFFIX."""


def first_instant(config: TableConfig, number: int = 0, *, after: str | None = None) -> str:
    """Return the instant of the delta commit that sets up partition *number* of the metadata table of *config*.

    In version 6 it comes right *after* the newest completed instant of the table, if there is one.

    Source: HoodieBackedTableMetadataWriter and …TableVersionSix.generateUniqueInstantTime, Hudi 1.2.0.
    """
    if config.version < VERSION_WITH_COMPLETION_TIMES:
        return f"{after or _BEFORE_ALL}{_SUFFIX_OF_VERSION_6 + number:03d}"
    return f"{_BEFORE_ALL}{number:03d}"


def set_up_metadata_table(
    storage: Storage, config: TableConfig, options: WriteOptions, schema: TableSchema, clock: Clock
) -> dict[str, str]:
    """Create the metadata table of the new table *config*, and return the properties that the table gets for it.

    What an earlier attempt has left is deleted first.
    """
    own, own_config = make_metadata_table(storage, config)
    avro = TableSchema(metadata_record_schema())
    names = list(chosen_partitions(config, options))
    for number, name in enumerate(names):
        records = [FilesKind(avro.avro_with_meta).records(Change(is_commit=True))] if name == FILES else []
        partition = new_partition(name, options.indexing)
        build_partition(
            own, own_config, partition, records, time=first_instant(config, number), clock=clock, schema=avro
        )
    properties = {"hoodie.table.metadata.partitions": ",".join(sorted(names))}
    found = (index_definition(name, config, options.indexing, schema) for name in names)
    definitions = {one.name: one for one in found if one is not None}
    if definitions:
        storage.create(DEFINITIONS_FILE, encode_definitions(definitions), overwrite=True)
        properties[DEFINITIONS_KEY] = DEFINITIONS_FILE
    return properties


def make_metadata_table(storage: Storage, config: TableConfig) -> tuple[Storage, TableConfig]:
    """Create the metadata table of the table *config* without partitions; return its storage and its configuration.

    What an earlier attempt has left is deleted first.
    """
    storage.delete_folder(METADATA_FOLDER)
    own = FolderStorage(storage, METADATA_FOLDER)
    own_config = _own_config(config)
    own.make_folder(own_config.history_folder)
    own.create(PROPERTIES_FILE, format_table_config(own_config, saved_at=datetime.now(timezone.utc)))
    return own, own_config


def _own_config(config: TableConfig) -> TableConfig:
    """Return the configuration of the metadata table.

    Source: HoodieBackedTableMetadataWriter.initializeMetaClient, and the metadata tables that Hudi 1.2.0 makes.
    """
    properties = {
        **_ALWAYS,
        "hoodie.table.name": f"{config.name}_metadata",
        "hoodie.table.version": str(config.version),
        "hoodie.timeline.layout.version": str(config.layout_version),
    }
    if config.version < VERSION_WITH_COMPLETION_TIMES:
        properties |= _OF_VERSION_6
    else:
        properties |= {"hoodie.table.initial.version": str(config.version), "hoodie.record.merge.mode": "CUSTOM"}
    content = format_properties(properties, saved_at=datetime.now(timezone.utc))
    return parse_table_config(content, path=f"{METADATA_FOLDER}/{PROPERTIES_FILE}")


def chosen_partitions(config: TableConfig, options: WriteOptions) -> Iterator[str]:
    """Yield the partitions that the metadata table of the table *config* gets by *options*, in the order of creation.

    Raises:
        UnsupportedFeatureError: a partitioned record index in version 6, which has no definitions to describe it.
    """
    indexing = options.indexing
    refuse_partitioned_index(config, indexing)
    yield FILES
    if indexing.column_stats:
        yield COLUMN_STATS
    if indexing.bloom_filters:
        yield BLOOM_FILTERS
    if indexing.record_index or indexing.partitioned_record_index:
        yield RECORD_INDEX
    if indexing.column_stats and indexing.partition_stats and has_partition_stats(config):
        yield PARTITION_STATS


def refuse_partitioned_index(config: TableConfig, indexing: IndexingOptions) -> None:
    """Refuse a partitioned record index in version 6, which has no definitions to describe it.

    Raises:
        UnsupportedFeatureError: *indexing* asks for one.
    """
    if indexing.partitioned_record_index and config.version < VERSION_WITH_COMPLETION_TIMES:
        feature = f"a partitioned record index in table version {config.version}"
        raise UnsupportedFeatureError(
            f"the table {config.name!r}: expected no partitioned record index below table "
            f"version 8, found {feature}; leave out hoodie.metadata.record.level.index.enable",
            feature=feature,
        )


def has_partition_stats(config: TableConfig) -> bool:
    """Return whether a table can have partition statistics."""
    return bool(config.partition_fields) and config.version >= VERSION_WITH_COMPLETION_TIMES


def new_partition(name: str, indexing: IndexingOptions, *, least: int = 1) -> NewPartition:
    """Return the partition *name* with as many file groups as the options say, and at least *least*."""
    if name == RECORD_INDEX and indexing.partitioned_record_index:
        return NewPartition(name, ())  # each partition path gets file groups with its first rows
    prefix, count = {
        FILES: ("files", 1),
        COLUMN_STATS: ("col-stats", indexing.column_groups),
        BLOOM_FILTERS: ("bloom-filters", indexing.bloom_groups),
        RECORD_INDEX: ("record-index", indexing.record_groups),
        PARTITION_STATS: ("partition-stats", indexing.partition_groups),
    }[name]
    return NewPartition.of(name, prefix, count if name == FILES else max(count, least))


def index_definition(
    name: str, config: TableConfig, indexing: IndexingOptions, schema: TableSchema
) -> IndexDefinition | None:
    """Return the definition of the index *name* of a table with *schema*; None for an index that has none.

    In version 6 no index has one.
    """
    if config.version < VERSION_WITH_COMPLETION_TIMES:
        return None
    if name == RECORD_INDEX:
        partitioned = str(indexing.partitioned_record_index).lower()
        return IndexDefinition(RECORD_INDEX, RECORD_INDEX, options={"isPartitioned": partitioned}, version=_V1)
    if name == COLUMN_STATS:
        has_types = has_value_types(None, config)
        columns = (*ALWAYS_INDEXED, *(one for one in indexing.columns if one not in ALWAYS_INDEXED))
        if not indexing.columns:
            columns = default_columns(schema.avro, indexing.most_columns, has_types=has_types)
        version = _V2 if has_types else _V1
        return IndexDefinition(COLUMN_STATS, COLUMN_STATS, COLUMN_STATS, columns, version=version)
    return None
