"""The archived timeline: instants that the active timeline no longer needs, in both layouts, and archiving itself."""

from hudiformat.archive.archive_log import add_archive_log, archive_files, archive_logs, archived_records
from hudiformat.archive.archived import ArchivedInstant
from hudiformat.archive.archived_times import ArchivedTimes
from hudiformat.archive.archiving import ArchiveLimits, archive, instants_to_archive, read_archived
from hudiformat.archive.history import add_history, history_files, latest_manifest, read_history_file, write_manifest

__all__ = [
    "ArchiveLimits",
    "ArchivedInstant",
    "ArchivedTimes",
    "add_archive_log",
    "add_history",
    "archive",
    "archive_files",
    "archive_logs",
    "archived_records",
    "history_files",
    "instants_to_archive",
    "latest_manifest",
    "read_archived",
    "read_history_file",
    "write_manifest",
]
