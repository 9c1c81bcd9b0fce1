"""The interface of a file system that a table needs, and the check of every path that a storage is given.

No path leads out of the root.  A table is not trusted: its timeline, plans, markers and properties name files, and a
name may be ``../../etc`` or contain a NUL.  Paths are made of such names in many places, but each storage checks whole
paths in one place.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from types import TracebackType
from typing import Protocol, runtime_checkable

import pyarrow as pa

from hudiformat.errors import StorageError
from hudiformat.wire import is_below_root

_SHOWN = 200


def check_path(path: str, root: str) -> str:
    """Return *path* if it names the root (the empty path) or something below it, and can be a path.

    Raises:
        StorageError: the path leads out of *root*, or cannot be a path.
    """
    if not is_below_root(path):
        raise StorageError(
            f"refused the path {path[:_SHOWN]!r} below {root}: expected names separated by single slashes, found an "
            "empty name, '.', '..', NUL or a surrogate; nothing outside the table is read or written, so look for "
            "the file of the table that contains this path",
            path=f"{root}/{path}".encode(errors="backslashreplace").decode(),
        )
    return path


TEMPORARY_PREFIX = ".hudiformat-"
"""The prefix of the names of incomplete files, which are renamed when they are complete."""


@dataclass(frozen=True, slots=True)
class FileInfo:
    """One entry of a listing: ``name`` without its folder, ``size`` in bytes (0 for a folder).

    ``modified`` is when the file was last written, in milliseconds since 1970; None if the listing does not contain it.
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
    """Of several writers that create the same file exactly one succeeds.  Without it, several can succeed, and the
    content of the last one stays: then a table may have one writer at a time, or needs an external lock."""
    append: bool = False
    """Bytes written to a file that is still open can be read, and stay if the writer dies."""
    sync: bool = False
    """``OutputFile.sync`` returns once the data is on disk; without it, data is safe when the file has been closed."""
    sync_together: bool = False
    """The storage is a :class:`SyncsTogether`, and its system can do that."""
    rename: bool = False
    """A file takes another name in one step."""
    map: bool = False
    """Only the used parts of a mapped file are read; without it, the whole file is fetched first."""
    reopen: bool = False
    """The storage :class:`Reopens` files: a closed file can be written on at its end."""
    lists_all: bool = False
    """The listing of a folder is known to have all its files; without it, a query compares it with all commits."""


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
        """Return once everything written is on disk, if the storage has the capability ``sync``."""
        ...

    def close(self) -> None:
        """Close the file, which on an object store is when it appears; a second call does nothing."""
        ...

    def abandon(self) -> None:
        """Release the file after a failed write; the caller deletes what was written of it."""
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
        """The folder that paths are relative to, in the form that users write, without passwords."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """What the storage can do."""
        ...

    def list(self, path: str) -> list[FileInfo]:
        """Return the entries of a folder, sorted by name; empty if the folder does not exist."""
        ...

    def exists(self, path: str) -> bool:
        """Return whether there is a file or folder at *path*."""
        ...

    def read(self, path: str) -> bytes:
        """Return the whole content of a small file.

        Raises:
            StorageError: the file does not exist, or cannot be read.
        """
        ...

    def map(self, path: str) -> memoryview:
        """Return the content of a file as it is now.

        With the capability ``map``, the content is read as it is used.  Without it, the whole file is fetched first: a
        large file in several ranges at a time, into a temporary file without a name.

        Raises:
            StorageError: the file does not exist, or cannot be read.
        """
        ...

    def open_input(self, path: str) -> pa.NativeFile:
        """Open a file whose ranges can be read, such as a few Parquet columns.

        On an object store only these ranges are fetched.

        Raises:
            StorageError: the file does not exist, or cannot be read.
        """
        ...

    def create(self, path: str, data: bytes, *, overwrite: bool = False, sync: bool = True) -> None:
        """Create a file with its folders, so that readers see it complete or not at all.

        With the capability ``atomic_create``, exactly one of several writers succeeds without *overwrite*.  Without
        *sync*, the data may reach the disk later.

        Raises:
            StorageError: the file exists and *overwrite* is false, or it cannot be written.
            UnsupportedFeatureError: the storage cannot make a file appear complete.

        Raises:
            UnsupportedFeatureError: the storage cannot make a file appear complete.
        """
        ...

    def open_new(self, path: str) -> OutputFile:
        """Open a new file, with its folders, which is written piece by piece.

        No other writer may use its name: only on the local file system do all but one of several writers fail.

        Raises:
            StorageError: the file exists, or cannot be created.
        """
        ...

    def rename(self, source: str, target: str) -> None:
        """Rename a file; the folder of the new name is created if necessary.

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
        """Return once no power cut can bring back files that any process has deleted from a folder.

        Nothing happens without the capability ``sync``.
        """
        ...

    def delete_empty_folder(self, path: str) -> bool:
        """Delete a folder that has no content, and return whether that has happened.

        Nothing happens to a folder with content, whoever puts it there and when.  Nothing happens either on object
        stores, where folders are only parts of names, and on file systems that cannot delete a folder only if it is
        empty.
        """
        ...

    def delete_folder(self, path: str) -> bool:
        """Delete a folder with all its content, and return whether it existed.

        Only for folders that belong to hudiformat as a whole, such as the markers of an instant: content of others is
        deleted too.
        """
        ...

    def delete(self, path: str) -> bool:
        """Delete a file, and return whether it existed.

        Raises:
            StorageError: the path is a folder, or the file cannot be deleted.
        """
        ...


@runtime_checkable
class Reopens(Protocol):
    """A storage on which a closed file can be written on at its end, if its capabilities say so."""

    def reopen(self, path: str) -> OutputFile:
        """Open a file that is there, to write on at its end; the size of what is returned includes what it has.

        On HDFS only one writer at a time has a file open; on a local file system several can, and what each writes in
        one call stays together.

        Raises:
            StorageError: there is no such file, another writer has it open, or it cannot be opened.
        """
        ...


def reopen(storage: Storage, path: str) -> OutputFile:
    """Open a file of *storage*, to write on at its end; see :meth:`Reopens.reopen`.

    Raises:
        StorageError: the storage cannot do that, or not with this file.
    """
    if not (storage.capabilities.reopen and isinstance(storage, Reopens)):
        raise StorageError(f"cannot append to {storage.root}/{path}: files of this storage are written once", path=path)
    return storage.reopen(path)


@runtime_checkable
class TellsOneThing(Protocol):
    """A storage that tells the names of files without their sizes, or the size of a file without opening it."""

    def list_names(self, path: str) -> list[str]:
        """Return the names of the files in a folder; none if the folder does not exist."""
        ...

    def list_others(self, path: str, known: AbstractSet[str]) -> list[str] | None:
        """Return the names of the files in a folder that are not among *known*; None if one of these is missing there.

        The time hardly depends on the number of known files.
        """
        ...

    def size(self, path: str) -> int:
        """Return the bytes of the file at *path*.

        Raises:
            StorageError: there is no such file.
        """
        ...


@runtime_checkable
class SyncsTogether(Protocol):
    """A storage that syncs any number of files in the time of a few, with all else that was written to it before."""

    def sync_together(self, files: Sequence[OutputFile]) -> None:
        """Return once *files*, all other files and their names are on disk.

        Raises:
            StorageError: something cannot be written.
        """
        ...
