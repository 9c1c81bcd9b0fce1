"""Small tables of Hudi's in rare layouts are read as Hudi reads them, and written on."""

from __future__ import annotations

from pathlib import Path

import pytest

import hudiformat as hf
from tests.foreign.foreign_tables import names, unpack
from tests.foreign.make_layouts import rows

TABLES = [*names("virtual-keys"), *names("nested-keys")]


@pytest.mark.parametrize("name", TABLES)
def test_hudis_rows_are_found_by_their_keys(name: str, tmp_path: Path) -> None:
    foreign = unpack(name, tmp_path)
    table = hf.open_table(foreign.path)
    answer = foreign.rows("snapshot").sort_by("k")
    assert table.snapshot(columns=answer.schema.names).sort_by("k").to_pylist() == answer.to_pylist()
    assert answer["o"].to_pylist() == [2, 1, 1, 2]
    partitions = table.partitions()
    table.upsert(rows("be", 3))
    table.delete(rows("c", 3))
    assert table.snapshot().sort_by("k").select(["k", "o"]).to_pydict() == {
        "k": ["a", "b", "d", "e"],
        "o": [2, 3, 2, 3],
    }
    assert table.partitions() == partitions
    assert table.verify() == []
