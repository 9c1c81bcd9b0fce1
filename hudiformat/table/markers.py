"""Markers: an empty file for every data file that an instant is about to make.

They tell whoever finds a write that did not complete, Hudi included, which files to take away; and at the commit, which
files a failed attempt of a task left behind.  Source: DirectWriteMarkers, WriteMarkers.
"""

from __future__ import annotations

from collections.abc import Iterator

from hudiformat.errors import StorageError
from hudiformat.naming import is_instant
from hudiformat.storage import Storage

MARKER_ROOT = ".hoodie/.temp"
_CREATE = ".marker.CREATE"
_APPEND = ".marker.APPEND"


def create_marker(storage: Storage, instant: str, path: str, *, appends: bool = False) -> None:
    """Leave a marker for the data file *path*, which is about to be made.

    It *appends* to a file group where *path* is a log file of table version 6, though the file is new: Hudi takes no
    other marker for one there, and from version 8 on none of that kind.
    """
    marker = f"{MARKER_ROOT}/{instant}/{path}{_APPEND if appends else _CREATE}"
    try:
        storage.open_new(marker).close()
    except StorageError:
        if not storage.exists(marker):  # otherwise an earlier attempt has left it
            raise


def marked_files(storage: Storage, instant: str) -> Iterator[str]:
    """The data files that *instant* was about to make, as paths below the table."""
    root = f"{MARKER_ROOT}/{instant}"
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        for entry in storage.list(f"{root}/{folder}" if folder else root):
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir:
                waiting.append(path)
            elif entry.name.endswith((_CREATE, _APPEND)):
                yield path.removesuffix(_CREATE).removesuffix(_APPEND)


def marked_instants(storage: Storage) -> list[str]:
    """The instants that have markers, committed ones whose markers stayed behind among them."""
    return [entry.name for entry in storage.list(MARKER_ROOT) if entry.is_dir and is_instant(entry.name)]


def delete_markers(storage: Storage, instant: str) -> None:
    """Take away the markers of *instant*."""
    storage.delete(f"{MARKER_ROOT}/{instant}")
