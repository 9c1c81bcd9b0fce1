"""Use the local file system.

Hudi's JVM writes a checksum ``.name.crc`` beside every file, and checks it when it reads the file.  Before a file is
replaced or deleted its checksum has to be deleted, otherwise Hudi refuses the new content.

Paths are texts here, not objects of ``pathlib``, which would take most of the time of a small file.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import itertools
import os
import shutil
import stat
import threading
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from operator import attrgetter
from types import TracebackType
from typing import TypeVar

import pyarrow as pa

from hudiformat.errors import StorageError
from hudiformat.storage.mapping import map_file
from hudiformat.storage.protocol import TEMPORARY_PREFIX, Capabilities, FileInfo, OutputFile, check_path
from hudiformat.wire import is_below_root

T = TypeVar("T")
_TRIES = 10
_IOV_MAX = 1024  # the limit of the number of parts in a writev on Linux and macOS
_SMALL = 1 << 14  # bytes: joining the parts takes less time than writing them one by one


class LocalStorage:
    """A folder of the local file system; see :class:`~hudiformat.storage.protocol.Storage`.

    A symbolic link in the folder is followed if it leads to a place below the folder, and refused otherwise.  The
    folder itself may be reached through links.  New files and folders get the permissions that the umask leaves.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        try:
            self._root = os.path.abspath(root)  # resolving would follow links, which is not expected
        except OSError as error:  # there is no current folder any more
            raise _storage_error("open", os.fspath(root), error) from error
        if not is_below_root(self._root[1:]):
            check_path(self._root[1:], "/")

    @property
    def root(self) -> str:
        return self._root

    @property
    def capabilities(self) -> Capabilities:
        together = _sync_file_system() is not None
        return Capabilities(
            atomic_create=True,
            append=True,
            sync=True,
            sync_together=together,
            rename=True,
            reopen=True,
            map=True,
            lists_all=True,
        )

    def _resolve(self, path: str, *, itself: bool = False) -> str:
        """Return the absolute path of *path*; links on the way are checked.

        A link at *path* is checked too, unless *itself* says that the link is meant, not its target.

        Raises:
            StorageError: the path leads out of the root, by its names or by links.
        """
        root = self._root
        if not is_below_root(path):
            check_path(path, root)  # raises
        target = f"{root}/{path}" if path else root
        at, last = len(root), target.rfind("/") if itself else len(target)
        while at < last:  # each name below the root
            end = target.find("/", at + 1)
            at = len(target) if end < 0 else end
            try:
                mode = os.lstat(target[:at]).st_mode
            except OSError:
                break  # it does not exist, or the operation itself meets the same error
            if stat.S_ISLNK(mode):
                _refuse_outside(target, root)
                break
        return target

    def list_names(self, path: str) -> list[str]:
        return self._entries(path, _name_of_file)

    def list_others(self, path: str, known: AbstractSet[str]) -> list[str] | None:
        folder = self._resolve(path)
        try:
            found = set(os.listdir(folder))  # which takes a tenth of the time of scandir
        except (FileNotFoundError, NotADirectoryError):
            found = set()
        except OSError as error:
            raise _storage_error("list", folder, error) from error
        if not known <= found:
            return None
        return [name for name in found - known if _is_text(name) and not os.path.isdir(f"{folder}/{name}")]

    def _entries(self, path: str, take: Callable[[os.DirEntry[str]], T | None]) -> list[T]:
        """Return what *take* returns for the entries of a folder, but None."""
        folder = self._resolve(path)
        try:
            with os.scandir(folder) as entries:
                return [taken for entry in entries if (taken := take(entry)) is not None]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise _storage_error("list", folder, error) from error

    def list(self, path: str) -> list[FileInfo]:
        return sorted(self._entries(path, _file_info), key=attrgetter("name"))

    def exists(self, path: str) -> bool:
        target = self._resolve(path)
        try:
            return _exists(target)
        except OSError as error:  # a name that is too long, for instance
            raise _storage_error("look up", target, error) from error

    def read(self, path: str) -> bytes:
        target = self._resolve(path)
        try:
            with open(target, "rb", buffering=0) as file:
                return file.read()
        except OSError as error:
            raise _storage_error("read", target, error) from error

    def map(self, path: str) -> memoryview:
        target = self._resolve(path)
        try:
            return map_file(target)
        except OSError as error:
            raise _storage_error("read", target, error) from error

    def size(self, path: str) -> int:
        target = self._resolve(path)
        try:
            found = os.stat(target)
        except OSError as error:
            raise _storage_error("read", target, error) from error
        if stat.S_ISDIR(found.st_mode):
            raise _storage_error("read", target, IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR)))
        return found.st_size

    def open_input(self, path: str) -> pa.NativeFile:
        return pa.BufferReader(self.map(path))

    def create(self, path: str, data: bytes, *, overwrite: bool = False, sync: bool = True) -> None:
        target = self._resolve(path, itself=True)
        folder = _folder_of(target)
        temporary = f"{folder}/{TEMPORARY_PREFIX}{uuid.uuid4().hex}"
        try:
            try:
                _create_in(folder, self._root, lambda: _write_new(temporary, data, sync=sync))
                if overwrite or not _exists(target):  # without a target the checksum is a leftover
                    _unlink(_checksum_file(target))
                if overwrite:
                    os.replace(temporary, target)
                else:
                    os.link(temporary, target)  # fails when the target exists; a rename would replace it
            finally:
                _unlink(temporary)
            if sync:
                _sync_entry(target, self._root)
        except OSError as error:
            raise _storage_error("create", target, error) from error

    def open_new(self, path: str) -> OutputFile:
        return LocalOutputFile(self._resolve(path, itself=True), self._root)

    def reopen(self, path: str) -> OutputFile:
        return LocalOutputFile(self._resolve(path, itself=True), self._root, is_new=False)

    def rename(self, source: str, target: str) -> None:
        old, new = self._resolve(source, itself=True), self._resolve(target, itself=True)
        try:
            _make_folder(_folder_of(new), self._root)
            if _exists(new):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
            _unlink(_checksum_file(new))
            os.rename(old, new)
            _unlink(_checksum_file(old))
            _sync_entry(new, self._root)
        except OSError as error:
            raise _storage_error("rename", old, error, f" to {new}") from error

    def make_folder(self, path: str) -> None:
        folder = self._resolve(path)
        try:
            _make_folder(folder, self._root)
        except OSError as error:
            raise _storage_error("create", folder, error) from error

    def set_modified(self, path: str, milliseconds: int) -> bool:
        target = self._resolve(path)
        try:
            os.utime(target, ns=(milliseconds * 1_000_000,) * 2)
        except OSError as error:
            raise _storage_error("set the time of", target, error) from error
        return True

    def sync_deletions(self, path: str) -> None:
        folder = self._resolve(path)
        while not os.path.isdir(folder) and folder != self._root:  # it may have been deleted itself
            folder = _folder_of(folder)
        try:
            _sync_folder(folder)
        except FileNotFoundError:
            return  # deleted meanwhile
        except OSError as error:
            raise _storage_error("sync", folder, error) from error

    def sync_together(self, files: Sequence[OutputFile]) -> None:
        sync = _sync_file_system()
        assert sync is not None  # noqa: S101 - the capability says so
        root = os.open(self._root, os.O_RDONLY)
        try:
            own = [file.handle for file in files if isinstance(file, LocalOutputFile)]
            devices = {os.fstat(handle).st_dev: handle for handle in (*own, root)}  # folders may be mounted below
            for handle in devices.values():
                sync(handle)
        except OSError as error:
            raise _storage_error("sync", self._root, error) from error
        finally:
            os.close(root)

    def delete_empty_folder(self, path: str) -> bool:
        return remove_empty_folder(self._resolve(path))

    def delete_folder(self, path: str) -> bool:
        target = self._resolve(path, itself=True)
        try:
            if os.path.islink(target):
                os.unlink(target)  # only the link: its target may lie outside
                return True
            _forget_synced(target)
            shutil.rmtree(target)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise _storage_error("delete", target, error) from error
        return True

    def delete(self, path: str) -> bool:
        target = self._resolve(path, itself=True)
        try:
            _unlink(_checksum_file(target))
            os.unlink(target)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise _storage_error("delete", target, error) from error
        return True


