"""When kernels are used: after enough work, or as the environment variable says."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from hudiformat import kernels
from hudiformat.codec.avro.compiled.encoding import write
from hudiformat.kernels.ahead import LIBRARY, Found
from tests.kernels.paths import loaded_library


def twice(number: int) -> int:
    return 2 * number


pytest.importorskip("numba")


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(kernels.VARIABLE, raising=False)
    monkeypatch.setattr(kernels, "bytes_handled", [0])
    monkeypatch.setattr(kernels, "_kernels", {})
    monkeypatch.setattr(kernels, "find_library", lambda: Found(None))


def test_a_process_with_little_work_loads_no_kernel() -> None:
    assert kernels.kernel(twice, kernels.LOAD_AFTER - 1) is None


def test_a_process_with_much_work_loads_kernels_once() -> None:
    assert kernels.kernel(twice, kernels.LOAD_AFTER - 1) is None
    loaded = kernels.kernel(twice, 1)
    assert loaded is not None
    assert loaded(21) == 42
    assert kernels.kernel(twice, 1) is loaded


def test_kernels_can_be_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(kernels.VARIABLE, "0")
    assert kernels.kernel(twice, kernels.LOAD_AFTER) is None


def test_kernels_can_be_used_from_the_first_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(kernels.VARIABLE, "1")
    assert kernels.kernel(twice, 0) is not None


@pytest.fixture
def no_numba(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delitem(sys.modules, "hudiformat.kernels.native", raising=False)
    monkeypatch.setitem(sys.modules, "numba", None)  # importing it raises an ImportError
    kernels._native.cache_clear()
    yield
    kernels._native.cache_clear()


@pytest.mark.usefixtures("no_numba")
def test_without_numba_there_are_no_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(kernels.VARIABLE, "1")
    assert kernels.kernel(twice, 0) is None
    assert not kernels.is_active()


def test_machines_that_are_not_little_endian_have_no_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(kernels.VARIABLE, "1")
    monkeypatch.setattr(sys, "byteorder", "big")
    kernels._native.cache_clear()
    assert not kernels.is_active()
    kernels._native.cache_clear()


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch, no_numba: None) -> None:
    found = loaded_library(LIBRARY)
    if found is None:
        pytest.skip("kernels cannot be built here")
    monkeypatch.setattr(kernels, "find_library", lambda: Found(found))


@pytest.mark.usefixtures("library")
def test_kernels_compiled_ahead_are_used_from_the_first_byte_and_without_numba() -> None:
    loaded = kernels.kernel(write, 0)
    assert loaded is not None
    assert loaded.__name__ == "hudiformat_write"
    assert kernels.kernel(write, 0) is loaded


@pytest.mark.usefixtures("library")
def test_kernels_compiled_ahead_can_be_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(kernels.VARIABLE, "0")
    assert kernels.kernel(write, 0) is None
