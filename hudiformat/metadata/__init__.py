"""The metadata table: a merge-on-read table of HFiles under ``.hoodie/metadata``, read and kept up to date."""

from hudiformat.metadata.bloom_filters import BLOOM_FILTERS, BloomFilters, bloom_filters
from hudiformat.metadata.column_stats import COLUMN_STATS, ColumnRange, ColumnStats, column_stats
from hudiformat.metadata.listing import Listing, listing
from hudiformat.metadata.updates import (
    FILES,
    IndexRecords,
    encode_base_file,
    encode_log_block,
    records_of_clean,
    records_of_commit,
    records_of_deleted,
)
from hudiformat.timeline import METADATA_FOLDER

__all__ = [
    "BLOOM_FILTERS",
    "COLUMN_STATS",
    "FILES",
    "METADATA_FOLDER",
    "BloomFilters",
    "ColumnRange",
    "ColumnStats",
    "IndexRecords",
    "Listing",
    "bloom_filters",
    "column_stats",
    "encode_base_file",
    "encode_log_block",
    "listing",
    "records_of_clean",
    "records_of_commit",
    "records_of_deleted",
]
