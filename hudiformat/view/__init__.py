"""The file groups and file slices of a table, from file names, a timeline and a listing; also as of an instant."""

from hudiformat.view.former_slices import FormerSlices
from hudiformat.view.partitions import PARTITION_METADATA_FILE, list_partitions
from hudiformat.view.pending import PendingGroup, pending_groups
from hudiformat.view.slices import BaseFile, FileSlice, LogFile, Visibility, build_slices, latest_slices
from hudiformat.view.totals import SliceTotals

__all__ = [
    "PARTITION_METADATA_FILE",
    "BaseFile",
    "FileSlice",
    "FormerSlices",
    "LogFile",
    "PendingGroup",
    "SliceTotals",
    "Visibility",
    "build_slices",
    "latest_slices",
    "list_partitions",
    "pending_groups",
]
