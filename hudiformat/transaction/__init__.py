"""A write from its instant to its commit: conflicts, markers, rollback, metadata-table upkeep."""

from hudiformat.transaction.changing import changing, dead_writes, exclusive, roll_back_failed_writes
from hudiformat.transaction.checkpoints import checkpoint, newest_batch
from hudiformat.transaction.files import (
    RINGS_FOLDER,
    GroupTarget,
    LogFileStats,
    WriteCounts,
    base_file_stat,
    check_awaited,
    create_marker,
    decode_write_stats,
    delete_files,
    delete_markers,
    delete_strays,
    delete_traces,
    encode_write_stats,
    files_of,
    log_instants,
    marked_files,
    marked_instants,
)
from hudiformat.transaction.made_keys import (
    batches_with_keys,
    carried,
    keeps_keys,
    new_prefix,
    with_keys,
)
from hudiformat.transaction.partitions import enter_partition, partition_metadata
from hudiformat.transaction.plan import SizingProfile, WritePlan, partial_schema, plan_of_service, write_plan
from hudiformat.transaction.publishing import announce, check_publishable, publish, refuse_new_indexes
from hudiformat.transaction.reporting import LOG, log_commit
from hudiformat.transaction.restoring import finish_restores, run_restore
from hudiformat.transaction.staging import delete_staged, read_staged, stage
from hudiformat.transaction.sweeping import sweep_before_archiving, sync_deletions
from hudiformat.transaction.transaction import (
    Commit,
    Replaced,
    Transaction,
    begin_write,
    write_and_commit,
)

__all__ = [
    "LOG",
    "RINGS_FOLDER",
    "Commit",
    "GroupTarget",
    "LogFileStats",
    "Replaced",
    "SizingProfile",
    "Transaction",
    "WriteCounts",
    "WritePlan",
    "announce",
    "base_file_stat",
    "batches_with_keys",
    "begin_write",
    "carried",
    "changing",
    "check_awaited",
    "check_publishable",
    "checkpoint",
    "create_marker",
    "dead_writes",
    "decode_write_stats",
    "delete_files",
    "delete_markers",
    "delete_staged",
    "delete_strays",
    "delete_traces",
    "encode_write_stats",
    "enter_partition",
    "exclusive",
    "files_of",
    "finish_restores",
    "keeps_keys",
    "log_commit",
    "log_instants",
    "marked_files",
    "marked_instants",
    "new_prefix",
    "newest_batch",
    "partial_schema",
    "partition_metadata",
    "plan_of_service",
    "publish",
    "read_staged",
    "refuse_new_indexes",
    "roll_back_failed_writes",
    "run_restore",
    "stage",
    "sweep_before_archiving",
    "sync_deletions",
    "with_keys",
    "write_and_commit",
    "write_plan",
]
