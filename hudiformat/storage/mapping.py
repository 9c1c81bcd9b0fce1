"""Map files.  However many files are mapped, none counts as open, and the memory of their pages can be released.

A file of an object store is fetched, so that its bytes can be used as if it were mapped.  Readers of log files use any
bytes in any order, and keep views of them, so a missing piece could not be fetched later. A file is therefore fetched
as a whole, in several ranges at a time.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import stat
import tempfile
import weakref
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pyarrow as pa

_SMALL = 1 << 15  # bytes
STRIDE = 32 << 20
"""Bytes of a file that are read before their pages are released."""
MARGIN = 4 << 20
"""Bytes that the kernel may map around a byte that is read: pages come in folios."""

_maps: weakref.WeakValueDictionary[int, pa.Buffer] = weakref.WeakValueDictionary()
"""The maps that are in use, by the id of the buffer, which has no hash.  Only pages of these maps may be released."""


def map_file(path: str | os.PathLike[str]) -> memoryview:
    """Return the bytes of a file, which are read as they are used; the file must not become shorter meanwhile.

    A small file is read at once.

    Python's own map keeps a file open, and a process may have a thousand: a slice can have more log files than that.

    Raises:
        OSError: there is no such file, or it cannot be read.
    """
    name = os.fspath(path)
    opened = os.open(name, os.O_RDONLY | os.O_CLOEXEC)  # its errors say more than Arrow's
    try:
        found = os.fstat(opened)
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
        if found.st_size <= _SMALL:  # reading it takes less time; an empty file cannot be mapped at all
            return memoryview(_read_small(opened, found.st_size))
        with pa.memory_map(name) as file:
            buffer = file.read_buffer()
    finally:
        os.close(opened)
    _maps[id(buffer)] = buffer
    return memoryview(buffer).cast("B")


def _read_small(opened: int, size: int) -> bytes:
    """Return the first *size* bytes of the file with the descriptor *opened*, or fewer if it has become shorter."""
    data = os.read(opened, size)
    while len(data) < size and (more := os.read(opened, size - len(data))):
        data += more
    return data


def _map_of(data: memoryview) -> Any:
    """Return the buffer of the mapped file that *data* is a part of; None if it is a part of no mapped file."""
    found = _maps.get(id(data.obj))
    return found if found is data.obj else None


class PageReleaser:
    """Releases the memory of a mapped file behind a reader that walks through it, in either direction.

    Without it every page that was read counts as memory of the process until the system runs short.  Views of the file
    stay valid.  For bytes outside of mapped files it does nothing.  Pages are released whenever the reader has come
    *stride* bytes further, with those of *margin* bytes around them.
    """

    def __init__(self, data: memoryview, start: int = 0, *, stride: int = STRIDE, margin: int = MARGIN) -> None:
        self._map = _map_of(data)
        self._last = start
        self._stride = stride
        self._margin = margin

    def advance_to(self, position: int) -> None:
        """Report that the reader has come to *position*, in bytes from the start of the file."""
        if self._map is None or abs(position - self._last) < self._stride:
            return
        first = max(min(self._last, position) - self._margin, 0) // mmap.PAGESIZE * mmap.PAGESIZE
        last = min(max(self._last, position) + self._margin, self._map.size)
        _release(self._map.address + first, last - first)
        self._last = position


def release_pages(views: Iterable[bytes | memoryview]) -> None:
    """Release the memory of the mapped files that *views* are parts of; the views stay valid.

    For bytes outside of mapped files it does nothing.
    """
    maps = {id(view.obj): _map_of(view) for view in views if isinstance(view, memoryview)}
    for buffer in maps.values():
        if buffer is not None:
            _release(buffer.address, buffer.size)


def _release(address: int, length: int) -> None:
    """Release the pages from *address* on; they are read from their file again when they are used."""
    _LIBC.madvise(ctypes.c_void_p(address), ctypes.c_size_t(length), mmap.MADV_DONTNEED)


_LIBC = ctypes.CDLL(None)

RANGE = 8 << 20
"""Bytes of one request, as in Arrow's readers: the round trip of the request is then a small part of the time."""
PARALLEL = 8
"""Requests at a time; with RANGE this bounds the memory."""


def fetch(file: pa.NativeFile) -> memoryview:
    """Return the bytes of *file*: in memory if one request is enough, otherwise in a mapped temporary file.

    Raises:
        OSError: a range cannot be read, or ends too early.
    """
    size = file.size()
    if size <= RANGE:
        return memoryview(_read_range(file, 0, size))
    with tempfile.NamedTemporaryFile(prefix="hudiformat-") as target:
        with ThreadPoolExecutor(PARALLEL) as pool:
            done = pool.map(partial(_copy_range, file, target.fileno(), size), range(0, size, RANGE))
            for _ in done:  # raises the error of a range
                pass
        return map_file(target.name)  # the map outlives the name


def _copy_range(file: pa.NativeFile, target: int, size: int, start: int) -> None:
    data = memoryview(_read_range(file, start, min(RANGE, size - start)))
    while data:
        written = os.pwrite(target, data, start)
        data, start = data[written:], start + written


def _read_range(file: pa.NativeFile, start: int, count: int) -> bytes:
    data: bytes = file.read_at(count, start)
    if len(data) != count:
        raise OSError(f"expected {count} bytes at byte {start}, found {len(data)}")
    return data
