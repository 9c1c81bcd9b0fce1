"""Kernels compiled ahead: a shared library of the package ``hudiformat_kernels``, which ctypes loads.

The library is used only if it was compiled from the very sources that are installed here.  ``tools/kernels.py`` builds
it, by numba; it needs neither numba nor the C library, and holds nothing but the kernels.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256
from importlib import import_module
from importlib.resources import files
from typing import Any, NamedTuple

import pyarrow as pa

PACKAGE = "hudiformat_kernels"
PREFIX = "hudiformat_"
"""Stands in front of the names of kernels in the library."""

LIBRARY = "kernels.so"
AVX2_LIBRARY = "kernels-avx2.so"
"""The same for processors with AVX2."""

SOURCES = (
    *(f"codec/avro/compiled/{name}" for name in ("decoding", "encoding", "layout", "texts")),
    "file_group/base_file/bloom_kernel",
    "kernels/memory",
    "kernels/native",
)
"""The modules that machine code is made from."""

_WITH_AVX2 = ("avx2", "avx512")  # as pyarrow names levels, each of which includes those below
_NOT_INSTALLED = "hudiformat-kernels is not installed"
_OF_OTHERS = "hudiformat-kernels was built for another version of hudiformat: install the one for this version"


class Found(NamedTuple):
    """The library; or None, and the reason why it is not used."""

    library: ctypes.CDLL | None
    reason: str = ""


@lru_cache
def find_library() -> Found:
    """Load the library of the installed package ``hudiformat_kernels``."""
    try:
        package = import_module(PACKAGE)
    except ImportError:
        return Found(None, _NOT_INSTALLED)
    if digest_of_sources() != package.SOURCES:
        return Found(None, _OF_OTHERS)
    name = AVX2_LIBRARY if pa.runtime_info().simd_level in _WITH_AVX2 else LIBRARY
    try:
        return Found(ctypes.CDLL(str(files(package).joinpath(name))))
    except OSError as error:
        return Found(None, f"hudiformat-kernels cannot be loaded: {error}")


def kernel_of(library: ctypes.CDLL, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the compiled form of *function*; ctypes calls it without Python's lock."""
    found = library[PREFIX + function.__name__]
    found.restype = ctypes.c_int64
    found.argtypes = [ctypes.c_int64] * function.__code__.co_argcount
    return found


@lru_cache
def digest_of_sources() -> str:
    """Return a digest of the sources of the kernels, and of how they are compiled."""
    folder = files("hudiformat")
    return sha256(b"\0".join(folder.joinpath(f"{name}.py").read_bytes() for name in SOURCES)).hexdigest()[:16]
