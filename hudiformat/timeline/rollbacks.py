"""The contents of the files of rollbacks, restores and savepoints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hudiformat.timeline.records import AVRO_NAME, DATA_FILE, FILE_ID, INSTANT, PARTITION


@dataclass(frozen=True, slots=True)
class InstantInfo:
    """The requested time and the action of an instant.  Source: HoodieInstantInfo."""

    commit_time: str = field(metadata=INSTANT)
    action: str


@dataclass(frozen=True, slots=True)
class RollbackRequest:
    """The work of a rollback in one partition, often for one file group.

    ``files_to_be_deleted`` are full paths.  ``log_blocks_to_be_deleted`` maps full paths of log files to their sizes in
    bytes: below table version 8 a rollback adds a command block to the group instead of deleting them.

    Source: HoodieRollbackRequest, BaseRollbackHelper, Hudi 1.2.0.
    """

    partition_path: str = field(metadata=PARTITION)
    file_id: str | None = field(default=None, metadata=FILE_ID)
    latest_base_instant: str | None = field(default=None, metadata=INSTANT)
    files_to_be_deleted: tuple[str, ...] = field(default=(), metadata=DATA_FILE)
    log_blocks_to_be_deleted: Mapping[str, int] | None = field(default=None, hash=False, metadata=DATA_FILE)


@dataclass(frozen=True, slots=True)
class RollbackPlan:
    """The content of a requested rollback.  Source: HoodieRollbackPlan, Hudi 1.2.0."""

    instant_to_rollback: InstantInfo | None = None
    rollback_requests: tuple[RollbackRequest, ...] | None = field(
        default=None, metadata={AVRO_NAME: "RollbackRequests"}
    )
    version: int | None = 1


@dataclass(frozen=True, slots=True)
class RollbackPartitionMetadata:
    """The changes of a rollback in one partition; the mappings have the sizes of log files in bytes, by full paths.

    Source: HoodieRollbackPartitionMetadata, Hudi 1.2.0.
    """

    partition_path: str = field(metadata=PARTITION)
    success_delete_files: tuple[str, ...] = ()
    failed_delete_files: tuple[str, ...] = ()
    rollback_log_files: Mapping[str, int] | None = field(default=None, hash=False)
    log_files_from_failed_commit: Mapping[str, int] | None = field(default=None, hash=False)


@dataclass(frozen=True, slots=True)
class RollbackMetadata:
    """The content of a completed rollback.  Source: HoodieRollbackMetadata, Hudi 1.2.0."""

    start_rollback_time: str
    time_taken_in_millis: int
    total_files_deleted: int
    commits_rollback: tuple[str, ...] = field(metadata=INSTANT)
    partition_metadata: Mapping[str, RollbackPartitionMetadata] = field(hash=False, metadata=PARTITION)
    version: int | None = 1
    instants_rollback: tuple[InstantInfo, ...] = ()


@dataclass(frozen=True, slots=True)
class RestorePlan:
    """The content of a requested restore: the instants to roll back, the newest first.  Source: HoodieRestorePlan."""

    instants_to_rollback: tuple[InstantInfo, ...] = ()
    version: int | None = 2
    savepoint_to_restore_timestamp: str | None = field(default=None, metadata=INSTANT)


@dataclass(frozen=True, slots=True)
class RestoreMetadata:
    """The content of a completed restore; ``hoodie_restore_metadata`` has the rolled-back instants as keys.

    Source: HoodieRestoreMetadata, Hudi 1.2.0.
    """

    start_restore_time: str
    time_taken_in_millis: int
    instants_to_rollback: tuple[str, ...] = field(metadata=INSTANT)
    hoodie_restore_metadata: Mapping[str, tuple[RollbackMetadata | None, ...]] = field(hash=False, metadata=INSTANT)
    version: int | None = 1
    restore_instant_info: tuple[InstantInfo, ...] = ()


@dataclass(frozen=True, slots=True)
class SavepointPartitionMetadata:
    """The names of the files of one partition that a savepoint keeps.  Source: HoodieSavepointPartitionMetadata."""

    partition_path: str = field(metadata=PARTITION)
    savepoint_data_file: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SavepointMetadata:
    """The content of a savepoint; ``savepointed_at`` in milliseconds since 1970.  Source: HoodieSavepointMetadata."""

    savepointed_by: str
    savepointed_at: int
    comments: str
    partition_metadata: Mapping[str, SavepointPartitionMetadata] = field(hash=False, metadata=PARTITION)
    version: int | None = 1
