"""Delete what killed processes have left besides data files: temporary files of the table, and spill folders.

Rules: spec/services.md.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from hudiformat.file_group.partitions import list_partitions
from hudiformat.naming.file_names import join_path
from hudiformat.storage.protocol import TEMPORARY_PREFIX, FileInfo, Storage
from hudiformat.storage.spill_folders import delete_spill_folder, find_old_spill_folders
from hudiformat.timeline.config_files import META_FOLDER

REPAIR_FOLDER = ".repair"
"""The folder, inside the table's metadata folder, for files that repairs have removed from the table."""
OLD = 3600.0
"""The seconds after which a temporary file is certainly no longer being written."""


def temporary_files(storage: Storage) -> Iterator[tuple[str, FileInfo]]:
    """Yield the paths of temporary files; an object store has none, because files appear complete there."""
    if not storage.capabilities.append:
        return
    for folder, entries in (*_folders(storage, META_FOLDER), *list_partitions(storage, incomplete=True)):
        for entry in entries:
            if not entry.is_dir and entry.name.startswith(TEMPORARY_PREFIX):
                yield join_path(folder, entry.name), entry


def is_old(file: FileInfo) -> bool:
    """Return whether a temporary file is so old that its process must have been killed."""
    return file.modified is not None and file.modified < (time.time() - OLD) * 1000


def delete_leftovers(storage: Storage) -> None:
    """Delete the old temporary files of a table, and the old spill folders of this machine."""
    for path, file in list(temporary_files(storage)):
        if is_old(file):
            storage.delete(path)
    for folder in find_old_spill_folders(seconds=OLD):
        delete_spill_folder(folder)


def _folders(storage: Storage, top: str) -> Iterator[tuple[str, list[FileInfo]]]:
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        entries = storage.list(folder)
        waiting += [join_path(folder, entry.name) for entry in entries if entry.is_dir and entry.name != REPAIR_FOLDER]
        yield folder, entries
