"""What a table needs of a file system.  No implementation, no policy."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import TracebackType
from typing import Protocol, runtime_checkable

import pyarrow as pa

TEMPORARY_PREFIX = ".hudiformat-"
"""How the names of files begin that get another name when they are complete."""


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

    Without ``append`` a file appears when it is closed, complete, as on object stores; with it, readers see it grow.  A
    storage without ``append`` and ``rename`` is only slower.  A storage with ``append`` and without ``rename`` cannot
    make a file appear complete, so it can only be read.
    """

    atomic_create: bool = False
    """Of several writers that create the same file exactly one succeeds; without it, several can succeed, and the last
    one's content stays: then a table may have one writer at a time, or needs a lock elsewhere."""
    append: bool = False
    """Bytes written to a file that is still open can be read, and stay if the writer dies."""
    sync: bool = False
    """``OutputFile.sync`` returns once the data is on disk; without it, data is safe when the file has been closed."""
    rename: bool = False
    """A file takes another name in one step."""
    map: bool = False
    """Only the used parts of a mapped file are read; without it, the whole file is fetched first."""


class OutputFile(Protocol):
    """A file that is being written, front to back."""

    @property
    def size(self) -> int:
        """Bytes written so far."""
        ...

    def write(self, *parts: bytes | memoryview) -> None:
        """Append *parts* in one write and hand them to the operating system."""
        ...

    def sync(self) -> None:
        """Return once everything written is on disk, where the storage has the capability ``sync``."""
        ...

    def close(self) -> None:
        """Close the file, which on an object store is when it appears; a second call does nothing."""
        ...

    def abandon(self) -> None:
        """Let go of the file where its writing has failed; what there is of it is for the caller to delete."""
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
        """The folder that paths are relative to, as a user would write it, without passwords."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """What the storage can do."""
        ...

    def list(self, path: str) -> list[FileInfo]:
        """The entries of a folder, sorted by name; empty if the folder does not exist."""
        ...

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder at *path*."""
        ...

    def read(self, path: str) -> bytes:
        """The whole content of a small file.  Raises StorageError when it is missing."""
        ...

    def map(self, path: str) -> memoryview:
        """The content of a file as it is now.  Raises StorageError when it is missing.

        With the capability ``map``, the content is read as it is used.  Without it, the whole file is fetched first: a
        large file in several ranges at a time, into a temporary file without a name.
        """
        ...

    def open_input(self, path: str) -> pa.NativeFile:
        """A file whose ranges can be read, such as a few Parquet columns.  Raises StorageError when it is missing.

        On an object store only these ranges are fetched.
        """
        ...

    def create(self, path: str, data: bytes, *, overwrite: bool = False, sync: bool = True) -> None:
        """Create a file with its folders, so that readers see it complete or not at all.

        Without *overwrite* an existing file raises a StorageError, and with the capability ``atomic_create`` exactly
        one of several writers succeeds.

        Raises:
            UnsupportedFeatureError: the storage cannot make a file appear complete.
        """
        ...

    def open_new(self, path: str) -> OutputFile:
        """A new file, written piece by piece, with its folders.  Raises StorageError if it exists.

        No other writer may use its name: only on the local file system do all but one of several writers fail.
        """
        ...

    def rename(self, source: str, target: str) -> None:
        """Give a file another name, in a folder that is created if necessary.

        With the capability ``rename`` it is one step.  Without it the file is copied, so that it appears complete, and
        then deleted: a writer that dies in between leaves both.  No other writer may use the new name.

        Raises:
            StorageError: *source* does not exist, or *target* exists.
            UnsupportedFeatureError: the storage cannot make a file appear complete.
        """
        ...

    def make_folder(self, path: str) -> None:
        """Create a folder if it is missing, for readers to which a missing folder is an error.

        Nothing happens on object stores, where folders are only parts of names, as in ``s3fs``.
        """
        ...

    def set_modified(self, path: str, milliseconds: int) -> bool:
        """Set when a file was last written, in milliseconds since 1970, and return whether that has happened.

        Nothing happens on storages where only the server sets it, such as object stores.

        Raises:
            StorageError: there is no such file.
        """
        ...

    def sync_deletions(self, path: str) -> None:
        """Return once no power cut brings back what has been deleted from a folder, by whomever.

        Nothing happens without the capability ``sync``.
        """
        ...

    def delete_empty_folder(self, path: str) -> bool:
        """Delete a folder that has no content, and return whether that has happened.

        Nothing happens to a folder with content, whoever puts it there and when, and on storages that cannot tell: on
        object stores, where folders are only parts of names, and on file systems without such an operation.
        """
        ...

    def delete_folder(self, path: str) -> bool:
        """Delete a folder with all that it has in it, and return whether it existed.

        Only for folders that are ours whole, such as the markers of an instant: what others have put there goes too.
        """
        ...

    def delete(self, path: str) -> bool:
        """Delete a file, and return whether it existed.

        Raises:
            StorageError: The path is a folder, whatever its name, or the file cannot be deleted.
        """
        ...
