"""A write from its instant to its commit: locks, conflicts, markers, rollback, metadata-table upkeep."""

from hudiformat.transaction.checkpoints import checkpoint, newest_batch
from hudiformat.transaction.files import (
    GroupTarget,
    LogFileStats,
    WriteCounts,
    base_file_stat,
    create_marker,
    decode_write_stats,
    delete_files,
    delete_markers,
    encode_write_stats,
)
from hudiformat.transaction.metadata_table import FILE_ID, MetadataTable
from hudiformat.transaction.partitions import enter_partition
from hudiformat.transaction.plan import WritePlan, partial_schema, write_plan
from hudiformat.transaction.publishing import changing, exclusive, publish
from hudiformat.transaction.rollback import remove_write
from hudiformat.transaction.staging import delete_staged, read_staged, stage
from hudiformat.transaction.transaction import Commit, Replaced, Transaction, begin_write, write_and_commit

__all__ = [
    "FILE_ID",
    "Commit",
    "GroupTarget",
    "LogFileStats",
    "MetadataTable",
    "Replaced",
    "Transaction",
    "WriteCounts",
    "WritePlan",
    "base_file_stat",
    "begin_write",
    "changing",
    "checkpoint",
    "create_marker",
    "decode_write_stats",
    "delete_files",
    "delete_markers",
    "delete_staged",
    "encode_write_stats",
    "enter_partition",
    "exclusive",
    "newest_batch",
    "partial_schema",
    "publish",
    "read_staged",
    "remove_write",
    "stage",
    "write_and_commit",
    "write_plan",
]
