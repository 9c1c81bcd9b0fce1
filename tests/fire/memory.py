"""A storage in memory: it is copied in no time, its clock is a test's own, and it can lose what was not synced.

It keeps what a local file system promises: a file is created once, an open file grows before the readers' eyes, and a
file that is deleted while it is open is written on without a name.  With ``appends`` false it keeps what an object
store promises: a file appears when it is closed, and replaces one of its name.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import SimpleNamespace, TracebackType

import pyarrow as pa
import pytest

from hudiformat import StorageError
from hudiformat.storage.protocol import Capabilities, FileInfo, OutputFile
from hudiformat.write.commit import heartbeats, locks, ticking


class FakeTime:
    """Stands for the module ``time``: sleeping takes no time, and a pause is as long as a test wants."""

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self.now = now

    def time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def strftime(self, layout: str) -> str:
        return f"{layout} {self.now}"


class NoThread:
    """Stands for a thread that gives signs of life: in a test its process says nothing during a pause."""

    def __init__(self, **_arguments: object) -> None:
        """Take what a thread takes."""

    def start(self) -> None:
        """Do nothing."""

    def is_alive(self) -> bool:
        return False


@contextmanager
def in_time_of(time: FakeTime) -> Iterator[None]:
    """Locks and heartbeats go by *time*, and have no threads."""
    threads = SimpleNamespace(Thread=NoThread, Event=threading.Event)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(locks, "time", time)
        patch.setattr(heartbeats, "time", time)
        patch.setattr(ticking, "threading", threads)
        yield


@dataclass(frozen=True, slots=True)
class File:
    """A file: its bytes, how many of them would survive a power cut, and when it was last written, in seconds.

    What is written to an open file goes to the one with its *inode*, whatever was synced meanwhile.
    """

    data: bytes
    durable: int
    modified: float
    inode: object = field(default_factory=object, compare=False, repr=False)


class MemoryStorage:
    """Files by path; see :class:`~hudiformat.storage.protocol.Storage`."""

    def __init__(self, files: dict[str, File], time: FakeTime, *, appends: bool = True) -> None:
        self.files = files
        self.time = time
        self.appends = appends
        self.changing = threading.Lock()
        self.tears = False
        """Whether the next write is cut off half-way."""
        self.deleted: dict[str, File] = {}
        """Data files that were deleted: a power cut brings them back, unless the deletion is synced."""

    def copy(self) -> MemoryStorage:
        return MemoryStorage(dict(self.files), FakeTime(self.time.now), appends=self.appends)

    def fingerprint(self) -> int:
        """Return a number that tells the paths and the contents of the files, whenever they were written."""
        return hash(frozenset((path, file.data) for path, file in self.files.items()))

    def lose_unsynced(self) -> None:
        """A power cut: what was not synced is gone, and what was deleted is back."""
        for path, file in list(self.files.items()):
            if file.durable < len(file.data):
                self.files[path] = replace(file, data=file.data[: file.durable])
            elif file.durable == len(file.data) == 0 and path.startswith(".hoodie/.temp/"):
                del self.files[path]
        self.files |= {path: file for path, file in self.deleted.items() if path not in self.files}

    @property
    def root(self) -> str:
        return "memory:table"

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            atomic_create=True,
            append=self.appends,
            sync=self.appends,
            sync_together=self.appends,
            rename=self.appends,
            map=self.appends,
        )

    def list(self, path: str) -> list[FileInfo]:
        prefix = f"{path}/" if path else ""
        folders, found = set(), []
        for name, file in list(self.files.items()):  # threads add files meanwhile
            if name.startswith(prefix):
                first, is_below, _ = name[len(prefix) :].partition("/")
                if is_below:
                    folders.add(first)
                elif first:
                    found.append(FileInfo(first, len(file.data), is_dir=False, modified=int(file.modified * 1000)))
        found += [FileInfo(folder, 0, is_dir=True) for folder in folders]
        return sorted(found, key=lambda info: info.name)

    def exists(self, path: str) -> bool:
        return path in self.files or any(name.startswith(f"{path}/") for name in self.files)

    def read(self, path: str) -> bytes:
        file = self.files.get(path)
        if file is None:
            raise StorageError(f"cannot read {path}: No such file or directory", path=path)
        return file.data

    def map(self, path: str) -> memoryview:
        return memoryview(self.read(path))

    def open_input(self, path: str) -> pa.NativeFile:
        return pa.BufferReader(self.read(path))

    def create(self, path: str, data: bytes, *, overwrite: bool = False, sync: bool = True) -> None:
        if not overwrite and path in self.files:
            raise StorageError(f"cannot create {path}: File exists", path=path)
        self.files[path] = File(bytes(data), len(data) if sync or not self.appends else 0, self.time.now)

    def open_new(self, path: str) -> OutputFile:
        return OpenFile(self, path)

    def rename(self, source: str, target: str) -> None:
        if target in self.files:
            raise StorageError(f"cannot rename {source} to {target}: File exists", path=target)
        self.files[target] = File(self.read(source), len(self.read(source)), self.time.now)
        del self.files[source]

    def make_folder(self, path: str) -> None:
        """Folders are only parts of names here."""

    def set_modified(self, path: str, milliseconds: int) -> bool:
        return False

    def sync_together(self, files: Sequence[OutputFile]) -> None:
        for file in files:
            file.sync()
        with self.changing:  # threads write to other files meanwhile
            for path, known in list(self.files.items()):
                self.files[path] = replace(known, durable=len(known.data))

    def sync_deletions(self, path: str) -> None:
        self.deleted = {name: file for name, file in self.deleted.items() if name.rpartition("/")[0] != path}

    def delete_empty_folder(self, path: str) -> bool:
        """Folders are only parts of names here."""
        return False

    def delete_folder(self, path: str) -> bool:
        gone = [name for name in self.files if name.startswith(f"{path}/")]
        return sum(map(self.delete, gone)) > 0

    def delete(self, path: str) -> bool:
        file = self.files.pop(path, None)
        if file is not None and not path.startswith(".hoodie/"):
            self.deleted[path] = file
        return file is not None


class OpenFile:
    """A file of such a storage that is being written."""

    def __init__(self, storage: MemoryStorage, path: str) -> None:
        if storage.appends:
            storage.create(path, b"", sync=False)
        self._storage = storage
        self._path = path
        self._data = bytearray()
        known = storage.files.get(path)
        self._inode = None if known is None else known.inode
        self._durable = 0
        self._closed = False

    @property
    def size(self) -> int:
        return len(self._data)

    def write(self, *parts: bytes | memoryview) -> None:
        data = b"".join(parts)
        self._data += data[: len(data) // 2] if self._storage.tears else data
        if self._storage.appends:
            self._show()

    def sync(self) -> None:
        self._durable = len(self._data)
        if self._storage.appends:
            self._show()

    def close(self) -> None:
        if not self._closed and not self._storage.appends:
            self._durable = len(self._data)
            self._storage.files[self._path] = File(bytes(self._data), self._durable, self._storage.time.now)
        self._closed = True

    def abandon(self) -> None:
        if self._data:  # an upload that has begun is finished
            self.close()
        self._closed = True

    def _show(self) -> None:
        """Show what has been written, unless the file has lost its name."""
        storage = self._storage
        with storage.changing:
            known = storage.files.get(self._path)
            if known is not None and known.inode is self._inode:
                storage.files[self._path] = replace(
                    known, data=bytes(self._data), durable=self._durable, modified=storage.time.now
                )

    def __enter__(self) -> OpenFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
