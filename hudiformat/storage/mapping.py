"""Mapped files whose memory can be released."""

from __future__ import annotations

import mmap
from collections.abc import Iterable

_STRIDE = 32 << 20  # bytes
_MARGIN = 4 << 20  # bytes that the kernel may map around a byte that is read: pages come in folios


class FileMap(mmap.mmap):
    """A read-only map of a file: its pages can be released at any time, and are read again when they are used."""


class Trail:
    """Releases the memory of a mapped file behind a reader that walks through it, in either direction.

    Without it every page that was read counts as memory of the process until the system runs short.  Views of the file
    stay valid.  For bytes that are no :class:`FileMap` nothing is done.
    """

    def __init__(self, data: memoryview, start: int = 0) -> None:
        self._map = data.obj if isinstance(data.obj, FileMap) else None
        self._last = start

    def reach(self, position: int) -> None:
        """Report that the reader has come to *position*, in bytes from the start of the file."""
        if self._map is None or abs(position - self._last) < _STRIDE:
            return
        first = max(min(self._last, position) - _MARGIN, 0) // mmap.PAGESIZE * mmap.PAGESIZE
        last = min(max(self._last, position) + _MARGIN, len(self._map))
        self._map.madvise(mmap.MADV_DONTNEED, first, last - first)
        self._last = position


def give_back(views: Iterable[bytes | memoryview]) -> None:
    """Release the memory of the mapped files that *views* are parts of; the views stay valid.

    For bytes in no :class:`FileMap` nothing is done.
    """
    maps = {view.obj for view in views if isinstance(view, memoryview) and isinstance(view.obj, FileMap)}
    for file_map in maps:
        file_map.madvise(mmap.MADV_DONTNEED)
