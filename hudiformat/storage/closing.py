"""Closing files that are complete, with their data on disk: several at a time, which takes a disk hardly longer."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from hudiformat.errors import StorageError
from hudiformat.storage.protocol import OutputFile

_MOST_OPEN = 64
"""Files that wait at a time, as a process may have only so many open."""
_AT_ONCE = 8


class CompleteFiles:
    """Takes over files that nothing more is written to.  They are on disk once :meth:`finish` has returned.

    With *sync* false they are only closed.
    """

    def __init__(self, *, sync: bool = True) -> None:
        self._sync = sync
        self._waiting: list[OutputFile] = []

    def add(self, file: OutputFile) -> None:
        """Take over *file*.

        Raises:
            StorageError: one of the files that wait cannot be written.
        """
        if not self._sync:
            file.close()
            return
        self._waiting.append(file)
        if len(self._waiting) >= _MOST_OPEN:
            self.finish()

    def finish(self) -> None:
        """Return once all files are on disk, and closed.

        Raises:
            StorageError: one of them cannot be written.
        """
        files, self._waiting = self._waiting, []
        if len(files) <= 1:
            for file in files:
                close_synced(file)
            return
        with ThreadPoolExecutor(min(_AT_ONCE, len(files))) as pool:
            for closed in [pool.submit(close_synced, file) for file in files]:
                closed.result()

    def abandon(self) -> None:
        """Let go of the files that wait: their write has failed."""
        files, self._waiting = self._waiting, []
        for file in files:
            with suppress(StorageError):
                file.abandon()


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
