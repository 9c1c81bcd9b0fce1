"""What is done by numpy, by kernels that Python runs, by numba's, and by those that were compiled ahead."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any
from unittest.mock import patch

import pyarrow as pa

from hudiformat import kernels
from hudiformat.codec.avro.compiled.record_writer import record_writer
from hudiformat.kernels.ahead import AVX2_LIBRARY, LIBRARY, PACKAGE, Found
from tests.measuring import unmeasured
from tools.kernels import KernelsError, build_package


def _without_compiler(function: kernels.Function, _size: int) -> kernels.Function:
    return function


@lru_cache
def loaded_library(name: str) -> ctypes.CDLL | None:
    """The library of that name, built if need be; None where kernels cannot be built."""
    try:
        with unmeasured():
            return ctypes.CDLL(str(build_package() / PACKAGE / name))
    except KernelsError:
        return None


_compile = kernels._compiled


def _compile_unmeasured(function: kernels.Function) -> kernels.Function:
    with unmeasured():  # numba is ten seconds of Python
        return _compile(function)


_compiled: dict[str, dict[kernels.Function, kernels.Function]] = {}
"""The kernels that each library, or numba, has compiled."""


@contextmanager
def _by(name: str, library: ctypes.CDLL | None, setting: str = "1") -> Iterator[None]:
    record_writer.cache_clear()
    with (
        patch.dict(os.environ, {kernels.VARIABLE: setting}),
        patch.object(kernels, "find_library", lambda: Found(library)),
        patch.object(kernels, "_kernels", _compiled.setdefault(name, {})),
        patch.object(kernels, "_compiled", _compile_unmeasured),
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
    with by_numba(), patch.object(kernels, "kernel", _without_compiler):
        yield


KERNELS = (by_python, by_numba, by_library, by_avx2_library)
EVERY_PATH = (by_numpy, *KERNELS)
