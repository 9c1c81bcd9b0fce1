"""Records handled by numpy, by kernels that Python runs, by numba's, and by those that were compiled ahead."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any
from unittest.mock import patch

import pyarrow as pa

from hudiformat.codec.avro import compiled
from hudiformat.codec.avro.compiled.ahead import AVX2_LIBRARY, LIBRARY, PACKAGE, Found
from hudiformat.codec.avro.compiled.record_writer import record_writer
from hudiformat.codec.avro.decode import decode_records, find_records
from hudiformat.errors import HudiFormatError
from tools.kernels import KernelsError, build_package


def _without_compiler(function: compiled.Function, _size: int) -> compiled.Function:
    return function


@lru_cache
def loaded_library(name: str) -> ctypes.CDLL | None:
    """The library of that name, built if need be; None where kernels cannot be built."""
    try:
        return ctypes.CDLL(str(build_package() / PACKAGE / name))
    except KernelsError:
        return None


_compiled: dict[str, dict[compiled.Function, compiled.Function]] = {}
"""The kernels that each library, or numba, has compiled."""


@contextmanager
def _by(name: str, library: ctypes.CDLL | None, setting: str = "1") -> Iterator[None]:
    record_writer.cache_clear()
    with (
        patch.dict(os.environ, {compiled.VARIABLE: setting}),
        patch.object(compiled, "find_library", lambda: Found(library)),
        patch.object(compiled, "_kernels", _compiled.setdefault(name, {})),
    ):
        yield
    record_writer.cache_clear()


def by_numpy() -> Any:
    return _by("numpy", None, "0")


def by_numba() -> Any:
    return _by("numba", None)


def by_library() -> Any:
    """Kernels compiled ahead, for any processor."""
    return _by(LIBRARY, loaded_library(LIBRARY))


def by_avx2_library() -> Any:
    name = AVX2_LIBRARY if pa.runtime_info().simd_level in {"avx2", "avx512"} else LIBRARY
    return _by(name, loaded_library(name))


@contextmanager
def by_python() -> Iterator[None]:
    with by_numba(), patch.object(compiled, "kernel", _without_compiler):
        yield


KERNELS = (by_python, by_numba, by_library, by_avx2_library)
EVERY_PATH = (by_numpy, *KERNELS)


def outcome(data: bytes, count: int, schema: str, *, columns: Sequence[str] | None = None, views: bool = False) -> Any:
    """The batch of the records, or the error with its message and offset."""
    try:
        batch = find_records(data, count, schema).decode(columns, views=views)
    except HudiFormatError as error:
        return type(error), str(error), getattr(error, "offset", None)
    batch.validate(full=True)
    return batch


def outcomes(*arguments: Any, **options: Any) -> list[Any]:
    """What comes out on every path."""
    found = []
    for path in EVERY_PATH:
        with path():
            found.append(outcome(*arguments, **options))
    return found


def in_chunks_of(rows: int) -> Callable[[], Any]:
    """Let the kernel decode so many records first, so that its memory has to grow."""
    return patch("hudiformat.codec.avro.compiled.decoded._FIRST_ROWS", rows)  # type: ignore[return-value]  # a context manager of mock


def decoded_by(path: Callable[[], Any], data: bytes, count: int, schema: str) -> pa.RecordBatch:
    with path():
        return decode_records(data, count, schema)
