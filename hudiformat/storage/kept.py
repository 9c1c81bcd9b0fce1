"""What a table object keeps between its operations of files that do not change, in bounded memory."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Any, NamedTuple

_MOST_BYTES = 256 << 20


class _Entry(NamedTuple):
    value: Any
    size: int
    turn: int


class Kept:
    """Values by key, of at most *most* bytes; whoever keeps one says of which files it is, and checks that.

    An operation calls :meth:`begin`.  Where there is no room, what the last two operations have not used goes first.
    A value that still does not fit is not kept: values that only drove out each other would cost more than they save.
    """

    def __init__(self, most: int = _MOST_BYTES) -> None:
        self.most = most
        self._entries: dict[Hashable, _Entry] = {}
        self._size = 0
        self._turn = 0
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Note that another operation begins."""
        with self._lock:
            self._turn += 1

    def get(self, key: Hashable) -> Any:
        """The value of *key*, or None."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries[key] = entry._replace(turn=self._turn)
            return entry.value

    def put(self, key: Hashable, value: Any, size: int) -> bool:
        """Keep *value*, of *size* bytes, instead of another one of *key*, where there is room; whether there was."""
        with self._lock:
            self._drop(key)
            if self._size + size > self.most:
                for old in [name for name, entry in self._entries.items() if entry.turn < self._turn - 1]:
                    self._drop(old)
            if self._size + size > self.most:
                return False
            self._entries[key] = _Entry(value, size, self._turn)
            self._size += size
            return True

    def _drop(self, key: Hashable) -> None:
        entry = self._entries.pop(key, None)
        self._size -= 0 if entry is None else entry.size
