"""Writing in other threads.

Files that are complete are synced several at a time, which takes a disk hardly longer.  Rows are written while the next
ones are computed.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from types import TracebackType
from typing import Any

from hudiformat.errors import StorageError
from hudiformat.storage.protocol import OutputFile

_MOST_OPEN = 64
"""Files that wait at a time, as a process may have only so many open."""
_AT_ONCE = 8
_MOST_WAITING = 2
"""Calls that wait for another thread; each keeps the rows of a batch in memory."""


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


class Behind:
    """Makes the calls that it is given in their order; within its block, *apart* in another thread, else at once.

    What a call raises, a later one or :meth:`finish` raises.  Leaving the block with an error, calls that wait are
    dropped.
    """

    def __init__(self, *, apart: bool) -> None:
        self._pool = ThreadPoolExecutor(1) if apart else None
        self._waiting: deque[Future[Any]] = deque()

    def call(self, function: Callable[[Any], object], given: Any) -> None:
        """Call *function* with what is *given*."""
        if self._pool is None:
            function(given)
            return
        while len(self._waiting) >= _MOST_WAITING:
            self._waiting.popleft().result()
        self._waiting.append(self._pool.submit(function, given))

    def finish(self) -> None:
        """Return once all calls have been made."""
        while self._waiting:
            self._waiting.popleft().result()

    def __enter__(self) -> Behind:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
