"""Shapes of tables beside deltalake, at sizes at which figures mean nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

pytest.importorskip("deltalake")

from benchmarks import shapes
from benchmarks.shape_cases import SHAPES

pytestmark = pytest.mark.unmeasured

TINY = 0.001


@pytest.mark.parametrize("name", SHAPES)
def test_both_give_the_same_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(shapes, "_peak_apart", lambda *_: 1.0)
    kind = "COPY_ON_WRITE" if name == "rows" else "MERGE_ON_READ"
    found = shapes.compare(name, TINY, kinds=[kind], rounds=1, options={shapes.CODEC: shapes.ZSTD}, place=tmp_path)
    assert [one.step for one in found] == [step.name for step in SHAPES[name](TINY).steps]
    assert all(one.ratio > 0 for one in found)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["rows", "texts", "files"])
def test_other_contenders_give_the_same_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(shapes, "_peak_apart", lambda *_: 1.0)
    options = {shapes.CODEC: shapes.ZSTD}
    found = shapes.compare(
        name, TINY, kinds=["COPY_ON_WRITE"], others=shapes.OTHERS, rounds=1, options=options, place=tmp_path
    )
    assert all("pyiceberg" in one.others for one in found)
    timed = [one.step for one in found if "hudi-rs" in one.others]
    assert timed  # its reads
    assert not [step for step in timed if "insert" in step or "upsert" in step or "delete" in step]


def test_the_peak_of_a_step_is_told(tmp_path: Path) -> None:
    contender = shapes.Contender("commits", TINY, shapes.PEER)
    table = contender.table(tmp_path, SHAPES["commits"](TINY))
    table.create()
    assert (shapes.peak_of(contender, 0, tmp_path) or 0) >= 0
    assert table.count() == 200


def test_rows_that_differ_are_an_error() -> None:
    schema = pa.schema([("id", pa.string()), ("v", pa.int64())])
    some = pa.table([["a", "b"], [1, 2]], schema=schema)
    shapes._check("some", some, some.take([1, 0]), schema)
    with pytest.raises(AssertionError, match="expected 2 rows"):
        shapes._check("some", some, pa.table([["a", "b"], [2, 1]], schema=schema), schema)
    with pytest.raises(AssertionError, match="expected 3, found 2"):
        shapes._check("some", 2, 3, schema)


def test_the_command_saves_what_it_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    row = shapes.ShapeRow("rows", "all", "COPY_ON_WRITE", 1.0, 2.0, 10.0, None, {"pyiceberg": 4.5})
    given: list[object] = []

    def compare(name: str, size: float, **how: object) -> list[shapes.ShapeRow]:
        given.append((name, size, how["options"], how["place"], how["others"]))
        return [row]

    monkeypatch.setattr(shapes, "compare", compare)
    saved = tmp_path / "found.json"
    assert (
        shapes.main(["--shape", "rows", "--memory", "--option", "a=b", "--with", "pyiceberg", "--json", str(saved)])
        == 0
    )
    assert given == [("rows", 1.0, {shapes.CODEC: "zstd", "a": "b"}, shapes.IN_MEMORY, ["pyiceberg"])]
    printed = capsys.readouterr().out
    assert "2.00 x" in printed
    assert "4.500" in printed
    assert json.loads(saved.read_text())[0]["ratio"] == 2
