"""The metadata table: a merge-on-read table of HFiles under ``.hoodie/metadata``, read and kept up to date."""

from hudiformat.metadata.bloom_filters import BLOOM_FILTERS, BloomFilters, bloom_filters
from hudiformat.metadata.changes import Change, IndexKind, KeyedRecords
from hudiformat.metadata.column_stats import (
    COLUMN_STATS,
    PARTITION_STATS,
    ColumnRange,
    ColumnStats,
    column_stats,
    partition_ranges,
)
from hudiformat.metadata.definitions import (
    ALWAYS_INDEXED,
    DEFINITIONS_FILE,
    DEFINITIONS_KEY,
    Definitions,
    IndexDefinition,
    default_columns,
    encode_definitions,
    has_value_types,
    hashes_values,
    load_definitions,
    statistics_columns,
)
from hudiformat.metadata.kinds import (
    EXPRESSION_INDEX,
    FILES,
    RECORD_INDEX,
    BloomFiltersKind,
    ColumnStatsKind,
    ExpressionIndexKind,
    FilesKind,
    PartitionedRecordIndexKind,
    PartitionStatsKind,
    RecordIndexKind,
    SecondaryIndexKind,
    group_of_path,
    is_partitioned,
)
from hudiformat.metadata.listing import Listing, listing
from hudiformat.metadata.merging import merged_records
from hudiformat.metadata.partition import OpenMetadata, Part
from hudiformat.metadata.record_locations import RecordLocation, decode_location
from hudiformat.metadata.record_lookup import (
    NOWHERE,
    FoundLocations,
    OpenRecordIndex,
    RecordIndex,
    partitioned_locations,
    record_locations,
)
from hudiformat.metadata.secondary_keys import SECONDARY_INDEX, has_secondary_keys, record_keys_of
from hudiformat.metadata.secondary_locations import secondary_locations
from hudiformat.metadata.stat_lookup import statistics_of_files, statistics_of_partition
from hudiformat.metadata.stat_records import StatEncoder
from hudiformat.metadata.updates import encode_base_file, encode_log_blocks, file_groups_of
from hudiformat.metadata.value_types import is_indexable
from hudiformat.timeline import METADATA_FOLDER

__all__ = [
    "ALWAYS_INDEXED",
    "BLOOM_FILTERS",
    "COLUMN_STATS",
    "DEFINITIONS_FILE",
    "DEFINITIONS_KEY",
    "EXPRESSION_INDEX",
    "FILES",
    "METADATA_FOLDER",
    "NOWHERE",
    "PARTITION_STATS",
    "RECORD_INDEX",
    "SECONDARY_INDEX",
    "BloomFilters",
    "BloomFiltersKind",
    "Change",
    "ColumnRange",
    "ColumnStats",
    "ColumnStatsKind",
    "Definitions",
    "ExpressionIndexKind",
    "FilesKind",
    "FoundLocations",
    "IndexDefinition",
    "IndexKind",
    "KeyedRecords",
    "Listing",
    "OpenMetadata",
    "OpenRecordIndex",
    "Part",
    "PartitionStatsKind",
    "PartitionedRecordIndexKind",
    "RecordIndex",
    "RecordIndexKind",
    "RecordLocation",
    "SecondaryIndexKind",
    "StatEncoder",
    "bloom_filters",
    "column_stats",
    "decode_location",
    "default_columns",
    "encode_base_file",
    "encode_definitions",
    "encode_log_blocks",
    "file_groups_of",
    "group_of_path",
    "has_secondary_keys",
    "has_value_types",
    "hashes_values",
    "is_indexable",
    "is_partitioned",
    "listing",
    "load_definitions",
    "merged_records",
    "partition_ranges",
    "partitioned_locations",
    "record_keys_of",
    "record_locations",
    "secondary_locations",
    "statistics_columns",
    "statistics_of_files",
    "statistics_of_partition",
]
