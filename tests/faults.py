"""A storage that fails where a test wants it to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType
from typing import Protocol, TypeVar

import pyarrow as pa

from hudiformat.errors import StorageError
from hudiformat.storage.protocol import Capabilities, FileInfo, OutputFile, Storage, SyncsTogether, reopen

T = TypeVar("T")
READS = ("list", "read", "map", "open_input")
"""Operations that change nothing."""


class Fault(Protocol):
    """Stands before every operation."""

    def run(self, what: str, action: Callable[[], T]) -> T:
        """Do *action*, or fail before it or after it; *what* is its name, and the path."""
        ...


class NoAnswer:
    """Each operation fails whose name and path contain *text*."""

    def __init__(self, text: str) -> None:
        self.text = text

    def run(self, what: str, action: Callable[[], T]) -> T:
        if self.text in what:
            raise StorageError(f"{what}: no answer")
        return action()


class FaultyStorage:
    """*storage*, with a fault at every operation but ``exists``."""

    def __init__(self, storage: Storage, fault: Fault) -> None:
        self.storage = storage
        self.fault = fault

    @property
    def root(self) -> str:
        return self.storage.root

    @property
    def capabilities(self) -> Capabilities:
        return self.storage.capabilities

    def exists(self, path: str) -> bool:
        return self.storage.exists(path)

    def list(self, path: str) -> list[FileInfo]:
        return self.fault.run(f"list {path}", lambda: self.storage.list(path))

    def read(self, path: str) -> bytes:
        return self.fault.run(f"read {path}", lambda: self.storage.read(path))

    def map(self, path: str) -> memoryview:
        return self.fault.run(f"map {path}", lambda: self.storage.map(path))

    def open_input(self, path: str) -> pa.NativeFile:
        return self.fault.run(f"open_input {path}", lambda: self.storage.open_input(path))

    def create(self, path: str, data: bytes, *, overwrite: bool = False, sync: bool = True) -> None:
        self.fault.run(f"create {path}", lambda: self.storage.create(path, data, overwrite=overwrite, sync=sync))

    def open_new(self, path: str) -> OutputFile:
        return FaultyFile(self.fault.run(f"open_new {path}", lambda: self.storage.open_new(path)), self.fault)

    def reopen(self, path: str) -> OutputFile:
        return FaultyFile(self.fault.run(f"open_new {path}", lambda: reopen(self.storage, path)), self.fault)

    def rename(self, source: str, target: str) -> None:
        """Where the storage cannot, a copy and a deletion."""
        if self.capabilities.rename:
            self.fault.run(f"rename {source}", lambda: self.storage.rename(source, target))
        else:
            data = self.storage.read(source)
            self.fault.run(f"create {target}", lambda: self.storage.create(target, data))
            self.delete(source)

    def make_folder(self, path: str) -> None:
        self.fault.run(f"make_folder {path}", lambda: self.storage.make_folder(path))

    def set_modified(self, path: str, milliseconds: int) -> bool:
        return self.fault.run(f"set_modified {path}", lambda: self.storage.set_modified(path, milliseconds))

    def sync_deletions(self, path: str) -> None:
        self.fault.run(f"sync_deletions {path}", lambda: self.storage.sync_deletions(path))

    def sync_together(self, files: Sequence[OutputFile]) -> None:
        assert isinstance(self.storage, SyncsTogether)
        own = [file.file if isinstance(file, FaultyFile) else file for file in files]
        self.fault.run("sync_together", partial(self.storage.sync_together, own))

    def delete_empty_folder(self, path: str) -> bool:
        return self.fault.run(f"delete_empty_folder {path}", lambda: self.storage.delete_empty_folder(path))

    def delete_folder(self, path: str) -> bool:
        return self.fault.run(f"delete_folder {path}", lambda: self.storage.delete_folder(path))

    def delete(self, path: str) -> bool:
        return self.fault.run(f"delete {path}", lambda: self.storage.delete(path))


class FaultyFile:
    """A file of such a storage; one that is not there any more is not closed either."""

    def __init__(self, file: OutputFile, fault: Fault) -> None:
        self.file = file
        self.fault = fault

    @property
    def size(self) -> int:
        return self.file.size

    def write(self, *parts: bytes | memoryview) -> None:
        self._end_after_a_fault("write", lambda: self.file.write(*parts))

    def sync(self) -> None:
        self.fault.run("sync", self.file.sync)

    def close(self) -> None:
        self._end_after_a_fault("close", self.file.close)

    def _end_after_a_fault(self, what: str, action: Callable[[], None]) -> None:
        """As any file does: else the upload, which has begun, would be finished when the file is collected."""
        try:
            self.fault.run(what, action)
        except StorageError:
            self.file.abandon()
            raise

    def abandon(self) -> None:
        self.fault.run("close", self.file.abandon)

    def __enter__(self) -> FaultyFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
