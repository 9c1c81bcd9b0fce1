"""The metadata table, itself a merge-on-read table of HFiles under ``.hoodie/metadata``: a listing and statistics."""

from hudiformat.metadata.bloom_filters import BLOOM_FILTERS, BloomFilters, bloom_filters
from hudiformat.metadata.column_stats import COLUMN_STATS, ColumnRange, ColumnStats, column_stats
from hudiformat.metadata.listing import Listing, listing
from hudiformat.metadata.partition import METADATA_FOLDER

__all__ = [
    "BLOOM_FILTERS",
    "COLUMN_STATS",
    "METADATA_FOLDER",
    "BloomFilters",
    "ColumnRange",
    "ColumnStats",
    "Listing",
    "bloom_filters",
    "column_stats",
    "listing",
]
