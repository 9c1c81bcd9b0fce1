"""Closing files that are complete, with their data on disk: several at a time, which takes a disk hardly longer."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import TracebackType

from hudiformat.errors import StorageError
from hudiformat.storage.protocol import OutputFile

_MOST_OPEN = 64
"""Files that wait at a time, as a process may have only so many open."""
_AT_ONCE = 8


class CompleteFiles:
    """Takes over files that nothing more is written to, from any thread; they are on disk when :meth:`finish` returns.

    With *sync* false they are only closed.  As a context manager it finishes, or with an error lets go of them.
    """

    def __init__(self, *, sync: bool = True) -> None:
        self._sync = sync
        self._waiting: list[OutputFile] = []
        self._change = threading.Lock()

    def add(self, file: OutputFile) -> None:
        """Take over *file*.

        Raises:
            StorageError: one of the files that wait cannot be written.
        """
        if not self._sync:
            file.close()
            return
        with self._change:
            self._waiting.append(file)
            is_enough = len(self._waiting) >= _MOST_OPEN
        if is_enough:
            self.finish()

    def finish(self) -> None:
        """Return once all files are on disk, and closed.

        Raises:
            StorageError: one of them cannot be written.
        """
        files = self._taken()
        if len(files) <= 1:
            for file in files:
                close_synced(file)
            return
        with ThreadPoolExecutor(min(_AT_ONCE, len(files))) as pool:
            for closed in [pool.submit(close_synced, file) for file in files]:
                closed.result()

    def abandon(self) -> None:
        """Let go of the files that wait: their write has failed."""
        files = self._taken()
        for file in files:
            with suppress(StorageError):
                file.abandon()

    def __enter__(self) -> CompleteFiles:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.finish()
        else:
            self.abandon()

    def _taken(self) -> list[OutputFile]:
        with self._change:
            files, self._waiting = self._waiting, []
        return files


def close_synced(file: OutputFile) -> None:
    """Close *file* once its data is on disk.

    Raises:
        StorageError: it cannot be written; it is closed.
    """
    try:
        file.sync()
    except BaseException:
        file.abandon()
        raise
    file.close()
