"""Write log files block by block, with a new file once a file exceeds a size."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from types import TracebackType
from typing import NamedTuple

from hudiformat.codec.log.block import LogBlock, encode_block_parts
from hudiformat.errors import OptionError, StorageError
from hudiformat.naming.file_names import LogFileName, join_path
from hudiformat.storage.opening import open_storage
from hudiformat.storage.protocol import OutputFile, Storage, reopen

DEFAULT_LOG_MAX_SIZE = 1024 * 1024 * 1024
"""The default size in bytes above which a writer rolls over to a new file.

It is that of tables, ``hoodie.logfile.max.size``; Hudi's builder of log files alone has 512 MiB.

Source: HoodieStorageConfig.LOGFILE_MAX_SIZE, HoodieLogFormat.DEFAULT_SIZE_THRESHOLD, Hudi 1.2.0.
"""

_MAX_ATTEMPTS = 10
_SMALL = 1 << 14  # bytes: joining a block takes less time than writing its parts one by one
_MOST_JOINED = 1 << 24


class AppendResult(NamedTuple):
    """Where an append wrote: the path of the file, the offset of the first byte in it, and the number of bytes.

    Source: org.apache.hudi.common.table.log.AppendResult.
    """

    path: str
    offset: int
    size: int


_make_result = partial(tuple.__new__, AppendResult)  # takes two thirds of the time of AppendResult(...)


class LogWriter:
    """Append blocks to a log file of *directory*, and roll over to the next version when the file is too large.

    *name* is the first file's name.  The size is checked after each append, so a file may exceed *max_size* (bytes) by
    one append; the next file has the next version and the same write token.  A file that exists already is left alone,
    and its version skipped, as Hudi 1.x does; with *appends*, blocks are appended to it, as Hudi 0.x does, unless it is
    too large, another writer has it open, or the storage cannot do that.  With *sync*, the data is on disk when
    ``append`` returns; on an object store a file appears, and is safe, when the writer closes it or rolls over.

    A file is created with its first block.  Before that, *on_create* is called with its path, relative to the root of
    the storage.  *is_own_name* says that no file has this name or a later version of it, which saves a request per
    file; if making it fails after it took effect, it is deleted, and the next version used.  With *deletes_failed*, a
    file whose first append fails is deleted.  *on_complete* is called with each complete file, and has to close it; by
    default the writer closes it.

    Raises:
        NameFormatError: *name* is not the name of a log file.
        OptionError: *max_size* is not positive.

    Source: HoodieLogFormatWriter; spec/log-file.md.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        name: LogFileName | str,
        *,
        max_size: int = DEFAULT_LOG_MAX_SIZE,
        sync: bool = True,
        storage: Storage | None = None,
        on_create: Callable[[str], None] | None = None,
        is_own_name: bool = False,
        appends: bool = False,
        deletes_failed: bool = False,
        on_complete: Callable[[OutputFile], None] | None = None,
    ) -> None:
        if max_size <= 0:
            raise OptionError(f"max_size: expected a positive number of bytes, found {max_size}", option="max_size")
        self._storage = open_storage(directory) if storage is None else storage
        self._folder = "" if storage is None else os.fspath(directory)
        self._name = LogFileName.parse(name) if isinstance(name, str) else name
        self._max_size = max_size
        self._sync = sync
        self._on_create = on_create
        self._is_own_name = is_own_name
        self._appends = appends
        self._deletes_failed = deletes_failed
        self._on_complete = on_complete or _close
        self._file: OutputFile | None = None
        self._opened = ""  # the path of the file, for the results of appends
        self._closed = False

    @property
    def name(self) -> LogFileName:
        """The name of the current file, which may not exist yet."""
        return self._name

    @property
    def path(self) -> str:
        """The path of the current file, which may not exist yet."""
        relative = self._relative_path()
        return f"{self._storage.root}/{relative}"

    def append(self, *blocks: LogBlock) -> AppendResult:
        """Write *blocks* in one call, one after the other into the same file; without blocks, do nothing.

        Raises:
            EncodeError: a block cannot be read back, for instance one of 2 GiB or more; nothing is written.
            StorageError: the file cannot be written.  The part of the blocks that was written is a torn tail, which
                readers skip; the next append goes into a new file.
        """
        if self._closed:
            raise StorageError(f"the writer of {self.path} is closed", path=self.path)
        if not blocks:
            return AppendResult(self.path, self._file.size if self._file else 0, 0)
        if len(blocks) == 1:
            parts = encode_block_parts(blocks[0])
            if len(blocks[0].content) <= _SMALL:
                parts = (b"".join(parts),)
        else:
            parts = _parts(blocks)
        file = self._file or self._open()
        path, offset = self._opened, file.size
        try:
            file.write(*parts)
            if self._sync:
                file.sync()
        except BaseException:  # an interrupt leaves a torn tail as well
            begun = self._relative_path()
            self._next_file()
            file.close()
            if offset == 0 and self._deletes_failed:
                with suppress(StorageError):
                    self._storage.delete(begun)
            raise
        end = file.size
        if end > self._max_size:  # HoodieLogFormatWriter rolls on >, not >=
            self._next_file()
            self._on_complete(file)
        return _make_result((path, offset, end - offset))

    def close(self) -> None:
        """Close the current file; a second call does nothing."""
        self._closed = True
        file, self._file = self._file, None
        if file is not None:
            self._on_complete(file)

    def abandon(self) -> None:
        """Drop the current file after a failed write; the caller deletes what was written of it."""
        self._closed = True
        if self._file is not None:
            self._file.abandon()
            self._file = None

    def __enter__(self) -> LogWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            self.abandon()

    def _relative_path(self) -> str:
        return join_path(self._folder, str(self._name))

    def _open(self) -> OutputFile:
        """Create the file with the first version that does not exist yet, or reopen one that does."""
        attempts = 0
        while True:
            path = self._relative_path()
            is_there = not self._is_own_name and self._storage.exists(path)
            if is_there and self._appends and (file := self._reopened(path)) is not None:
                self._file, self._opened = file, self.path
                return file
            if not is_there:
                if self._on_create is not None:
                    self._on_create(path)
                try:
                    self._file = self._storage.open_new(path)
                except StorageError:
                    attempts += 1
                    # If the file exists now, another writer was faster; else it cannot be created.
                    if attempts == _MAX_ATTEMPTS or not self._storage.exists(path):
                        raise
                    if self._is_own_name:  # the request has failed after it took effect
                        self._storage.delete(path)
                else:
                    self._opened = self.path
                    return self._file
            self._name = self._name.next_version()

    def _reopened(self, path: str) -> OutputFile | None:
        """Reopen a file to append to it; None if it has its size, or cannot be reopened."""
        if not self._storage.capabilities.reopen:
            return None
        if self._on_create is not None:
            self._on_create(path)
        try:
            file = reopen(self._storage, path)
        except StorageError:
            return None
        if file.size <= self._max_size:
            return file
        file.close()
        return None

    def _next_file(self) -> None:
        self._file = None
        self._name = self._name.next_version()


def _close(file: OutputFile) -> None:
    file.close()


def _parts(blocks: Sequence[LogBlock]) -> tuple[bytes | memoryview, ...]:
    """Return the bytes of several blocks; joined if they are small."""
    parts = tuple(chain.from_iterable(map(encode_block_parts, blocks)))
    small = sum(map(len, parts)) <= min(_SMALL * len(blocks), _MOST_JOINED)
    return (b"".join(parts),) if small else parts
