"""The options of table services, under Hudi's own keys and with Hudi's defaults."""

from __future__ import annotations

from dataclasses import dataclass

BY_COMMITS, BY_VERSIONS, BY_HOURS = "KEEP_LATEST_COMMITS", "KEEP_LATEST_FILE_VERSIONS", "KEEP_LATEST_BY_HOURS"


@dataclass(frozen=True, slots=True)
class ServiceOptions:
    """When services run after a write, and how much they keep.

    Source: HoodieCleanConfig, HoodieArchivalConfig, HoodieCompactionConfig, Hudi 1.2.0.
    """

    compact_inline: bool = False
    compact_delta_commits: int = 5
    compaction_target_io_mb: int = 512_000
    compaction_log_size: int = 0
    compaction_log_files: int = 0
    clean_automatic: bool = True
    clean_policy: str = BY_COMMITS
    clean_commits: int = 10
    clean_versions: int = 3
    clean_hours: int = 24
    archive_automatic: bool = True
    archive_max_commits: int = 30
    archive_min_commits: int = 20
