"""Compiled kernels: of a library that was compiled ahead, or compiled here by numba.

A kernel is a plain Python function on numbers, some of which are addresses.  The numpy path defines the results: a
kernel gives the same result faster, and gives up at anything unusual, which numpy then handles.  Python can run kernels
too, as tests do.  There are those of Avro records (:mod:`hudiformat.codec.avro.compiled`) and that of bloom filters
(:mod:`hudiformat.file_group.base_file.bloom_kernel`).

- With the package ``hudiformat_kernels`` (:mod:`hudiformat.kernels.ahead`) kernels are used from the first
  byte on: they are loaded in a millisecond or two.
- Else with numba, ``pip install 'hudiformat[jit]'``, which compiles them once per machine and keeps them on disk.
  Importing numba and loading kernels takes about half a second, so a process does not use them before it has handled
  :data:`LOAD_AFTER` bytes of records and keys.

The environment variable ``HUDIFORMAT_JIT`` changes that: with ``0`` kernels are never used, with ``1`` from the first
byte on.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import lru_cache, partial
from importlib import import_module
from threading import Lock
from types import ModuleType
from typing import Any

from hudiformat.kernels.ahead import find_library, kernel_of

LOAD_AFTER = 128 << 20
"""Bytes of records that a process encodes and decodes with numpy before it loads numba."""

VARIABLE = "HUDIFORMAT_JIT"

Function = Callable[..., Any]

jit_setting = partial(os.environ.get, VARIABLE)
"""Returns the value of ``HUDIFORMAT_JIT``: ``0``, ``1`` or None."""

bytes_handled = [0]
"""The number of bytes of records that this process has handled so far, in a list that all functions share."""
_kernels: dict[Function, Function] = {}
_loading = Lock()


def is_active() -> bool:
    """Return whether the next records are handled by kernels."""
    asked = jit_setting()
    if asked == "0":
        return False
    if find_library().library is not None:
        return True
    return (asked == "1" or bytes_handled[0] >= LOAD_AFTER) and has_numba()


def has_numba() -> bool:
    """Return whether numba is installed, and works with this Python, numpy and machine; this imports it."""
    return _native() is not None


@lru_cache
def _native() -> ModuleType | None:
    """Return the module that compiles; None if numba is not installed, or not for this Python, numpy or machine."""
    if sys.byteorder != "little":
        return None
    try:
        return import_module("hudiformat.kernels.native")
    except ImportError:
        return None


def kernel(function: Function, size: int) -> Function | None:
    """Return the compiled form of *function*, which handles *size* bytes of records; None if numpy is to handle them.

    The arguments and the result of *function* are 64-bit numbers.
    """
    bytes_handled[0] += size
    if not is_active():
        return None
    with _loading:
        if function not in _kernels:
            _kernels[function] = _compiled(function)
    return _kernels[function]


def _compiled(function: Function) -> Function:
    library = find_library().library
    if library is not None:
        return kernel_of(library, function)
    native = _native()
    assert native is not None  # noqa: S101 - kernels are active
    return native.compile_kernel(function)  # type: ignore[no-any-return]  # a module that is imported by name
