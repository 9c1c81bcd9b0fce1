"""The library of kernels is used if it is installed, and made from the sources that are here."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

from hudiformat.codec.avro.compiled import decoding
from hudiformat.kernels import ahead
from tests.kernels.paths import loaded_library


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delitem(sys.modules, ahead.PACKAGE, raising=False)
    ahead.find_library.cache_clear()
    yield
    sys.modules.pop(ahead.PACKAGE, None)
    ahead.find_library.cache_clear()


def install(folder: Path, sources: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    package = folder / ahead.PACKAGE
    package.mkdir()
    package.joinpath("__init__.py").write_text(f'SOURCES = "{sources}"\n')
    monkeypatch.syspath_prepend(folder)
    return package


def test_a_package_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, ahead.PACKAGE, None)  # importing it raises an ImportError
    assert ahead.find_library() == (None, "hudiformat-kernels is not installed")


def test_a_library_of_other_sources_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "other", monkeypatch)
    library, reason = ahead.find_library()
    assert library is None
    assert reason.startswith("hudiformat-kernels was built for another version of hudiformat")


def test_a_library_that_cannot_be_loaded_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = install(tmp_path, ahead.digest_of_sources(), monkeypatch)
    package.joinpath(ahead.LIBRARY).write_bytes(b"of another machine")
    monkeypatch.setattr(pa, "runtime_info", lambda: SimpleNamespace(simd_level="sse4_2"))
    library, reason = ahead.find_library()
    assert library is None
    assert reason.startswith("hudiformat-kernels cannot be loaded: ")


@pytest.mark.parametrize(
    ("level", "name"), [("sse4_2", ahead.LIBRARY), ("avx2", ahead.AVX2_LIBRARY), ("avx512", ahead.AVX2_LIBRARY)]
)
def test_the_library_is_chosen_by_what_the_processor_can(
    level: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = loaded_library(name)
    if built is None:
        pytest.skip("kernels cannot be built here")
    package = install(tmp_path, ahead.digest_of_sources(), monkeypatch)
    package.joinpath(name).write_bytes(Path(built._name).read_bytes())
    monkeypatch.setattr(pa, "runtime_info", lambda: SimpleNamespace(simd_level=level))
    library, reason = ahead.find_library()
    assert library is not None, reason
    assert ahead.kernel_of(library, decoding.chain).__name__ == "hudiformat_chain"


def test_the_sources_of_a_kernel_are_all_modules_that_it_calls() -> None:
    """What the compiled functions call, and the constants that they use, are in modules that the digest is made of."""
    for name in ahead.SOURCES:
        module = sys.modules.get(f"hudiformat.{name.replace('/', '.')}")
        used = [] if module is None or name.endswith("native") else list(vars(module).values())
        homes = {getattr(one, "__module__", "") for one in used if callable(one)}
        homes = {home for home in homes if home.startswith("hudiformat.")}
        assert homes <= {f"hudiformat.{one.replace('/', '.')}" for one in ahead.SOURCES}
