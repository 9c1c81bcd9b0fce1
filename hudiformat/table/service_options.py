"""The options of table services, under Hudi's own keys and with Hudi's defaults."""

from __future__ import annotations

from dataclasses import dataclass

from hudiformat.table.option_parsers import Keys, one_of_upper, parse_boolean, parse_count, parse_integer

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
    log_compaction_blocks: int = 5
    clean_automatic: bool = True
    clean_policy: str = BY_COMMITS
    clean_commits: int = 10
    clean_versions: int = 3
    clean_hours: int = 24
    archive_automatic: bool = True
    archive_max_commits: int = 30
    archive_min_commits: int = 20
    metadata_delta_commits: int = 10


SERVICE_KEYS: Keys = {
    "hoodie.compact.inline": ("compact_inline", parse_boolean),
    "hoodie.compact.inline.max.delta.commits": ("compact_delta_commits", parse_integer),
    "hoodie.compaction.target.io": ("compaction_target_io_mb", parse_integer),
    "hoodie.compaction.logfile.size.threshold": ("compaction_log_size", parse_count),
    "hoodie.compaction.logfile.num.threshold": ("compaction_log_files", parse_count),
    "hoodie.log.compaction.blocks.threshold": ("log_compaction_blocks", parse_integer),
    "hoodie.clean.automatic": ("clean_automatic", parse_boolean),
    "hoodie.clean.policy": ("clean_policy", one_of_upper(BY_COMMITS, BY_VERSIONS, BY_HOURS)),
    "hoodie.cleaner.policy": ("clean_policy", one_of_upper(BY_COMMITS, BY_VERSIONS, BY_HOURS)),
    "hoodie.clean.commits.retained": ("clean_commits", parse_integer),
    "hoodie.cleaner.commits.retained": ("clean_commits", parse_integer),
    "hoodie.clean.fileversions.retained": ("clean_versions", parse_integer),
    "hoodie.cleaner.fileversions.retained": ("clean_versions", parse_integer),
    "hoodie.clean.hours.retained": ("clean_hours", parse_integer),
    "hoodie.cleaner.hours.retained": ("clean_hours", parse_integer),
    "hoodie.archive.automatic": ("archive_automatic", parse_boolean),
    "hoodie.keep.max.commits": ("archive_max_commits", parse_integer),
    "hoodie.keep.min.commits": ("archive_min_commits", parse_integer),
    "hoodie.metadata.compact.max.delta.commits": ("metadata_delta_commits", parse_integer),
}
