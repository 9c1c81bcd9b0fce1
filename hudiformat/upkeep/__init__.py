"""Keeping up a table's metadata table: what each action of the table gives to each of its partitions."""

from hudiformat.upkeep.kinds import indexed_columns, indexes_of, refuse_changes_of_indexed
from hudiformat.upkeep.metadata_table import MetadataTable
from hudiformat.upkeep.preparing import prepare_metadata_table
from hudiformat.upkeep.setting_up import set_up_metadata_table

__all__ = [
    "MetadataTable",
    "indexed_columns",
    "indexes_of",
    "prepare_metadata_table",
    "refuse_changes_of_indexed",
    "set_up_metadata_table",
]
