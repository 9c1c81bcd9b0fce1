"""What a table needs of a file system.  No implementation, no policy."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import TracebackType
from typing import Protocol, runtime_checkable

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class FileInfo:
    """One entry of a listing: ``name`` without its folder, ``size`` in bytes (0 for a folder).

    ``modified`` is when the file was last written, in milliseconds since 1970; None where the listing does not say.
    """

    name: str
    size: int
    is_dir: bool
    modified: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a storage can do beyond reading, listing and writing whole files.

    Without ``append`` a file appears, whole, when it is closed, as on object stores; with it, it grows in the sight of
    readers.  Without both ``append`` and ``rename`` nothing is lost but time.  With ``append`` and without ``rename``
    no file can be made to appear whole: such a storage is good for reading only.
    """

    atomic_create: bool = False
    """Of several writers that create one file exactly one wins; without it, those that look at the same moment all do,
    and the last one's content stays: a table there has one writer at a time, or a lock elsewhere."""
    append: bool = False
    """What is written to a file that is still open can be read, and stays if the writer dies."""
    sync: bool = False
    """``OutputFile.sync`` returns once the data is on disk; without it, data is safe when the file has been closed."""
    rename: bool = False
    """A file takes another name in one step."""
    map: bool = False
    """Mapped files are read where they are touched; without it, they are fetched whole beforehand."""


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
        """Return once everything written is on disk, where the storage has the capability ``sync``."""
        ...

    def close(self) -> None:
        """Close the file, which on an object store is when it appears; a second call does nothing."""
        ...

    def __enter__(self) -> OutputFile: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


@runtime_checkable
class Storage(Protocol):
    """A folder tree.  An implementation can be pickled, and all its methods can be called from several threads."""

    @property
    def root(self) -> str:
        """The folder that paths are relative to, as a user would name it; without passwords."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """What the storage can do."""
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
        """The content of a file as it is now.  Raises StorageError when it is missing.

        Where the storage maps, the content is read when it is touched.  Else it has been fetched before this returns:
        a large file by several ranges at a time into a nameless temporary file.
        """
        ...

    def open_input(self, path: str) -> pa.NativeFile:
        """A file of which ranges are read, as those of a few Parquet columns.  Raises StorageError when it is missing.

        On an object store what is asked for is fetched, and nothing else.
        """
        ...

    def create(self, path: str, data: bytes, *, overwrite: bool = False, sync: bool = True) -> None:
        """Make a file appear whole, with its folders.

        Nobody ever sees a part of it.  Without *overwrite* a file that is there raises a StorageError, and of several
        writers exactly one wins, where the storage has the capability ``atomic_create``.

        Raises:
            UnsupportedFeatureError: the storage has no way to make a file appear whole.
        """
        ...

    def open_new(self, path: str) -> OutputFile:
        """A new file that is written piece by piece, with its folders.  Raises StorageError when there is one.

        Its name has to be the writer's own: only a local file is refused to all but one of several writers.
        """
        ...

    def rename(self, source: str, target: str) -> None:
        """Give a file another name, in a folder that is made if need be.

        In one step where the storage has the capability ``rename``.  Elsewhere the file is copied, so that it appears
        whole, and then deleted: whoever dies between the two leaves both.  Like a new file's, the name has to be the
        caller's own.

        Raises:
            StorageError: there is no *source*, or there is a *target*.
            UnsupportedFeatureError: the storage has no way to make a file appear whole.
        """
        ...

    def make_folder(self, path: str) -> None:
        """See to it that there is a folder, for readers that take a missing one for an error.

        Nothing happens where folders are but parts of names, as in ``s3fs``.
        """
        ...

    def delete(self, path: str) -> bool:
        """Remove a file, or a folder with all in it; whether there was one."""
        ...
