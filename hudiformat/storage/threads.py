"""Threads that wait for a storage, and take no processor meanwhile, and threads that would have nothing to do.

Complete files are synced several at a time, which takes a disk hardly longer than one.  Rows are written while the next
ones are computed, and threads that are free take over parts of that.  Requests to a remote storage are made side by
side.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any, TypeVar

import pyarrow as pa

from hudiformat.errors import StorageError
from hudiformat.storage.protocol import OutputFile, Storage, SyncsTogether

Given = TypeVar("Given")
Result = TypeVar("Result")

FILE_GROUPS = 8
"""The most file groups that are read or written at a time: each has rows in memory."""
_REQUESTS = 16
"""Other requests that are made at a time."""
_MOST_OPEN = 64
"""The number of files that wait at a time: the number of open files of a process is limited."""
_MANY = 32
"""So many files are synced with their file system, where that is possible: it waits for the disk once, not for each."""
_AT_ONCE = 8
_COMPUTED_AHEAD = 3
"""Results that are computed before they are asked for; each may have the rows of a piece of a write."""
_MOST_WAITING = 2
"""The number of calls that wait for the other thread; each keeps the rows of a batch in memory."""


class FileCloser:
    """Closes files that are completely written, added from any thread; they are on disk when :meth:`finish` returns.

    Without *sync* they are only closed.  Many files are synced by *storage*, if it can sync them together.  As a
    context manager it calls :meth:`finish` or, after an error, :meth:`abandon`.
    """

    def __init__(self, storage: Storage, *, sync: bool = True) -> None:
        self._sync = sync and storage.capabilities.sync
        self._together = storage if storage.capabilities.sync_together and isinstance(storage, SyncsTogether) else None
        self._owes_all = False
        self._waiting: list[OutputFile] = []
        self._change = threading.Lock()

    def sync_all_at_end(self) -> bool:
        """Have :meth:`finish` sync all that was written to the storage, and return whether it will."""
        self._owes_all = self._sync and self._together is not None
        return self._owes_all

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
            self._close(self._take_waiting(), syncs_all=False)

    def finish(self) -> None:
        """Sync and close all files that wait.

        Raises:
            StorageError: one of them cannot be written.
        """
        owes_all, self._owes_all = self._owes_all, False
        self._close(self._take_waiting(), syncs_all=owes_all)

    def _close(self, files: list[OutputFile], *, syncs_all: bool) -> None:
        if self._together is not None and (syncs_all or len(files) >= _MANY):
            try:
                self._together.sync_together(files)
            except BaseException:
                _abandon(files)
                raise
            for file in files:
                file.close()
            return
        if len(files) <= 1:
            for file in files:
                sync_and_close(file)
            return
        with ThreadPoolExecutor(min(_AT_ONCE, len(files))) as pool:
            for closed in [pool.submit(sync_and_close, file) for file in files]:
                closed.result()

    def abandon(self) -> None:
        """Release the files that wait, because their write has failed."""
        _abandon(self._take_waiting())

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


def _abandon(files: Iterable[OutputFile]) -> None:
    for file in files:
        with suppress(StorageError):
            file.abandon()


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


class WorkThreads:
    """*count* threads that make calls, and take over parts of them while they have nothing else to do.

    With one, the calls are made by the threads that ask for them.
    """

    def __init__(self, count: int = 1) -> None:
        self._pool = ThreadPoolExecutor(count) if count > 1 else None
        self._count = count
        self._unfinished = 0
        self._change = threading.Lock()

    @property
    def exist(self) -> bool:
        """Whether there are threads."""
        return self._pool is not None

    def submit(self, function: Callable[[], Result]) -> Future[Result]:
        """Have a thread call *function* as soon as one is free; without threads, it is called now.

        Raises:
            RuntimeError: the threads were stopped.
        """
        if self._pool is None:
            done: Future[Result] = Future()
            done.set_result(function())
            return done
        with self._change:
            future = self._pool.submit(function)
            self._unfinished += 1
        future.add_done_callback(self._note_end)
        return future

    def share(self, function: Callable[[], Result]) -> Callable[[], Result]:
        """Have a thread call *function* if one is free, else call it now; return what waits for the result.

        The thread that asks may be one of these: it never waits for a call that was not begun.
        """
        if self._unfinished >= self._count or self._pool is None:
            result = function()
            return lambda: result
        try:
            future = self.submit(function)
        except RuntimeError:  # the write has failed, and its threads stop
            return function
        return lambda: function() if future.cancel() else future.result()

    def map(self, function: Callable[[Given], Result], given: Iterable[Given]) -> Iterator[Result]:
        """Yield the result of *function* for each of *given*, in their order; a few are computed ahead."""
        waiting: deque[Future[Result]] = deque()
        for one in given:
            waiting.append(self.submit(partial(function, one)))
            if len(waiting) > _COMPUTED_AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def stop(self) -> None:
        """Wait for the calls that were begun; the others are not made."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def _note_end(self, _: Future[Any]) -> None:
        with self._change:
            self._unfinished -= 1


NO_THREADS = WorkThreads()


def threads_for(storage: Storage) -> int:
    """Return how many threads read or write file groups: those of a local storage need a processor each."""
    return min(pa.cpu_count(), FILE_GROUPS) if storage.capabilities.map else FILE_GROUPS


def side_by_side(
    storage: Storage, function: Callable[[Given], Result], given: Iterable[Given], *, at_once: int = _REQUESTS
) -> Iterator[Result]:
    """Yield what *function*, which asks *storage*, returns for each of *given*, in their order.

    On a remote storage up to *at_once* calls are made at a time, in threads, and no more results wait to be taken; on
    any other, each is made when its result is asked for.  An error is raised in place of its result, as if the calls
    were made one after the other; those that come after it have no results then.
    """
    return map(function, given) if storage.capabilities.map else _in_threads(function, given, at_once)


def for_each(storage: Storage, function: Callable[[Given], object], given: Iterable[Given]) -> None:
    """Call *function*, which asks *storage*, with each of *given*, as :func:`side_by_side` does."""
    deque(side_by_side(storage, function, given), maxlen=0)


def _in_threads(function: Callable[[Given], Result], given: Iterable[Given], at_once: int) -> Iterator[Result]:
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(at_once, thread_name_prefix="hudiformat-requests") as pool:
        try:
            for one in given:
                waiting.append(pool.submit(function, one))
                if len(waiting) >= at_once:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for call in waiting:
                call.cancel()
