"""Signs of life: a file per writer, written anew as long as the writer lives.

Who finds a write that did not complete asks for its heartbeat before taking it away.
Source: HoodieHeartbeatClient, HoodieHeartbeatUtils, Hudi 1.2.0.
"""

from __future__ import annotations

import contextlib
import threading
import time

from hudiformat.errors import StorageError
from hudiformat.storage import Storage

_FOLDER = ".hoodie/.heartbeat"


class Heartbeat:
    """The heartbeat of one write; :meth:`start` and :meth:`stop` it once."""

    def __init__(self, storage: Storage, instant: str, *, interval: float) -> None:
        self._storage = storage
        self._path = f"{_FOLDER}/{instant}"
        self._interval = interval
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"heartbeat {instant}", daemon=True)

    def start(self) -> None:
        """Beat at once, and then every *interval* seconds.

        Raises:
            StorageError: the first beat failed.
        """
        self._beat()
        self._thread.start()

    def stop(self) -> None:
        """Beat no more, and take the file away."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()
        forget(self._storage, self._path.rpartition("/")[2])

    def _run(self) -> None:
        while not self._stopped.wait(self._interval):
            with contextlib.suppress(StorageError):  # a missed beat is tolerated, and the next one may succeed
                self._beat()

    def _beat(self) -> None:
        self._storage.create(self._path, b"", overwrite=True, sync=False)


def living(storage: Storage, *, tolerance: float) -> frozenset[str]:
    """The instants of writers that gave a sign of life within the last *tolerance* seconds.

    Where the storage does not say when a file was written, every heartbeat counts.
    """
    oldest = (time.time() - tolerance) * 1000
    return frozenset(
        entry.name for entry in storage.list(_FOLDER) if entry.modified is None or entry.modified >= oldest
    )


def forget(storage: Storage, instant: str) -> None:
    """Take away the heartbeat of a writer, alive or dead."""
    with contextlib.suppress(StorageError):
        storage.delete(f"{_FOLDER}/{instant}")
