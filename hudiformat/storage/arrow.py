"""Use the file systems of ``pyarrow.fs``, and those of fsspec, which pyarrow wraps: object stores, HDFS."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Any

import pyarrow as pa
from pyarrow import fs

from hudiformat.errors import StorageError, UnsupportedFeatureError, warn
from hudiformat.storage.azure import check_azure
from hudiformat.storage.credentials import missing_credentials
from hudiformat.storage.fsspec_files import drop_upload, fsspec_of, wrap_fsspec
from hudiformat.storage.local import remove_empty_folder
from hudiformat.storage.mapping import fetch
from hudiformat.storage.protocol import Capabilities, FileInfo, OutputFile, check_path
from hudiformat.storage.putting import Put, make_put
from hudiformat.storage.versions import Versions, VersionsBelow

_OBJECT_STORE = Capabilities()  # of fsspec: a listing may leave out what it has cached, or does not understand
_LISTED = Capabilities(lists_all=True)
_FILES = Capabilities(append=True, rename=True, reopen=True, lists_all=True)
_HDFS = Capabilities(rename=True, reopen=True, lists_all=True)  # what an open file has is seen once it is closed
_KNOWN = {
    "s3": _LISTED,
    "gs": _LISTED,
    "local": _FILES,
    "hdfs": _HDFS,
    "viewfs": _HDFS,
    # of fsspec
    "s3a": _OBJECT_STORE,
    "gcs": _OBJECT_STORE,
    "abfs": _OBJECT_STORE,
    "memory": _OBJECT_STORE,
    "azure": _OBJECT_STORE,  # if Azure's client puts whole files: pyarrow makes empty ones first
}
_UNKNOWN = Capabilities(append=True)
"""The assumption for a file system that is not known: files may be visible while they are written, as in pyarrow's
Azure, and renames may not work."""
_DELETIONS = 3
_KINDS = {fs.FileType.File: "file", fs.FileType.Directory: "folder", fs.FileType.Unknown: "special file"}


class ArrowStorage:
    """A folder of a ``pyarrow.fs`` file system; see :class:`~hudiformat.storage.protocol.Storage`.

    *base* is the folder's path in the file system, and *root* its name in messages.  *capabilities* are those of a file
    system that hudiformat does not know.  If *credentials_of* names a scheme, the first request checks that the
    environment has credentials for it.
    """

    def __init__(
        self,
        filesystem: fs.FileSystem,
        base: str,
        *,
        root: str | None = None,
        capabilities: Capabilities | None = None,
        credentials_of: str | None = None,
    ) -> None:
        self._filesystem = filesystem = wrap_fsspec(filesystem)
        self._credentials_of = credentials_of
        self._fsspec = fsspec_of(filesystem)
        self._base = base.rstrip("/")
        kind = _scheme_of(filesystem)
        self._is_local = kind == "local"
        self._lists_prefixes = kind != "gs"
        self._is_azure = kind == "azure"
        self._root = root or (self._base if kind == "local" else f"{kind}://{self._base.lstrip('/')}")
        if kind == "azure":
            check_azure(filesystem.__reduce__()[1][0], self._root)
        self._put = make_put(filesystem)
        self._capabilities = _capabilities(kind, self._put) if capabilities is None else capabilities
        if self._capabilities.atomic_create and (self._put is None or not self._put.is_conditional):
            self._capabilities = replace(self._capabilities, atomic_create=False)
            warn(
                f"{self._root}: its file system has no call by which only one of several writers creates a file, so "
                "atomic_create=True of capabilities= does not hold and is left out"
            )

    @property
    def root(self) -> str:
        return self._root

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    @property
    def versions(self) -> Versions | None:
        """The objects with their versions; None if the store or its client has none."""
        return VersionsBelow(self._put, self._base) if isinstance(self._put, Versions) else None

    def list(self, path: str) -> list[FileInfo]:
        with self._errors("list", path):
            target = self._path(path)
            selector = fs.FileSelector(target, allow_not_found=True, recursive=not self._lists_prefixes)
            try:
                entries = self._filesystem.get_file_info(selector)
            except NotADirectoryError:
                return []
        found = map(_file_info, entries) if self._lists_prefixes else _children(entries, target)
        return sorted(found, key=lambda info: info.name)

    def exists(self, path: str) -> bool:
        return self._type(path) is not fs.FileType.NotFound

    def read(self, path: str) -> bytes:
        with self._errors("read", path):
            data = self._read(path)
            # pyarrow's Azure asks for the size first: of a file that is replaced meanwhile it reads that many bytes.
            while self._is_azure and self._filesystem.get_file_info(self._path(path)).size not in (len(data), None):
                data = self._read(path)
            return data

    def _read(self, path: str) -> bytes:
        with self._filesystem.open_input_stream(self._path(path), compression=None) as file:
            data: bytes = file.read()
            return data

    def map(self, path: str) -> memoryview:
        with self.open_input(path) as file, self._errors("read", path):
            return fetch(file)

    def open_input(self, path: str) -> pa.NativeFile:
        with self._errors("read", path):
            return self._filesystem.open_input_file(self._path(path))

    def create(self, path: str, data: bytes, *, overwrite: bool = False, sync: bool = True) -> None:  # noqa: ARG002 - as Storage has it
        if not overwrite and self.exists(path):
            raise self._exists_error(path)
        with self._errors("create", path):
            if self._capabilities.append and not self._capabilities.rename:
                raise self._not_atomic_error("create", path)
            if self._capabilities.rename and not (self._put is not None and self._put.is_conditional):
                self._create_by_rename(path, data)
            else:
                self._put_whole(path, data, overwrite=overwrite)

    def _put_whole(self, path: str, data: bytes, *, overwrite: bool) -> None:
        if self._put is None:
            self._write(self._path(path), data)
        else:
            self._put(self._path(path), data, overwrite=overwrite)

    def _create_by_rename(self, path: str, data: bytes) -> None:
        target = self._path(path)
        folder = target.rpartition("/")[0]
        temporary = f"{folder}/.hudiformat-{uuid.uuid4()}"
        self._filesystem.create_dir(folder, recursive=True)
        try:
            self._write(temporary, data)
            self._filesystem.move(temporary, target)
        except BaseException:
            self._filesystem.delete_file(temporary)
            raise

    def _write(self, target: str, data: bytes) -> None:
        with self._filesystem.open_output_stream(target, compression=None) as file:
            file.write(data)

    def open_new(self, path: str) -> OutputFile:
        if self.exists(path):
            raise self._exists_error(path)
        target = self._path(path)
        with self._errors("create", path):
            if self._capabilities.append or self._capabilities.rename:  # object stores have no folders
                self._filesystem.create_dir(target.rpartition("/")[0], recursive=True)
            if self._fsspec is None:
                open_stream = partial(self._filesystem.open_output_stream, target, compression=None)
            else:
                open_stream = partial(self._fsspec.open, target, mode="wb")
            file = ArrowOutputFile(open_stream, self._name(path))
            if self._capabilities.append:
                file.open()
            return file

    def reopen(self, path: str) -> OutputFile:
        target = self._path(path)
        with self._errors("append to", path):
            size = self._filesystem.get_file_info(target).size or 0
            if self._fsspec is None:
                open_stream = partial(self._filesystem.open_append_stream, target, compression=None)
            else:
                open_stream = partial(self._fsspec.open, target, mode="ab")
            file = ArrowOutputFile(open_stream, self._name(path), size=size, opening="append to")
            file.open()  # now, so that another writer who has it open is found out
            return file

    def rename(self, source: str, target: str) -> None:
        if self._capabilities.append and not self._capabilities.rename:
            raise self._not_atomic_error("rename", source)
        if self.exists(target):
            raise StorageError(
                f"cannot rename {self._name(source)} to {self._name(target)}: File exists", path=self._name(source)
            )
        with self._errors("rename", source):
            if self._capabilities.rename:
                self._filesystem.create_dir(self._path(target).rpartition("/")[0], recursive=True)
            try:
                self._filesystem.move(self._path(source), self._path(target))  # copies and deletes on object stores
            except NotImplementedError:  # on Azure
                self._filesystem.copy_file(self._path(source), self._path(target))
                self._filesystem.delete_file(self._path(source))

    def make_folder(self, path: str) -> None:
        with self._errors("create", path):
            self._filesystem.create_dir(self._path(path), recursive=True)

    def set_modified(self, path: str, milliseconds: int) -> bool:
        if self._is_local:
            with self._errors("set the time of", path):
                os.utime(self._path(path), ns=(milliseconds * 1_000_000,) * 2)
        return self._is_local

    def sync_deletions(self, path: str) -> None:
        """Do nothing: the server makes deletions permanent."""

    def delete_empty_folder(self, path: str) -> bool:
        # pyarrow deletes folders with all their content, also with files that came after a check.
        if self._is_local:
            return remove_empty_folder(self._path(path))
        remove = getattr(self._fsspec, "remove_empty_folder", None)  # of hdfs-native
        with self._errors("delete", path):
            return remove is not None and bool(remove(self._path(path)))

    def delete_folder(self, path: str) -> bool:
        return self._delete(path, fs.FileType.Directory, self._delete_dir)

    def delete(self, path: str) -> bool:
        return self._delete(path, fs.FileType.File, self._filesystem.delete_file)

    def _delete(self, path: str, expected: fs.FileType, delete: Callable[[str], None]) -> bool:
        # The type is looked up first: some file systems delete a folder as if it were a file, or the other way round.
        found = self._type(path)
        if found is fs.FileType.NotFound:
            return False
        with self._errors("delete", path):
            if found is not expected:
                raise OSError(f"expected a {_KINDS[expected]}, found a {_KINDS[found]}")
            try:
                delete(self._path(path))
            except FileNotFoundError:  # another process deleted it first
                return False
        return True

    def _delete_dir(self, target: str) -> None:
        """Delete a folder; try again if it fails: objects may have been added, or a child may still be there."""
        if not self._lists_prefixes:  # nor does pyarrow delete a folder without an object of its own
            for entry in self._filesystem.get_file_info(fs.FileSelector(target, recursive=True, allow_not_found=True)):
                if entry.is_file:
                    self._filesystem.delete_file(entry.path)
            with suppress(OSError):
                self._filesystem.delete_dir(target)
            return
        for _ in range(_DELETIONS - 1):
            with suppress(OSError):
                self._filesystem.delete_dir(target)
                return
        self._filesystem.delete_dir(target)

    def _path(self, path: str) -> str:
        target = f"{self._base}/{check_path(path, self._root)}" if path else self._base
        if self._fsspec is not None:
            self._fsspec.invalidate_cache(target)  # otherwise fsspec returns old listings
        return target

    def _name(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root

    def _type(self, path: str) -> fs.FileType:
        with self._errors("look up", path):
            return self._filesystem.get_file_info(self._path(path)).type

    def _exists_error(self, path: str) -> StorageError:
        name = self._name(path)
        return StorageError(f"cannot create {name}: File exists", path=name)

    def _not_atomic_error(self, action: str, path: str) -> UnsupportedFeatureError:
        return UnsupportedFeatureError(
            f"cannot {action} {self._name(path)}: expected a file system that shows only whole "
            "files, or that has rename, found neither; if yours does, pass capabilities= to "
            "open_storage",
            feature="creating whole files",
        )

    @contextmanager
    def _errors(self, action: str, path: str) -> Iterator[None]:
        if self._credentials_of is not None:
            self._check_credentials(self._credentials_of)
        with _StorageErrors(action, self._name(path)):
            yield

    def _check_credentials(self, scheme: str) -> None:
        if (missing := missing_credentials(scheme)) is not None:
            raise StorageError(f"cannot open {self._root}: {missing}", path=self._root)
        self._credentials_of = None


class ArrowOutputFile:
    """A file that is written front to back; see :class:`~hudiformat.storage.protocol.OutputFile`."""

    def __init__(self, open_stream: Callable[[], Any], name: str, *, size: int = 0, opening: str = "create") -> None:
        # An upload that has begun is finished when the stream is destroyed, whatever has failed.  So it begins with the
        # first bytes, and the stream is dropped as soon as it fails: no object appears after the caller has cleaned up.
        self._open = open_stream
        self._stream: Any = None  # of pyarrow, or a file of fsspec
        self._is_closed = False
        self._name = name
        self._size = size
        self._opening = opening

    def open(self) -> None:
        """Open the stream, if it is not open; on an object store that begins the upload."""
        if self._stream is None:
            with _StorageErrors(self._opening, self._name):
                self._stream = self._open()

    @property
    def size(self) -> int:
        return self._size

    def write(self, *parts: bytes | memoryview) -> None:
        stream = self._open_stream("write")
        try:
            with _StorageErrors("write", self._name):
                for part in parts:
                    view = memoryview(part).cast("B")
                    stream.write(view)
                    self._size += view.nbytes
        except StorageError:
            del stream
            self.abandon()
            raise

    def sync(self) -> None:
        with _StorageErrors("sync", self._name):
            stream = self._open_stream("sync")
            # HDFS: without it a file that is closed is in the memory of the data nodes; a flush does nothing there.
            getattr(stream, "hsync", stream.flush)()

    def _open_stream(self, action: str) -> Any:
        if self._is_closed:
            raise StorageError(f"cannot {action} {self._name}: it is closed", path=self._name)
        self.open()
        return self._stream

    def close(self) -> None:
        if self._is_closed:
            return
        try:
            self.open()
            with _StorageErrors("close", self._name):
                if self._stream is not None:
                    self._stream.close()
                self._is_closed = True
        finally:
            self.abandon()

    def abandon(self) -> None:
        if self._stream is not None and not self._is_closed and not isinstance(self._stream, pa.NativeFile):
            drop_upload(self._stream)
        self._is_closed = True
        self._stream = None

    def __enter__(self) -> ArrowOutputFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            self.abandon()


class _StorageErrors:
    """The block in which errors of a file system become errors of the storage, which name what could not be done.

    It is no generator: from Python 3.12 on, the frames of one keep the error alive, and with it the stream that failed.
    """

    __slots__ = ("_action", "_name")

    def __init__(self, action: str, name: str) -> None:
        self._action = action
        self._name = name

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        # File systems of others raise errors of their own.
        if isinstance(error, Exception) and not isinstance(error, (StorageError, UnsupportedFeatureError)):
            said = str(error).partition("\n\tat ")[0]  # without Java's trace, which the cause has
            raise StorageError(f"cannot {self._action} {self._name}: {said}", path=self._name) from error


def _file_info(entry: fs.FileInfo) -> FileInfo:
    nanoseconds = entry.mtime_ns
    modified = None if nanoseconds is None else nanoseconds // 1_000_000
    return FileInfo(entry.base_name, entry.size or 0, not entry.is_file, modified)


def _children(entries: Iterable[fs.FileInfo], folder: str) -> list[FileInfo]:
    """Return the entries of a *folder* from those of all folders below it.

    pyarrow's Google Cloud Storage lists no folders but those that have an object of their own.
    """
    found: dict[str, FileInfo] = {}
    for entry in entries:
        name, _, below = entry.path.removeprefix(folder).strip("/").partition("/")
        if below or not entry.is_file:
            found[name] = FileInfo(name, 0, is_dir=True)
        elif name:
            found.setdefault(name, _file_info(entry))
    return list(found.values())


def _scheme_of(filesystem: fs.FileSystem) -> str:
    """Return the scheme of the file system's URIs."""
    if (wrapped := fsspec_of(filesystem)) is not None:
        protocol = wrapped.protocol
        return str(protocol if isinstance(protocol, str) else protocol[0])
    name: str = filesystem.type_name
    return {"gcs": "gs", "abfs": "azure"}.get(name, name)  # "abfs" means fsspec's file system


def _capabilities(kind: str, put: Put | None) -> Capabilities:
    if kind == "azure" and put is None:
        return _UNKNOWN
    return replace(_KNOWN.get(kind, _UNKNOWN), atomic_create=kind in _KNOWN and put is not None and put.is_conditional)