class LocalOutputFile:
    """A local file that is written front to back; see :class:`~hudiformat.storage.protocol.OutputFile`."""

    def __init__(self, path: str, root: str, *, is_new: bool = True) -> None:
        self._path = path
        self._root = root
        self._size = 0
        self._closed = False
        self._folder_synced = False
        try:
            _unlink(_checksum_file(path))  # the checksums are of what Hadoop wrote
            if is_new:
                self._handle = _create_in(
                    _folder_of(path), root, lambda: os.open(path, _NEW_FILE | os.O_APPEND, _FILE_MODE)
                )
            else:
                self._handle = os.open(path, _OLD_FILE | os.O_APPEND)
                self._size = os.fstat(self._handle).st_size
        except OSError as error:
            raise _storage_error("create", path, error) from error

    @property
    def size(self) -> int:
        return self._size

    @property
    def handle(self) -> int:
        """The descriptor of the file, which must be open."""
        self._check_open("sync")
        return self._handle

    def write(self, *parts: bytes | memoryview) -> None:
        if self._closed:
            self._check_open("write")
        try:
            if len(parts) == 1:
                size, written = len(parts[0]), os.write(self._handle, parts[0])
            elif (size := sum(map(len, parts))) <= _SMALL:
                written = os.write(self._handle, b"".join(parts))
            else:
                written = os.writev(self._handle, parts[:_IOV_MAX])
            self._size += written
            if written != size:  # a write may be partial
                self._write_rest(parts, written)
        except OSError as error:
            raise _storage_error("write", self._path, error) from error

    def _write_rest(self, parts: tuple[bytes | memoryview, ...], written: int) -> None:
        waiting = deque(memoryview(part).cast("B") for part in parts)
        while True:
            while waiting and written >= len(waiting[0]):
                written -= len(waiting.popleft())
            if not waiting:
                return
            waiting[0] = waiting[0][written:]
            written = os.writev(self._handle, list(islice(waiting, _IOV_MAX)))
            self._size += written

    def sync(self) -> None:
        self._check_open("sync")
        try:
            os.fsync(self._handle)
            if not self._folder_synced:  # the name of a new file is on disk only with its folder
                _sync_entry(self._path, self._root)
                self._folder_synced = True
        except OSError as error:
            raise _storage_error("sync", self._path, error) from error

    def _check_open(self, action: str) -> None:
        if self._closed:  # the descriptor may belong to another file now
            raise StorageError(f"cannot {action} {self._path}: it is closed", path=self._path)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            try:
                os.close(self._handle)
            except OSError as error:  # some file systems report a full disk only here
                raise _storage_error("close", self._path, error) from error

    def abandon(self) -> None:
        with contextlib.suppress(StorageError):
            self.close()

    def __enter__(self) -> LocalOutputFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@lru_cache(maxsize=1)
