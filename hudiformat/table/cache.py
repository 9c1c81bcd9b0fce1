"""What a table object remembers between operations of files that do not change, up to a number of bytes."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import NamedTuple, TypeVar

_MOST_BYTES = 256 << 20

Value = TypeVar("Value")


class _Entry(NamedTuple):
    value: object
    size: int
    turn: int


class TableCache:
    """A cache of values of at most *most* bytes; each value names the files that it is of, and its reader checks them.

    An operation calls :meth:`begin`.  If there is no room, values that the last two operations have not used are
    dropped first.  A value that still does not fit is not kept: values that only replaced each other would cost more
    than they save.
    """

    def __init__(self, most: int = _MOST_BYTES) -> None:
        self.most = most
        self._entries: dict[Hashable, _Entry] = {}
        self._size = 0
        self._turn = 0
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Record that another operation begins."""
        with self._lock:
            self._turn += 1

    def get(self, key: Hashable, kind: type[Value]) -> Value | None:
        """Return the value of *key* if it is of the class *kind*, else None."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None or not isinstance(entry.value, kind):
                return None
            self._entries[key] = entry._replace(turn=self._turn)
            return entry.value

    def put(self, key: Hashable, value: object, size: int) -> bool:
        """Keep *value*, of *size* bytes, in place of an earlier value of *key*; return whether there was room."""
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
