"""The contents of the files of a clean: its plan, and the metadata of what it deleted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hudiformat.timeline.records import DATA_FILE, INSTANT, PARTITION

KEEP_LATEST_COMMITS = "KEEP_LATEST_COMMITS"
SAVEPOINTED_TIMESTAMPS = "savepointed_timestamps"
"""The key, in a plan's extra metadata, of the instants of savepoints whose files are kept, separated by commas.

Source: CleanerUtils.
"""


@dataclass(frozen=True, slots=True)
class ActionInstant:
    """An instant with its action and state as texts.  Source: HoodieActionInstant."""

    timestamp: str = field(metadata=INSTANT)
    action: str
    state: str


@dataclass(frozen=True, slots=True)
class CleanFileInfo:
    """The full path of a file to be deleted.  Source: HoodieCleanFileInfo."""

    file_path: str | None = field(default=None, metadata=DATA_FILE)
    is_bootstrap_base_file: bool | None = None


@dataclass(frozen=True, slots=True)
class CleanerPlan:
    """The content of a requested clean.

    Plans of version 2 have the paths of the files in ``file_paths_to_be_deleted_per_partition``; those of version 1
    have their names in ``files_to_be_deleted_per_partition``.

    Source: HoodieCleanerPlan, CleanPlanner, Hudi 1.2.0.
    """

    earliest_instant_to_retain: ActionInstant | None = None
    last_completed_commit_timestamp: str = ""
    policy: str = KEEP_LATEST_COMMITS
    files_to_be_deleted_per_partition: Mapping[str, tuple[str, ...]] | None = field(
        default_factory=dict, hash=False, metadata=PARTITION
    )
    version: int | None = 2
    file_paths_to_be_deleted_per_partition: Mapping[str, tuple[CleanFileInfo, ...]] | None = field(
        default_factory=dict, hash=False, metadata=PARTITION
    )
    partitions_to_be_deleted: tuple[str, ...] | None = field(default=(), metadata=PARTITION)
    extra_metadata: Mapping[str, str] | None = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class CleanPartitionMetadata:
    """The files that a clean deleted in one partition, or failed to delete.  Source: HoodieCleanPartitionMetadata."""

    partition_path: str = field(metadata=PARTITION)
    policy: str
    delete_path_patterns: tuple[str, ...]
    success_delete_files: tuple[str, ...]
    failed_delete_files: tuple[str, ...]
    is_partition_deleted: bool | None = None


@dataclass(frozen=True, slots=True)
class CleanMetadata:
    """The content of a completed clean.  ``earliest_commit_to_retain`` is empty if the policy has none.

    Source: HoodieCleanMetadata, Hudi 1.2.0.
    """

    start_clean_time: str
    time_taken_in_millis: int
    total_files_deleted: int
    earliest_commit_to_retain: str
    last_completed_commit_timestamp: str
    partition_metadata: Mapping[str, CleanPartitionMetadata] = field(hash=False, metadata=PARTITION)
    version: int | None = 2
    bootstrap_partition_metadata: Mapping[str, CleanPartitionMetadata] | None = field(default_factory=dict, hash=False)
    extra_metadata: Mapping[str, str] | None = field(default_factory=dict, hash=False)