def _sync_file_system() -> Callable[[int], None] | None:
    """Return a function that syncs the file system of a descriptor, as Linux has it; None where there is none."""
    try:
        found = ctypes.CDLL(None, use_errno=True).syncfs
    except (AttributeError, OSError, TypeError):
        return None

    def sync(handle: int) -> None:
        if found(handle):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    return sync


def _name_of_file(entry: os.DirEntry[str]) -> str | None:
    """Return the name of an entry that is a file, which its folder tells; None for a name whose bytes are no text."""
    return entry.name if _is_text(entry.name) and not entry.is_dir() else None


def _is_text(name: str) -> bool:
    """Return whether the bytes of the name of a file are a text, as those of all of Hudi's are."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _file_info(entry: os.DirEntry[str]) -> FileInfo | None:
    """Return the entry's information; None for a file that was deleted after the listing, and for a broken link.

    None too for a name whose bytes are no text: it cannot be a file of Hudi, whose names are texts.
    """
    name = entry.name
    try:
        if not name.isascii():
            name.encode()
        if entry.is_dir():
            return FileInfo(name, 0, True)
        status = entry.stat()
        return FileInfo(name, status.st_size, False, status.st_mtime_ns // 1_000_000)
    except (FileNotFoundError, UnicodeEncodeError):
        return None


def _exists(path: str) -> bool:
    """Return whether there is something at *path*; unlike ``os.path.exists``, raise what else the system says."""
    try:
        os.stat(path)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return False
        raise
    return True


def _unlink(path: str) -> None:
    """Delete the file at *path*, if there is one."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def _folder_of(path: str) -> str:
    return path.rpartition("/")[0] or "/"


def remove_empty_folder(folder: str) -> bool:
    """Delete *folder* of the local file system if it has no content, in one step; return whether that has happened.

    Raises:
        StorageError: the folder cannot be deleted.
    """
    try:
        os.rmdir(folder)
    except FileNotFoundError:
        return False
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            return False
        raise _storage_error("delete", folder, error) from error
    return True


