"""What numba compiles does what Python does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hudiformat.kernels.memory import copy16, high_bits32, load8, load32, load64, store8, store32, store64

numba = pytest.importorskip("numba")
from hudiformat.kernels import native


def _sum(at: int) -> int:
    return load64(at) + load32(at) + load8(at)


def everything(source: int, target: int) -> int:
    copy16(target, source)
    store64(target + 17, _sum(source + 3))
    store32(target + 25, -1)
    store8(target + 29, 300)
    store64(target + 30, high_bits32(source + 5))
    return _sum(source)


@pytest.mark.slow
def test_memory_is_read_and_written_as_by_python() -> None:
    source = np.random.default_rng(7).integers(0, 256, 40).astype(np.uint8)
    python, machine = np.zeros((2, 40), np.uint8)
    found = everything(source.ctypes.data, python.ctypes.data)
    assert native.compile_kernel(everything)(source.ctypes.data, machine.ctypes.data) == found
    assert machine.tolist() == python.tolist()


_NO_FOLDER = RuntimeError("cannot cache function 'f': no locator available for file 'f.py'")


@pytest.mark.parametrize("error", [_NO_FOLDER, OSError("No space left on device")])
def test_where_nothing_can_be_cached_a_function_is_compiled_all_the_same(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    njit = numba.njit

    def refuses_to_cache(*signatures: str, **options: Any) -> Any:
        if options.get("cache"):
            raise error
        return njit(*signatures, **options)

    monkeypatch.setattr(numba, "njit", refuses_to_cache)
    numbers = np.arange(40).astype(np.uint8)
    at = numbers.ctypes.data
    assert native.compile_kernel(everything)(at, at) == _sum(at)


def test_a_kernel_is_kept_under_a_name_that_follows_from_all_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    before = native._rename_by_sources(everything)
    assert before.__code__ is everything.__code__
    monkeypatch.setattr(native, "digest_of_sources", lambda: "other")
    assert native._rename_by_sources(everything).__qualname__ == "everything_other" != before.__qualname__


def _twice(number: int) -> int:
    return number + number


def test_other_errors_of_numba_are_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_signatures: str, **_options: Any) -> Any:
        raise RuntimeError("something else")

    monkeypatch.setattr(numba, "njit", fails)
    with pytest.raises(RuntimeError, match="something else"):
        native.compile_kernel(_twice)


def test_a_builtin_has_no_callees() -> None:
    before = set(native._registered)
    native._register_callees(len)
    assert native._registered == before
