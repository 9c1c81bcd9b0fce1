"""File systems of fsspec for pyarrow, with listings that show one folder as it is, and times of files.

pyarrow's own wrapper asks ``find`` for a listing.  Some file systems (adlfs) answer with the files of all subfolders,
and from most it takes no times, as it knows one name for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pyarrow import fs

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

_TIMES = ("mtime", "modification_time", "last_modified", "LastModified", "updated", "modified", "created")
"""The names that file systems give to the time of a file: seconds, milliseconds, texts or datetimes."""
_MILLISECONDS_FROM = 1e11
"""A larger number is milliseconds: in seconds it would be in the year 5138."""


class FsspecFiles(fs.FSSpecHandler):
    """A file system of fsspec; see :class:`pyarrow.fs.FSSpecHandler`."""

    def get_file_info_selector(self, selector: fs.FileSelector) -> list[fs.FileInfo]:
        """Return the entries of one folder; that is all that is asked for here."""
        folder = selector.base_dir.strip("/")
        try:
            entries = self.fs.ls(selector.base_dir, detail=True)
        except (FileNotFoundError, NotADirectoryError):
            return []
        found = {}
        for entry in entries:
            path = str(entry["name"]).rstrip("/")
            # A listing of a file is the file itself, and some object stores list the marker of the folder.
            if path.strip("/").rpartition("/")[0] == folder and path.strip("/") != folder:
                found[path] = self._create_file_info(path, entry)
        return list(found.values())

    @staticmethod
    def _create_file_info(path: str, info: Mapping[str, Any]) -> fs.FileInfo:
        kind = {"file": fs.FileType.File, "directory": fs.FileType.Directory}.get(info["type"], fs.FileType.Unknown)
        size = info["size"] if kind is fs.FileType.File else None
        return fs.FileInfo(path, kind, size=size, mtime=_time_of(info))


def _time_of(info: Mapping[str, Any]) -> float | datetime | None:
    for name in _TIMES:
        value = info.get(name)
        if isinstance(value, str):
            value = _parse_time(value)
        if isinstance(value, datetime):
            return value
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            return value / 1000 if value > _MILLISECONDS_FROM else float(value)
    return None


def _parse_time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None


def fsspec_of(filesystem: fs.FileSystem) -> AbstractFileSystem | None:
    """Return the file system of fsspec that *filesystem* wraps; None if it wraps none."""
    if isinstance(filesystem, fs.PyFileSystem) and isinstance(filesystem.handler, fs.FSSpecHandler):
        return filesystem.handler.fs
    return None


def wrap_fsspec(filesystem: fs.FileSystem | AbstractFileSystem) -> fs.FileSystem:
    """Return *filesystem*; if it is of fsspec, or wraps such a one, as one of pyarrow with right listings.

    A file system of fsspec keeps no listings from then on.
    """
    if isinstance(filesystem, fs.FileSystem):
        wrapped = fsspec_of(filesystem)
        return filesystem if wrapped is None else wrap_fsspec(wrapped)
    if type(filesystem).__module__ == "hdfs_native.fsspec":
        from hudiformat.storage.hdfs import with_whole_names  # noqa: PLC0415 - an extra

        filesystem = with_whole_names(filesystem)
    # adlfs asks the listing of its folder whether a file is there.  A listing that another thread has just got may be
    # older than the file, so it does not help to drop it before each request.
    filesystem.dircache.use_listings_cache = False
    filesystem.dircache.clear()
    return fs.PyFileSystem(FsspecFiles(filesystem))


def drop_upload(stream: Any) -> None:
    """Drop a file of fsspec that is being written, which would else upload what it has when it is deleted."""
    with suppress(Exception):
        stream.discard()
    with suppress(AttributeError):
        stream.closed = True