def _create_in(folder: str, root: str, make: Callable[[], T]) -> T:
    """Call *make*, which creates a file in *folder*; the folder is created if necessary, and may be deleted meanwhile.

    Another process may delete the folder as long as it is empty: then both steps are repeated.
    """
    for _ in range(_TRIES):
        with contextlib.suppress(FileNotFoundError):
            return make()
        with contextlib.suppress(FileNotFoundError):
            _make_folder(folder, root)
    return make()


def _refuse_outside(target: str, root: str) -> None:
    """Refuse *target* if links lead from it out of *root*.

    Raises:
        StorageError: they do.
    """
    if not f"{os.path.realpath(target)}/".startswith(f"{os.path.realpath(root).rstrip('/')}/"):
        raise StorageError(
            f"refused {target}: a symbolic link leads out of {root}, and nothing outside the table is read or "
            "written; move the files into the table, or mount them there",
            path=target,
        )


def _write_new(path: str, data: bytes, *, sync: bool) -> None:
    handle = os.open(path, _NEW_FILE, _FILE_MODE)
    try:
        rest = memoryview(data)
        while rest:  # a write may be partial
            rest = rest[os.write(handle, rest) :]
        if sync and data:  # of an empty file only the name counts, which is synced with its folder
            os.fsync(handle)
    finally:
        os.close(handle)


_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_OLD_FILE = os.O_WRONLY | os.O_CLOEXEC
_FILE_MODE = 0o666  # less the umask


def _make_folder(folder: str, root: str) -> None:
    missing = [folder]
    while missing:
        try:
            os.mkdir(missing[-1])
        except FileNotFoundError:
            missing.append(_folder_of(missing[-1]))
            continue
        except FileExistsError:  # another thread may have made it meanwhile, and may delete it again
            if os.path.isdir(missing[-1]):
                missing.pop()
            elif os.path.lexists(missing[-1]):
                raise
            continue
        made = missing.pop()
        _forget_synced(made)
        if made == root:
            with contextlib.suppress(PermissionError):  # the folder that holds the root may not be readable
                _sync_folder(_folder_of(root))


@dataclass
class _Folder:
    """A folder in the tree of folders whose names this process has synced, and of the folders above these.

    A file is on disk only if the names of all folders above it are.
    """

    is_synced: bool = False
    inner: dict[str, _Folder] = field(default_factory=dict)


_all_folders = _Folder()


def _sync_entry(path: str, root: str) -> None:
    """Sync the name of *path*, and the names of the folders above it and below *root* that were not synced yet."""
    folder = _folder_of(path)
    _sync_folder(folder)
    found = []
    while folder not in (root, "/") and not (known := _folder_node(folder)).is_synced:
        folder = _folder_of(folder)
        _sync_folder(folder)
        found.append(known)
    for known in found:  # not before all are synced: a synced folder means that all folders above it are synced
        known.is_synced = True


def _forget_synced(folder: str) -> None:
    """Forget that *folder*, and everything in it, was synced."""
    *above, name = folder.split("/")
    at = _all_folders
    for part in above:
        inner = at.inner.get(part)
        if inner is None:
            return
        at = inner
    at.inner.pop(name, None)


_sync_turns = tuple(threading.Lock() for _ in range(64))
_moments = itertools.count(1)
_synced_from: dict[str, int] = {}
"""For each folder the number, drawn from ``_moments``, at which its newest finished sync began."""
_MOST_FOLDERS = 1000


def _sync_folder(folder: str) -> None:
    """Sync the names in *folder*, unless a sync in another thread has begun after this call, and has ended."""
    called = next(_moments)
    with _sync_turns[hash(folder) % len(_sync_turns)]:  # while one thread syncs, the others wait for its result
        if _synced_from.get(folder, 0) > called:
            return
        began = next(_moments)
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
        if len(_synced_from) >= _MOST_FOLDERS:
            _synced_from.clear()
        _synced_from[folder] = began


def _folder_node(folder: str) -> _Folder:
    at = _all_folders
    for part in folder.split("/"):
        at = at.inner.setdefault(part, _Folder())
    return at


def _checksum_file(path: str) -> str:
    folder, _, name = path.rpartition("/")
    return f"{folder}/.{name}.crc"


def _storage_error(action: str, path: str, error: OSError, rest: str = "") -> StorageError:
    return StorageError(f"cannot {action} {path}{rest}: {error.strerror or error}", path=path)
