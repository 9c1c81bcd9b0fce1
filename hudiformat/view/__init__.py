"""Names, a timeline and a listing handed in -> file groups and file slices; time travel."""

from hudiformat.view.partitions import PARTITION_METADATA_FILE, list_partitions, paused_collection
from hudiformat.view.slices import BaseFile, FileSlice, LogFile, Visibility, build_slices, latest_slices
from hudiformat.view.totals import SliceTotals

__all__ = [
    "PARTITION_METADATA_FILE",
    "BaseFile",
    "FileSlice",
    "LogFile",
    "SliceTotals",
    "Visibility",
    "build_slices",
    "latest_slices",
    "list_partitions",
    "paused_collection",
]
