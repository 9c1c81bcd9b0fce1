"""The kinds of partitions of the metadata table, a module for each: what they are given of an action of the table."""

from hudiformat.metadata.kinds.bloom_filters import BloomFiltersKind
from hudiformat.metadata.kinds.column_stats import ColumnStatsKind
from hudiformat.metadata.kinds.expression_index import EXPRESSION_INDEX, ExpressionIndexKind
from hudiformat.metadata.kinds.files import ALL_PARTITIONS, FILES, NO_PARTITION, FilesKind
from hudiformat.metadata.kinds.partition_stats import PartitionStatsKind
from hudiformat.metadata.kinds.record_index import (
    RECORD_INDEX,
    PartitionedRecordIndexKind,
    RecordIndexKind,
    group_of_path,
    is_partitioned,
    path_of_group,
)
from hudiformat.metadata.kinds.secondary_index import SecondaryIndexKind

__all__ = [
    "ALL_PARTITIONS",
    "EXPRESSION_INDEX",
    "FILES",
    "NO_PARTITION",
    "RECORD_INDEX",
    "BloomFiltersKind",
    "ColumnStatsKind",
    "ExpressionIndexKind",
    "FilesKind",
    "PartitionStatsKind",
    "PartitionedRecordIndexKind",
    "RecordIndexKind",
    "SecondaryIndexKind",
    "group_of_path",
    "is_partitioned",
    "path_of_group",
]
