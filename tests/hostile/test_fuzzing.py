"""The fuzzer with coverage, and the files that it has kept."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import hudiformat
from hudiformat.errors import HudiFormatError
from tests.effort import examples
from tests.hostile import fuzzing
from tests.hostile.corpus import Source, build
from tests.hostile.fuzzing import Coverage, Fuzzer, kept
from tests.hostile.reading import Attempts, parse

pytestmark = pytest.mark.unmeasured

PROPERTIES = b"hoodie.table.name=t\nhoodie.table.version=9\nhoodie.timeline.layout.version=2\n"


@pytest.fixture
def source(tmp_path: Path) -> Source:
    return Source(tmp_path, "f", "properties", PROPERTIES)


def test_what_was_kept_gives_errors_of_the_library(tmp_path: Path) -> None:
    root = tmp_path / "corpus"
    root.mkdir()
    build(root, golden=("v9-mor-archived-h120", "v6-mor-archived-h0150"), made=())
    (tmp_path / "scratch").mkdir()
    attempt = Attempts()
    files = list(kept(root))
    for one in files:
        parse(one, one.data, tmp_path / "scratch", attempt)
    assert [error for error in attempt.errors if not isinstance(error, HudiFormatError)] == []
    assert len(files) > 50


def test_mutants_that_reach_new_lines_are_kept_and_mutated(source: Source, tmp_path: Path) -> None:
    fuzzer = Fuzzer([source], tmp_path, Random(1))
    fuzzer.begin()
    before = len(fuzzer.seen)
    for _ in range(examples(200)):
        fuzzer.step()
    assert len(fuzzer.seen) > before > 20
    assert fuzzer.found == fuzzer.waiting[1:] != []


def test_a_foreign_error_ends_the_fuzzing_and_its_file_is_kept(
    source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fuzzing, "parse", lambda *given: given[3](lambda: dict[str, int]()["key"]))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    with pytest.raises(AssertionError, match=r"properties, kept as .*hostile-.*KeyError"):
        Fuzzer([source], tmp_path, Random(1)).begin()
    (kept_file,) = tmp_path.glob("hostile-*")
    assert kept_file.read_bytes() == PROPERTIES


def test_coverage_is_of_the_library_alone(source: Source, tmp_path: Path) -> None:
    coverage = Coverage()
    with coverage:
        parse(source, b"x", tmp_path, Attempts())
    assert coverage.steps
    package = Path(hudiformat.__file__).parent
    assert all(Path(file).is_relative_to(package) for file, _, _ in coverage.steps)
