"""The files in which a table keeps the versions of its internal schema."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from hudiformat import CorruptTableError, open_table
from hudiformat.table.schema_files import schema_history
from tests.tables import new_table, rows

BY_IDS = {"hoodie.schema.on.read.enable": "true"}


def files(path: Path) -> list[Path]:
    return sorted((path / ".hoodie" / ".schema").glob("*.schemacommit"))


def test_a_table_that_keeps_none_has_no_history(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options=BY_IDS)
    assert schema_history(table._context.state()) is None
    table.upsert(rows(("a", 1, "x")))
    assert schema_history(table._context.state()) is None
    assert files(tmp_path / "t") == []


@pytest.mark.parametrize(("version", "parts"), [(6, 1), (9, 2)])
def test_every_commit_keeps_the_versions(tmp_path: Path, version: int, parts: int) -> None:
    table = new_table(tmp_path / "t", options=BY_IDS, version=version)
    table.upsert(rows(("a", 1, "x", 1)))
    table.evolve(rename={"v": "w"})
    table.upsert(pa.table({"k": ["b"], "ts": [1], "p": ["x"], "w": pa.array([2], pa.int32())}))
    assert [len(file.name.split(".")[0].split("_")) for file in files(tmp_path / "t")] == [parts] * 2
    history = schema_history(table._context.state())
    assert history is not None
    assert len(history.versions) == 3  # before, renamed, and a key that may be null
    if version > 6:
        table.compact()
        assert schema_history(table._context.state()) == history


def test_a_file_of_a_write_that_never_completed_is_passed_over(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options=BY_IDS)
    table.upsert(rows(("a", 1, "x", 1)))
    table.evolve(rename={"v": "w"})
    before = schema_history(table._context.state())
    (tmp_path / "t" / ".hoodie" / ".schema" / "20990101000000000_20990101000000001.schemacommit").write_text("{}")
    assert schema_history(table._context.state()) == before


def test_without_a_file_the_newest_schema_stands_for_all(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options=BY_IDS)
    table.upsert(rows(("a", 1, "x", 1)))
    table.evolve(add={"w": pa.int32()})
    for file in files(tmp_path / "t"):
        file.unlink()
    assert table.snapshot(columns=["v", "w"]).to_pylist() == [{"v": 1, "w": None}]


@pytest.mark.parametrize("content", [b"", b"\xff", b'{"schemas":[1]}'])
def test_a_damaged_file_is_named(own_golden: Callable[[str], Path], content: bytes) -> None:
    path = own_golden("renamed-mor9")
    files(path)[-1].write_bytes(content)
    with pytest.raises(CorruptTableError, match=r"\.schemacommit"):
        open_table(path).snapshot()
