"""Files that are mapped, and memory of theirs that is given back."""

from __future__ import annotations

import mmap
from collections.abc import Iterable

_STRIDE = 32 << 20  # bytes
_MARGIN = 4 << 20  # what the kernel may map around a byte that is touched: pages come in folios


class FileMap(mmap.mmap):
    """A read-only map of a file: its pages can be given back at any time, and are read again when touched."""


class Trail:
    """Gives the memory of a mapped file back behind whoever walks through it, in either direction.

    Without it every page that was touched counts as the process's memory until the system runs short of it.  Views of
    the file stay valid.  Of bytes that are no :class:`FileMap` nothing is given back.
    """

    def __init__(self, data: memoryview, start: int = 0) -> None:
        self._map = data.obj if isinstance(data.obj, FileMap) else None
        self._last = start

    def reach(self, position: int) -> None:
        """Say that the walk has come to *position*, in bytes from the start of the file."""
        if self._map is None or abs(position - self._last) < _STRIDE:
            return
        first = max(min(self._last, position) - _MARGIN, 0) // mmap.PAGESIZE * mmap.PAGESIZE
        last = min(max(self._last, position) + _MARGIN, len(self._map))
        self._map.madvise(mmap.MADV_DONTNEED, first, last - first)
        self._last = position


def give_back(views: Iterable[bytes | memoryview]) -> None:
    """Give back the memory of the mapped files that *views* are parts of; they stay valid.

    Of bytes that are in no :class:`FileMap` nothing is given back.
    """
    maps = {view.obj for view in views if isinstance(view, memoryview) and isinstance(view.obj, FileMap)}
    for one in maps:
        one.madvise(mmap.MADV_DONTNEED)
