"""A storage that records the requests made to it: how many an operation needs, and what another writer can do between.

A request is one call of the protocol ``hudiformat.storage.protocol.Storage`` that goes to the file system: ``list``,
``exists``, ``read``, ``map``, ``open_input``, ``create``, ``open_new``, ``rename``, ``make_folder``,
``sync_deletions``, ``delete_empty_folder`` and ``delete``.  ``root`` and ``capabilities`` are no requests.  A file that
is read in ranges is one request, ``open_input``; a file that is written piece by piece is one request, ``open_new``,
whatever is written to it and however often it is synced.  An implementation may need several
HTTP requests for one call; they are not counted here.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

import pyarrow as pa

from hudiformat import BaseFileName, LogFileName, NameFormatError
from hudiformat.storage.protocol import Capabilities, FileInfo, OutputFile, Storage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Request:
    """One request: the name of the method, and the path that it was called with."""

    kind: str
    path: str

    def __str__(self) -> str:
        return f"{self.kind} {self.path or '(the table)'}"

    @property
    def is_of_data(self) -> bool:
        """Whether the path is that of a base file or a log file of the table itself, change-data logs included."""
        return not self.path.startswith(".hoodie/") and _is_data_file(self.path.rpartition("/")[2])


def _is_data_file(name: str) -> bool:
    try:
        if name.startswith("."):
            LogFileName.parse(name)
        else:
            BaseFileName.parse(name)
    except NameFormatError:
        return False
    return True


def nothing(_number: int) -> None:
    """A hook that does nothing."""


class RecordingStorage:
    """*storage*, which a table is opened with; ``requests`` are all requests so far, in the order of their beginnings.

    *before* is called before each request and *after* after it, whether it failed or not, with the number of the
    request: the first has number 0.  ``storage`` may be replaced while a table is open; ``root`` stays what it was.
    """

    def __init__(
        self, storage: Storage, *, before: Callable[[int], None] = nothing, after: Callable[[int], None] = nothing
    ) -> None:
        self.storage = storage
        self.root = storage.root
        self.before = before
        self.after = after
        self.requests: list[Request] = []
        self._lock = threading.Lock()

    def clear(self) -> None:
        """Forget the requests so far, as those of opening the table."""
        self.requests.clear()

    def _run(self, kind: str, path: str, action: Callable[[], T]) -> T:
        with self._lock:  # partitions of a remote table are listed by several threads
            number = len(self.requests)
            self.requests.append(Request(kind, path))
        self.before(number)
        try:
            return action()
        finally:
            self.after(number)

    @property
    def capabilities(self) -> Capabilities:
        return self.storage.capabilities

    def list(self, path: str) -> list[FileInfo]:
        return self._run("list", path, lambda: self.storage.list(path))

    def exists(self, path: str) -> bool:
        return self._run("exists", path, lambda: self.storage.exists(path))

    def read(self, path: str) -> bytes:
        return self._run("read", path, lambda: self.storage.read(path))

    def map(self, path: str) -> memoryview:
        return self._run("map", path, lambda: self.storage.map(path))

    def open_input(self, path: str) -> pa.NativeFile:
        return self._run("open_input", path, lambda: self.storage.open_input(path))

    def create(self, path: str, data: bytes, *, overwrite: bool = False, sync: bool = True) -> None:
        self._run("create", path, lambda: self.storage.create(path, data, overwrite=overwrite, sync=sync))

    def open_new(self, path: str) -> OutputFile:
        return self._run("open_new", path, lambda: self.storage.open_new(path))

    def rename(self, source: str, target: str) -> None:
        self._run("rename", source, lambda: self.storage.rename(source, target))

    def make_folder(self, path: str) -> None:
        self._run("make_folder", path, lambda: self.storage.make_folder(path))

    def set_modified(self, path: str, milliseconds: int) -> bool:
        return self._run("set_modified", path, lambda: self.storage.set_modified(path, milliseconds))

    def sync_deletions(self, path: str) -> None:
        self._run("sync_deletions", path, lambda: self.storage.sync_deletions(path))

    def delete_empty_folder(self, path: str) -> bool:
        return self._run("delete_empty_folder", path, lambda: self.storage.delete_empty_folder(path))

    def delete_folder(self, path: str) -> bool:
        return self._run("delete_folder", path, lambda: self.storage.delete_folder(path))

    def delete(self, path: str) -> bool:
        return self._run("delete", path, lambda: self.storage.delete(path))


def timeline_folder(version: int) -> str:
    """The folder of the active timeline in a table of *version*."""
    return ".hoodie/timeline" if version >= 8 else ".hoodie"


def timeline_listings(requests: Iterable[Request], version: int) -> int:
    """How often the table's own timeline was listed; listings of the metadata table's timeline do not count."""
    return sum(request == Request("list", timeline_folder(version)) for request in requests)


def data_files(requests: Iterable[Request]) -> list[str]:
    """The paths of the base files and log files that were read or written, each as often as it was opened."""
    return [request.path for request in requests if request.is_of_data]


def summary(requests: Iterable[Request]) -> str:
    """The requests in their order, one to a line, and how many there were of each kind."""
    made = list(requests)
    lines = [f"{number:4} {request}" for number, request in enumerate(made)]
    kinds = Counter(request.kind for request in made)
    return "\n".join([*lines, ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())])


class RemoteStorage(RecordingStorage):
    """The same with what a remote storage can do: files cannot be mapped, renamed or written further, nor be synced."""

    @property
    def capabilities(self) -> Capabilities:
        near = self.storage.capabilities
        return replace(near, map=False, append=False, sync=False, sync_together=False, rename=False, reopen=False)
