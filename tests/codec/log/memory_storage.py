"""A storage in memory, whose writes can be made to fail."""

from __future__ import annotations

from types import TracebackType

import pyarrow as pa

from hudiformat.errors import StorageError
from hudiformat.storage.protocol import Capabilities, FileInfo, OutputFile


class MemoryStorage:
    """Keeps files in a dict; see :class:`~hudiformat.storage.protocol.Storage`.

    ``room`` is how many bytes may still be written before a write fails half way; None is any number.  What happened
    stands in ``events``, by path.
    """

    root = "memory:/table"
    capabilities = Capabilities(append=True)

    def __init__(self) -> None:
        self.files: dict[str, bytearray] = {}
        self.events: list[tuple[str, str]] = []
        self.room: int | None = None
        self.failure: BaseException = StorageError("no space left")
        self.refuses_new_files = False
        self.taken_by_another: set[str] = set()  # made by another writer between the look and the creation

    def list(self, path: str) -> list[FileInfo]:
        inside = {name: data for name, data in self.files.items() if name.startswith(f"{path}/")}
        return [FileInfo(name[len(path) + 1 :], len(data), is_dir=False) for name, data in sorted(inside.items())]

    def exists(self, path: str) -> bool:
        return path in self.files

    def read(self, path: str) -> bytes:
        return bytes(self.map(path))

    def map(self, path: str) -> memoryview:
        if path not in self.files:
            raise StorageError(f"cannot read {path}", path=path)
        return memoryview(bytes(self.files[path]))

    def open_input(self, path: str) -> pa.NativeFile:
        return pa.BufferReader(self.map(path))

    def create(self, path: str, data: bytes, *, overwrite: bool = False, sync: bool = True) -> None:
        if path in self.files and not overwrite:
            raise StorageError(f"cannot create {path}", path=path)
        self.files[path] = bytearray(data)

    def open_new(self, path: str) -> OutputFile:
        if path in self.taken_by_another:
            self.files[path] = bytearray(b"another's")
        if self.refuses_new_files or path in self.files:
            raise StorageError(f"cannot create {path}", path=path)
        self.files[path] = bytearray()
        self.events.append(("create", path))
        return MemoryFile(self, path)

    def rename(self, source: str, target: str) -> None:
        self.files[target] = self.files.pop(source)

    def make_folder(self, path: str) -> None:
        """There are no folders here."""

    def set_modified(self, path: str, milliseconds: int) -> bool:
        return False

    def sync_deletions(self, path: str) -> None:
        """There is no power to be cut."""

    def delete_empty_folder(self, path: str) -> bool:
        return False

    def delete_folder(self, path: str) -> bool:
        gone = [name for name in self.files if name.startswith(f"{path}/")]
        return sum(map(self.delete, gone)) > 0

    def delete(self, path: str) -> bool:
        return self.files.pop(path, None) is not None


class MemoryFile:
    """A file of a MemoryStorage that is being written."""

    def __init__(self, storage: MemoryStorage, path: str) -> None:
        self._storage = storage
        self._path = path

    @property
    def size(self) -> int:
        return len(self._storage.files[self._path])

    def write(self, *parts: bytes | memoryview) -> None:
        self._storage.events.append(("write", self._path))
        data = b"".join(parts)
        room = len(data) if self._storage.room is None else self._storage.room
        self._storage.files[self._path] += data[:room]
        if room < len(data):
            self._storage.room = None
            raise self._storage.failure
        if self._storage.room is not None:
            self._storage.room -= len(data)

    def sync(self) -> None:
        self._storage.events.append(("sync", self._path))

    def close(self) -> None:
        self._storage.events.append(("close", self._path))

    def abandon(self) -> None:
        self.close()

    def __enter__(self) -> MemoryFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
