"""The metadata table, itself a merge-on-read table of HFiles under ``.hoodie/metadata``: a listing and statistics."""

from hudiformat.metadata.column_stats import COLUMN_STATS, ColumnRange, ColumnStats, column_stats
from hudiformat.metadata.listing import Listing, listing
from hudiformat.metadata.partition import METADATA_FOLDER

__all__ = ["COLUMN_STATS", "METADATA_FOLDER", "ColumnRange", "ColumnStats", "Listing", "column_stats", "listing"]
