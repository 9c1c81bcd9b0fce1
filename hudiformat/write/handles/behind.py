"""Calls that are made in another thread, one after the other: rows are written while the next ones are merged."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any

_MOST_WAITING = 2
"""Calls that wait; each keeps the rows of a batch in memory."""


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
