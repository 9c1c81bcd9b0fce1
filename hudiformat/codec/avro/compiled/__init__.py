"""Compiled kernels for Avro records, used if numba is installed: ``pip install 'hudiformat[jit]'``.

A kernel is a plain Python function of this folder on numbers and numpy arrays.  numba compiles it once per machine and
keeps it on disk; Python can run it too, as tests do.  The numpy path defines the results: a kernel gives the same
result faster, and gives up at anything unusual, which numpy then handles.

Importing numba and loading kernels takes about half a second, so a process does not use them before it has handled
:data:`LOAD_AFTER` bytes of records.  The environment variable ``HUDIFORMAT_JIT`` changes that: with ``0`` kernels are
never used, with ``1`` from the first byte on.
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

LOAD_AFTER = 128 << 20
"""Bytes of records that a process encodes and decodes with numpy before it loads kernels."""

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
    return asked != "0" and (asked == "1" or bytes_handled[0] >= LOAD_AFTER) and is_available()


def is_available() -> bool:
    """Return whether numba is installed, and works with this Python, numpy and machine; this imports it."""
    return _native() is not None


@lru_cache
def _native() -> ModuleType | None:
    """Return the module that compiles; None if numba is not installed, or not for this Python, numpy or machine."""
    if sys.byteorder != "little":
        return None
    try:
        return import_module("hudiformat.codec.avro.compiled.native")
    except ImportError:
        return None


def kernel(function: Function, signature: str, size: int) -> Function | None:
    """Return the compiled form of *function*, which handles *size* bytes of records; None if numpy is to handle them.

    *signature* is numba's, such as ``"int64(uint8[::1], int64)"``; it is the same in all calls for one function.
    """
    bytes_handled[0] += size
    if not is_active() or (native := _native()) is None:
        return None
    with _loading:
        if function not in _kernels:
            _kernels[function] = native.compile_kernel(function, signature)
    return _kernels[function]
