"""The local file system, and mapped files whose memory can be released.

Hudi's JVM writes a checksum ``.name.crc`` beside every file, and checks it when it reads the file.  Before a file is
replaced or deleted its checksum has to be deleted, or Hudi refuses the new content.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from operator import attrgetter
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import pyarrow as pa

from hudiformat.errors import StorageError
from hudiformat.storage.protocol import TEMPORARY_PREFIX, Capabilities, FileInfo, OutputFile

T = TypeVar("T")
_TRIES = 10
_IOV_MAX = 1024  # writev takes no more parts than this on Linux and macOS
_SMALL = 1 << 14  # bytes: joining the parts takes less time than writing them one by one


class LocalStorage:
    """A folder of the local file system; see :class:`~hudiformat.storage.protocol.Storage`."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self._root = Path(os.path.abspath(root))  # noqa: PTH100 - resolve() would follow links, which users do not expect

    @property
    def root(self) -> str:
        return str(self._root)

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(atomic_create=True, append=True, sync=True, rename=True, map=True)

    def _path(self, path: str) -> Path:
        return self._root / path if path else self._root

    def list(self, path: str) -> list[FileInfo]:
        try:
            with os.scandir(f"{self._root}/{path}") as entries:
                infos = [info for entry in entries if (info := _file_info(entry))]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise _storage_error("list", self._path(path), error) from error
        return sorted(infos, key=attrgetter("name"))

    def exists(self, path: str) -> bool:
        return self._path(path).exists()

    def read(self, path: str) -> bytes:
        try:
            return self._path(path).read_bytes()
        except OSError as error:
            raise _storage_error("read", self._path(path), error) from error

    def map(self, path: str) -> memoryview:
        try:
            with self._path(path).open("rb") as file:
                if os.fstat(file.fileno()).st_size == 0:
                    return memoryview(b"")  # an empty file cannot be mapped
                return memoryview(FileMap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except OSError as error:
            raise _storage_error("read", self._path(path), error) from error

    def open_input(self, path: str) -> pa.NativeFile:
        return pa.BufferReader(self.map(path))

    def create(self, path: str, data: bytes, *, overwrite: bool = False, sync: bool = True) -> None:
        target = self._path(path)
        try:
            handle, temporary = _made_in(
                target.parent, lambda: tempfile.mkstemp(prefix=TEMPORARY_PREFIX, dir=target.parent)
            )
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(data)
                    if sync:
                        file.flush()
                        os.fsync(file.fileno())
                Path(temporary).chmod(0o644)
                if overwrite or not target.exists():  # without a target the checksum is a leftover
                    _checksum_file(target).unlink(missing_ok=True)
                if overwrite:
                    Path(temporary).replace(target)
                else:
                    os.link(temporary, target)  # fails when the target exists; a rename would replace it
            finally:
                Path(temporary).unlink(missing_ok=True)
            if sync:
                _sync_folder(target.parent)
        except OSError as error:
            raise _storage_error("create", target, error) from error

    def open_new(self, path: str) -> OutputFile:
        return LocalOutputFile(self._path(path))

    def rename(self, source: str, target: str) -> None:
        old, new = self._path(source), self._path(target)
        try:
            new.parent.mkdir(parents=True, exist_ok=True)
            if new.exists():
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
            _checksum_file(new).unlink(missing_ok=True)
            old.rename(new)
            _checksum_file(old).unlink(missing_ok=True)
            _sync_folder(new.parent)
        except OSError as error:
            raise _storage_error("rename", old, error, f" to {new}") from error

    def make_folder(self, path: str) -> None:
        folder = self._path(path)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _storage_error("create", folder, error) from error

    def delete_empty_folder(self, path: str) -> bool:
        return remove_empty_folder(self._path(path))

    def delete(self, path: str) -> bool:
        target = self._path(path)
        try:
            if target.is_dir():
                shutil.rmtree(target)
                return True
            _checksum_file(target).unlink(missing_ok=True)
            target.unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise _storage_error("delete", target, error) from error
        return True


class LocalOutputFile:
    """A local file that is written front to back; see :class:`~hudiformat.storage.protocol.OutputFile`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._size = 0
        self._closed = False
        self._folder_synced = False
        try:
            _checksum_file(path).unlink(missing_ok=True)
            self._handle = _made_in(
                path.parent, lambda: os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
            )
        except OSError as error:
            raise _storage_error("create", path, error) from error

    @property
    def size(self) -> int:
        return self._size

    def write(self, *parts: bytes | memoryview) -> None:
        self._check_open("write")
        try:
            size = sum(map(len, parts))
            if size <= _SMALL:
                written = os.write(self._handle, b"".join(parts))
            else:
                written = os.writev(self._handle, parts[:_IOV_MAX])
            self._size += written
            if written != size:  # a write may be partial
                self._write_rest(parts, written)
        except OSError as error:
            raise _storage_error("write", self._path, error) from error

    def _write_rest(self, parts: tuple[bytes | memoryview, ...], written: int) -> None:
        waiting = [memoryview(part).cast("B") for part in parts]
        while True:
            while waiting and written >= len(waiting[0]):
                written -= len(waiting.pop(0))
            if not waiting:
                return
            waiting[0] = waiting[0][written:]
            written = os.writev(self._handle, waiting[:_IOV_MAX])
            self._size += written

    def sync(self) -> None:
        self._check_open("sync")
        try:
            os.fsync(self._handle)
            if not self._folder_synced:  # the name of a new file is on disk only with its folder
                _sync_folder(self._path.parent)
                self._folder_synced = True
        except OSError as error:
            raise _storage_error("sync", self._path, error) from error

    def _check_open(self, action: str) -> None:
        if self._closed:  # the descriptor may belong to another file now
            raise StorageError(f"cannot {action} {self._path}: it is closed", path=str(self._path))

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            os.close(self._handle)

    def __enter__(self) -> LocalOutputFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _file_info(entry: os.DirEntry[str]) -> FileInfo | None:
    """The entry's information; None for a file that was deleted after the listing, and for a broken link."""
    try:
        if entry.is_dir():
            return FileInfo(entry.name, 0, is_dir=True)
        status = entry.stat()
        return FileInfo(entry.name, status.st_size, is_dir=False, modified=status.st_mtime_ns // 1_000_000)
    except FileNotFoundError:
        return None


def remove_empty_folder(folder: Path) -> bool:
    """Delete *folder* of the local file system if it has no content, in one step; whether that has happened."""
    try:
        folder.rmdir()
    except FileNotFoundError:
        return False
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            return False
        raise _storage_error("delete", folder, error) from error
    return True


def _made_in(folder: Path, make: Callable[[], T]) -> T:
    """*make* a file in *folder*, which is created if need be; another process may delete it as long as it is empty."""
    for _ in range(_TRIES):
        with contextlib.suppress(FileNotFoundError):
            folder.mkdir(parents=True, exist_ok=True)
            return make()
    return make()


def _checksum_file(path: Path) -> Path:
    return path.with_name(f".{path.name}.crc")


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _storage_error(action: str, path: Path, error: OSError, rest: str = "") -> StorageError:
    return StorageError(f"cannot {action} {path}{rest}: {error.strerror or error}", path=str(path))


_STRIDE = 32 << 20  # bytes
_MARGIN = 4 << 20  # bytes that the kernel may map around a byte that is read: pages come in folios


class FileMap(mmap.mmap):
    """A read-only map of a file: its pages can be released at any time, and are read again when they are used."""


class Trail:
    """Releases the memory of a mapped file behind a reader that walks through it, in either direction.

    Without it every page that was read counts as memory of the process until the system runs short.  Views of the file
    stay valid.  For bytes that are no :class:`FileMap` nothing is done.
    """

    def __init__(self, data: memoryview, start: int = 0) -> None:
        self._map = data.obj if isinstance(data.obj, FileMap) else None
        self._last = start

    def reach(self, position: int) -> None:
        """Report that the reader has come to *position*, in bytes from the start of the file."""
        if self._map is None or abs(position - self._last) < _STRIDE:
            return
        first = max(min(self._last, position) - _MARGIN, 0) // mmap.PAGESIZE * mmap.PAGESIZE
        last = min(max(self._last, position) + _MARGIN, len(self._map))
        self._map.madvise(mmap.MADV_DONTNEED, first, last - first)
        self._last = position


def give_back(views: Iterable[bytes | memoryview]) -> None:
    """Release the memory of the mapped files that *views* are parts of; the views stay valid.

    For bytes in no :class:`FileMap` nothing is done.
    """
    maps = {view.obj for view in views if isinstance(view, memoryview) and isinstance(view.obj, FileMap)}
    for file_map in maps:
        file_map.madvise(mmap.MADV_DONTNEED)
