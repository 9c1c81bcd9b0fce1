"""A storage whose process dies at a given operation: before it, after it, or with half of what was to be written."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TypeVar

import pyarrow as pa

from hudiformat.storage import Capabilities, FileInfo, OutputFile, Storage

T = TypeVar("T")


class Crash(BaseException):
    """The process is gone: nothing handles this."""


class Countdown:
    """Counts operations that change something; at number *moment* the process dies, and nothing works after that.

    ``before`` is whether it dies before or after the operation has its effect.
    """

    def __init__(self, moment: int | None, *, before: bool = True) -> None:
        self.moment = moment
        self.before = before
        self.count = 0

    def run(self, action: Callable[[], T]) -> T:
        if self.moment is not None and self.count >= self.moment:
            raise Crash
        self.count += 1
        if self.count != self.moment:
            return action()
        if not self.before:
            action()
        raise Crash


class CrashingStorage:
    """*storage* until the countdown ends."""

    def __init__(self, storage: Storage, countdown: Countdown) -> None:
        self.storage = storage
        self.countdown = countdown

    @property
    def root(self) -> str:
        return self.storage.root

    @property
    def capabilities(self) -> Capabilities:
        return self.storage.capabilities

    def list(self, path: str) -> list[FileInfo]:
        return self.storage.list(path)

    def exists(self, path: str) -> bool:
        return self.storage.exists(path)

    def read(self, path: str) -> bytes:
        return self.storage.read(path)

    def map(self, path: str) -> memoryview:
        return self.storage.map(path)

    def open_input(self, path: str) -> pa.NativeFile:
        return self.storage.open_input(path)

    def create(self, path: str, data: bytes, *, overwrite: bool = False, sync: bool = True) -> None:
        self.countdown.run(lambda: self.storage.create(path, data, overwrite=overwrite, sync=sync))

    def open_new(self, path: str) -> OutputFile:
        return CrashingFile(self.countdown.run(lambda: self.storage.open_new(path)), self.countdown)

    def rename(self, source: str, target: str) -> None:
        if self.capabilities.rename:
            self.countdown.run(lambda: self.storage.rename(source, target))
        else:  # a copy, and later a deletion
            data = self.storage.read(source)
            self.countdown.run(lambda: self.storage.create(target, data))
            self.countdown.run(lambda: self.storage.delete(source))

    def delete(self, path: str) -> bool:
        """A folder goes file by file."""
        if inside := self.storage.list(path):
            for entry in inside:
                self.delete(f"{path}/{entry.name}")
        if not self.storage.exists(path):
            return False
        return self.countdown.run(lambda: self.storage.delete(path))


class CrashingFile:
    def __init__(self, file: OutputFile, countdown: Countdown) -> None:
        self.file = file
        self.countdown = countdown

    @property
    def size(self) -> int:
        return self.file.size

    def write(self, *parts: bytes | memoryview) -> None:
        self.countdown.run(lambda: self.file.write(*parts))

    def sync(self) -> None:
        self.countdown.run(self.file.sync)

    def close(self) -> None:
        self.countdown.run(self.file.close)

    def __enter__(self) -> CrashingFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not Crash:
            self.close()
