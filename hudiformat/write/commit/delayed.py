"""Calls that most often need not happen: what takes longer than a moment gives a sign of life then.

One thread of the process makes them all, and ends once there are none.  A thread for each would cost more than a small
commit's own work.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

_LOOK_AGAIN = 0.5
_ROUNDS_WITHOUT = 20
"""The thread ends after so many looks at which nothing waited."""

_waiting: dict[Delayed, float] = {}
_changes = threading.RLock()  # whatever is stopped when it is collected may be collected within
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
            if _thread is None or not _thread.is_alive():  # it is not after a fork either
                _thread = threading.Thread(target=_run, name="delayed calls", daemon=True)
                _thread.start()

    def stop(self) -> None:
        """No call begins after this, and none is at work any more."""
        with _changes:
            _waiting.pop(self, None)
        with self._call:
            self._is_over = True

    def call(self) -> None:
        """Make the call now."""
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
