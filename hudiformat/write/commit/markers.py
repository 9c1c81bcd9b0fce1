"""The markers of a write: a process that finds it incomplete, Hudi included, learns from them which files to delete.

A marker is an empty file for a data file that an instant is about to create, or a line of a file that Hudi's timeline
server keeps.  A commit learns from them which files were left by failed attempts of tasks.  Layout: spec/writing.md.

Source: DirectWriteMarkers, WriteMarkers, TimelineServerBasedWriteMarkers, MarkerUtils, MarkerBasedRollbackUtils.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator

from hudiformat.errors import StorageError
from hudiformat.naming.file_names import join_path
from hudiformat.naming.instants import is_instant
from hudiformat.storage.protocol import FileInfo, OutputFile, Storage
from hudiformat.storage.threads import side_by_side
from hudiformat.timeline.config_files import MARKER_FOLDER
from hudiformat.wire import is_below_root

_CREATE, _APPEND, _MERGE = ".marker.CREATE", ".marker.APPEND", ".marker.MERGE"
"""Hudi marks a file that takes the place of another one by MERGE; it may as well be a created one."""
_LINES = "MARKERS"
_TYPE_FILE, _TYPE = f"{_LINES}.type", b"TIMELINE_SERVER_BASED"
_MANY = 16
"""So many markers take longer as files of their own than as lines of one."""


def create_marker(storage: Storage, instant: str, path: str, *, appends: bool = False) -> None:
    """Create a marker for the data file *path*, which is about to be created.

    The marker is of the kind APPEND if *appends*: for a log file of table version 6, even a new one, because Hudi
    accepts no other kind there.  From table version 8 on, Hudi accepts no marker of that kind.
    """
    marker = f"{MARKER_FOLDER}/{instant}/{path}{_APPEND if appends else _CREATE}"
    try:
        storage.open_new(marker).close()
    except StorageError:
        if not storage.exists(marker):  # an earlier attempt may have left it, which does no harm
            raise


class MarkerFile:
    """The markers of the only task of a write, as lines of one file, if they are many: any thread may add some.

    A file for each would cost an inode, and ext4 looks at all inodes that were deleted in the last minutes before it
    gives out one.  With this file Hudi does not look for others, so there are only such or only single ones.
    """

    def __init__(self, storage: Storage, instant: str) -> None:
        self._storage = storage
        self._folder = f"{MARKER_FOLDER}/{instant}"
        self._file: OutputFile | None = None
        self._has_single = False
        self._change = threading.Lock()

    def begin(self, files: int, partitions: Collection[str]) -> None:
        """Begin the file if about so many *files* of *partitions* come, and there are no single markers.

        Raises:
            StorageError: it cannot be written.
        """
        can = self._storage.capabilities
        is_line = all(path.isprintable() for path in partitions)
        if files < _MANY or not is_line or self._has_single or not (can.append and can.map):
            return
        if not self._storage.list(self._folder):
            self._storage.create(f"{self._folder}/{_TYPE_FILE}", _TYPE, sync=False)
            self._file = self._storage.open_new(f"{self._folder}/{_LINES}0")

    def add(self, path: str, *, appends: bool = False) -> bool:
        """Add a marker as :func:`create_marker` creates one; return whether there is such a file.

        Raises:
            StorageError: it cannot be written.
        """
        with self._change:
            if self._file is None:
                self._has_single = True
                return False
            self._file.write(f"{path}{_APPEND if appends else _CREATE}\n".encode())
            return True

    def close(self) -> None:
        """Close the file: no more markers come."""
        file, self._file = self._file, None
        if file is not None:
            file.close()


def marked_files(storage: Storage, instant: str) -> Iterator[str]:
    """Yield the data files that *instant* was about to create, as paths below the table.

    Raises:
        StorageError: the markers cannot be read.
    """
    root = f"{MARKER_FOLDER}/{instant}"
    folders = [""]
    while folders:
        listed = side_by_side(storage, lambda folder: storage.list(f"{root}/{folder}" if folder else root), folders)
        found = [
            (join_path(folder, one.name), one) for folder, every in zip(folders, listed, strict=True) for one in every
        ]
        folders = [path for path, entry in found if entry.is_dir]
        for path, entry in found:
            if not entry.is_dir:
                lines = _lines(storage, f"{root}/{path}") if _has_lines(path, entry) else [path]
                yield from (line.rpartition(".marker.")[0] for line in lines if _is_marker(line))


def _has_lines(path: str, entry: FileInfo) -> bool:
    return path == entry.name and path.startswith(_LINES) and path != _TYPE_FILE


def _lines(storage: Storage, path: str) -> list[str]:
    try:
        return storage.read(path).decode(errors="replace").splitlines()
    except StorageError:
        if storage.exists(path):
            raise
        return []  # its writer has ended since the folder was listed, and has deleted the markers


def _is_marker(path: str) -> bool:
    """Return whether a line, whose end a killed process may not have written, is a marker of a file of the table."""
    return path.endswith((_CREATE, _APPEND, _MERGE)) and is_below_root(path)


def marked_instants(storage: Storage) -> list[str]:
    """Return the instants that have markers, including committed ones whose markers were left behind."""
    return [entry.name for entry in storage.list(MARKER_FOLDER) if entry.is_dir and is_instant(entry.name)]


def delete_markers(storage: Storage, instant: str) -> None:
    """Delete the markers of *instant*."""
    storage.delete_folder(f"{MARKER_FOLDER}/{instant}")
