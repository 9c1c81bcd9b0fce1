"""What a table needs of a file system.  No implementation, no policy."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Protocol


@dataclass(frozen=True, slots=True)
class FileInfo:
    """One entry of a listing: ``name`` without its folder, ``size`` in bytes (0 for a folder)."""

    name: str
    size: int
    is_dir: bool


class OutputFile(Protocol):
    """A file that is being written, front to back."""

    @property
    def size(self) -> int:
        """Bytes written so far."""
        ...

    def write(self, *parts: bytes | memoryview) -> None:
        """Append *parts* in one gathered write and hand them to the operating system."""
        ...

    def sync(self) -> None:
        """Return once everything written is on disk."""
        ...

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        ...

    def __enter__(self) -> OutputFile: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Storage(Protocol):
    """A folder tree.  An implementation can be pickled, and all its methods can be called from several threads."""

    @property
    def root(self) -> str:
        """The folder that paths are relative to, as a user would name it."""
        ...

    def list(self, path: str) -> list[FileInfo]:
        """The entries of a folder, sorted by name; empty when there is no such folder."""
        ...

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder at *path*."""
        ...

    def read(self, path: str) -> bytes:
        """The whole content of a small file.  Raises StorageError when it is missing."""
        ...

    def map(self, path: str) -> memoryview:
        """The content of a file as it is now, read when touched.  Raises StorageError when it is missing."""
        ...

    def create(self, path: str, data: bytes, *, overwrite: bool = False, sync: bool = True) -> None:
        """Make a file appear whole, with its folders.

        Nobody ever sees a part of it.  Without *overwrite* exactly one of several writers wins; the others get a
        StorageError.
        """
        ...

    def open_new(self, path: str) -> OutputFile:
        """A new file that grows as it is written, with its folders.  Raises StorageError when there is one."""
        ...

    def delete(self, path: str) -> bool:
        """Remove a file, or a folder with all in it; whether there was one."""
        ...
