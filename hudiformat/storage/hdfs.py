"""The file systems of hdfs-native, whose names may contain ``#`` and ``?``.  hdfs-native must be installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hdfs_native.fsspec import HdfsFileSystem, ViewfsFileSystem

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem


class _WholeNames:
    """hdfs-native parses each path as a URI, and would drop what comes after these characters."""

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        if "://" in path:
            path = "/" + path.split("://", 1)[1].partition("/")[2]
        return path.rstrip("/") or "/"

    def remove_empty_folder(self, path: str) -> bool:
        """Delete a folder if it has no content, which the name node does in one step; return whether that happened."""
        filesystem: Any = self
        if not filesystem.isdir(path):
            return False  # a file would be deleted
        try:
            filesystem.rmdir(path)
        except RuntimeError as error:
            if "PathIsNotEmptyDirectoryException" not in str(error):
                raise
            return False
        return True


class Hdfs(_WholeNames, HdfsFileSystem):  # type: ignore[misc]  # it has no types
    """The file system of ``hdfs://`` URIs."""


class Viewfs(_WholeNames, ViewfsFileSystem):  # type: ignore[misc]  # it has no types
    """The file system of ``viewfs://`` URIs."""


def open_hdfs(scheme: str, host: str | None, port: int | None, **options: Any) -> AbstractFileSystem:
    """Return the file system of a name node, or of a name service of Hadoop's configuration."""
    return (Viewfs if scheme == "viewfs" else Hdfs)(host, port, **options)


def with_whole_names(filesystem: AbstractFileSystem) -> AbstractFileSystem:
    """Return the same file system with names that may contain any character."""
    if isinstance(filesystem, _WholeNames):
        return filesystem
    return open_hdfs(filesystem.protocol, filesystem.host, filesystem.port, **filesystem.storage_options)
