"""Keeping up a table's metadata table: what each action of the table gives to each of its partitions."""

from hudiformat.upkeep.definitions import name_new_columns
from hudiformat.upkeep.dropping import drop_partitions
from hudiformat.upkeep.indexing import IndexBuild, Progress
from hudiformat.upkeep.kinds import KEPT_UP, column_type, indexed_columns, indexes_of, refuse_changes_of_indexed
from hudiformat.upkeep.metadata_table import MetadataTable
from hudiformat.upkeep.preparing import prepare_metadata_table, refuse_pending_services
from hudiformat.upkeep.setting_up import (
    has_partition_stats,
    refuse_partitioned_index,
    set_up_metadata_table,
    wanted_partitions,
)
from hudiformat.upkeep.unfinished import BUILDER, finish_indexings

__all__ = [
    "BUILDER",
    "KEPT_UP",
    "IndexBuild",
    "MetadataTable",
    "Progress",
    "column_type",
    "drop_partitions",
    "finish_indexings",
    "has_partition_stats",
    "indexed_columns",
    "indexes_of",
    "name_new_columns",
    "prepare_metadata_table",
    "refuse_changes_of_indexed",
    "refuse_partitioned_index",
    "refuse_pending_services",
    "set_up_metadata_table",
    "wanted_partitions",
]
