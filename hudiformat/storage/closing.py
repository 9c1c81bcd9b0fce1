"""Write and sync files in other threads.

Complete files are synced several at a time, which takes a disk hardly longer than one.  Rows are written while the next
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
"""The number of files that wait at a time: the number of open files of a process is limited."""
_AT_ONCE = 8
_MOST_WAITING = 2
"""The number of calls that wait for the other thread; each keeps the rows of a batch in memory."""


class FileCloser:
    """Closes files that are completely written, added from any thread; they are on disk when :meth:`finish` returns.

    Without *sync* they are only closed.  As a context manager it calls :meth:`finish` or, after an error,
    :meth:`abandon`.
    """

    def __init__(self, *, sync: bool = True) -> None:
        self._sync = sync
        self._waiting: list[OutputFile] = []
        self._change = threading.Lock()

    def add(self, file: OutputFile) -> None:
        """Add *file*, which this object closes.

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
        """Sync and close all files that wait.

        Raises:
            StorageError: one of them cannot be written.
        """
        files = self._take_waiting()
        if len(files) <= 1:
            for file in files:
                sync_and_close(file)
            return
        with ThreadPoolExecutor(min(_AT_ONCE, len(files))) as pool:
            for closed in [pool.submit(sync_and_close, file) for file in files]:
                closed.result()

    def abandon(self) -> None:
        """Release the files that wait, because their write has failed."""
        files = self._take_waiting()
        for file in files:
            with suppress(StorageError):
                file.abandon()

    def __enter__(self) -> FileCloser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.finish()
        else:
            self.abandon()

    def _take_waiting(self) -> list[OutputFile]:
        with self._change:
            files, self._waiting = self._waiting, []
        return files


def sync_and_close(file: OutputFile) -> None:
    """Close *file* once its data is on disk.

    Raises:
        StorageError: the file cannot be written; it is closed all the same.
    """
    try:
        file.sync()
    except BaseException:
        file.abandon()
        raise
    file.close()


class BackgroundCalls:
    """Makes calls in their order: within its body, with *apart* in another thread, otherwise at once.

    What a call raises, a later call or :meth:`finish` raises.  If the body ends with an error, calls that wait are
    dropped.
    """

    def __init__(self, *, apart: bool) -> None:
        self._pool = ThreadPoolExecutor(1) if apart else None
        self._waiting: deque[Future[Any]] = deque()

    def call(self, function: Callable[[Any], object], given: Any) -> None:
        """Call *function* with the argument *given*, in the other thread if there is one."""
        if self._pool is None:
            function(given)
            return
        while len(self._waiting) >= _MOST_WAITING:
            self._waiting.popleft().result()
        self._waiting.append(self._pool.submit(function, given))

    def finish(self) -> None:
        """Wait until all calls have been made."""
        while self._waiting:
            self._waiting.popleft().result()

    def __enter__(self) -> BackgroundCalls:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
