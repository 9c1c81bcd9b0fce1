"""Which folders of a table are partitions: those that hold a partition metadata file."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hudiformat.storage import FileInfo, Storage

PARTITION_METADATA_FILE = ".hoodie_partition_metadata"
_METADATA_FILES = frozenset({PARTITION_METADATA_FILE, f"{PARTITION_METADATA_FILE}.parquet"})
_TABLE_METADATA_FOLDER = ".hoodie"


def list_partitions(
    storage: Storage, *, may_enter: Callable[[str], bool] | None = None
) -> Iterator[tuple[str, list[FileInfo]]]:
    """Each partition path and the files in its folder; for a table without partitions the path is ``""``.

    Folders for which *may_enter* is false are not listed.

    A folder without a partition metadata file is no partition, as in Hudi, but its subfolders may be.

    Source: FSUtils.getAllPartitionPaths, HoodiePartitionMetadata.
    """
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        entries = storage.list(folder)
        files = [entry for entry in entries if not entry.is_dir]
        if any(entry.name in _METADATA_FILES for entry in files):
            yield folder, files
            continue  # a partition folder is flat
        below = [
            f"{folder}/{entry.name}" if folder else entry.name
            for entry in reversed(entries)
            if entry.is_dir and (folder or entry.name != _TABLE_METADATA_FOLDER)
        ]
        waiting += below if may_enter is None else filter(may_enter, below)
