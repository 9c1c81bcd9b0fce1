"""Delayed calls that most often never happen: an operation that takes longer than a moment then gives a sign of life.

One thread of the process makes all of these calls, and ends once none is waiting.  A thread for each would cost more
than the work of a small commit.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

_LOOK_AGAIN = 0.5
_ROUNDS_WITHOUT = 20
"""The thread ends after it has found nothing waiting so many times."""

_waiting: dict[Delayed, float] = {}
_changes = threading.RLock()  # reentrant: the garbage collector may run inside, and stop a call from there
_thread: threading.Thread | None = None


class Delayed:
    """Calls *action*, which may not raise, about *delay* seconds from now, unless it is stopped before."""

    def __init__(self, action: Callable[[], None], delay: float) -> None:
        self._action = action
        self._call = threading.RLock()
        self._is_over = False
        global _thread  # noqa: PLW0603 - one for the process
        with _changes:
            _waiting[self] = time.monotonic() + delay
            if _thread is None or not _thread.is_alive():  # after a fork, the thread object is there but does not run
                _thread = threading.Thread(target=_run, name="delayed calls", daemon=True)
                _thread.start()

    def stop(self) -> None:
        """Prevent the call; when this returns, it is not running and never will."""
        with _changes:
            _waiting.pop(self, None)
        with self._call:
            self._is_over = True

    def call(self) -> None:
        """Make the call now, unless it was made or stopped."""
        with self._call:
            if not self._is_over:
                self._is_over = True
                self._action()


def _run() -> None:
    global _thread  # noqa: PLW0603
    rounds_without, pause = 0, threading.Event()
    while True:
        pause.wait(_LOOK_AGAIN)
        with _changes:
            now = time.monotonic()
            due = [one for one, moment in _waiting.items() if moment <= now]
            for one in due:
                del _waiting[one]
            rounds_without = 0 if _waiting or due else rounds_without + 1
            if rounds_without >= _ROUNDS_WITHOUT:
                _thread = None
                return
        for one in due:
            one.call()
