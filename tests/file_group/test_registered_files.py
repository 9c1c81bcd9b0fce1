"""Files of other formats that were registered with a table, as XTable does it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hudiformat as hf
from tests.foreign.foreign_tables import ForeignTable, names, unpack
from tests.foreign.make_registered import rows
from tests.tables import tree

TABLES = names("registered-")
COLUMNS = ["k", "ts", "p", "v"]


@pytest.fixture(params=TABLES)
def foreign(request: pytest.FixtureRequest, tmp_path: Path) -> ForeignTable:
    return unpack(request.param, tmp_path)


def test_rows_are_those_that_hudi_shows(foreign: ForeignTable) -> None:
    """One group has been written to by Hudi, one was replaced, one is as it was registered."""
    table = hf.open_table(foreign.path)
    expected = foreign.rows("snapshot").sort_by("k").select(COLUMNS).to_pylist()
    assert table.snapshot(columns=COLUMNS).sort_by("k").to_pylist() == expected
    assert table.snapshot(columns=["v"], filter="k = 'c'")["v"].to_pylist() == [30]
    assert sorted(table.snapshot(columns=["v"], filter="p = 'y'")["v"].to_pylist()) == [4, 30]
    first, second, _ = (one.time for one in table.timeline.completed_writes)
    assert sorted(table.snapshot(columns=["k"], as_of=first)["k"].to_pylist()) == ["a", "b", "c"]
    assert sorted(table.snapshot(columns=["v"], as_of=second)["v"].to_pylist()) == [1, 2, 4, 30]
    assert table.verify() == []


def test_without_the_metadata_table_they_are_not_listed(foreign: ForeignTable) -> None:
    table = hf.open_table(foreign.path, options={"hoodie.metadata.enable": "false"})
    with pytest.raises(hf.UnsupportedFeatureError, match="found one that may have been registered"):
        table.snapshot()


def test_a_lost_file_is_an_error_by_name(foreign: ForeignTable) -> None:
    (foreign.path / "y" / "data_2.parquet").unlink()
    table = hf.open_table(foreign.path)
    with pytest.raises(hf.HudiFormatError, match=r"y/data_2.parquet"):
        table.snapshot()
    assert "missing" in {one.kind.value for one in table.verify()}


def test_a_damaged_file_is_found(foreign: ForeignTable) -> None:
    (foreign.path / "y" / "data_2.parquet").write_bytes(b"PAR1 and no more")
    assert "y/data_2.parquet" in {one.path for one in hf.open_table(foreign.path).verify()}


WRITES: dict[str, Callable[[hf.Table], Any]] = {
    "upsert": lambda table: table.upsert(rows(("a", 3, "x", 1))),
    "insert": lambda table: table.insert(rows(("z", 3, "x", 1))),
    "delete": lambda table: table.delete(rows(("a", 3, "x", 1))),
    "insert_overwrite": lambda table: table.insert_overwrite(rows(("z", 3, "x", 1))),
    "delete_partitions": lambda table: table.delete_partitions("x"),
    "cluster": lambda table: table.cluster(),
}


@pytest.mark.parametrize("name", sorted(WRITES))
def test_nothing_is_written_to_them(foreign: ForeignTable, name: str) -> None:
    before = tree(foreign.path)
    with pytest.raises(hf.UnsupportedFeatureError, match="expected"):
        WRITES[name](hf.open_table(foreign.path))
    assert tree(foreign.path) == before


def test_nor_with_a_merger_in_python(foreign: ForeignTable) -> None:
    class Newest:
        def merge(self, older: Any, newer: Any) -> Any:
            return newer

    table = hf.open_table(foreign.path, merger=Newest())
    with pytest.raises(hf.UnsupportedFeatureError, match="belongs to the writer of another format"):
        table.upsert(rows(("a", 3, "x", 1)))
