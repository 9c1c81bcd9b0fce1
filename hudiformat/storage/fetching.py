"""Fetch a file of an object store, so that its bytes can be used as if it were mapped.

Readers of log files use any bytes in any order, and keep views of them, so a missing piece could not be fetched later.
A file is therefore fetched as a whole, in several ranges at a time.
"""

from __future__ import annotations

import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pyarrow as pa

from hudiformat.storage.mapping import map_file

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
