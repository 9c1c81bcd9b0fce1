"""A thread that repeats an action at intervals, as a sign of life that others look for."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

from hudiformat.errors import StorageError


class Ticker:
    """Calls *action* every *interval* seconds, from :meth:`start` to :meth:`stop`.

    A StorageError is ignored, because the next call may succeed.  The thread ends with the process.
    """

    def __init__(self, action: Callable[[], None], *, interval: float, name: str) -> None:
        self._action = action
        self._interval = interval
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread; the first call comes after an interval."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the calls; when this returns, none is running and none will begin."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(self._interval):
            with contextlib.suppress(StorageError):
                self._action()
