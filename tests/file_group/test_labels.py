"""Files whose times have another label than the table's are read as Hudi reads them, and are sound."""

from __future__ import annotations

from pathlib import Path

import pytest

import hudiformat as hf
from tests.foreign.foreign_tables import names, unpack
from tests.rows import assert_same_rows
from tests.tables import tree

OWN = ["k", "o", "ts", "l", "s"]
TABLES = names("labels-")


@pytest.mark.parametrize("name", TABLES)
def test_numbers_count_in_the_unit_of_the_table(name: str, tmp_path: Path) -> None:
    foreign = unpack(name, tmp_path)
    table = hf.open_table(foreign.path)
    assert_same_rows(table.snapshot(columns=OWN), foreign.rows("snapshot"), key=("k",))
    assert str(table.snapshot(columns=["ts"]).schema.field("ts").type) == "timestamp[ms, tz=UTC]"
    found = table.snapshot(columns=["k"], filter="ts > '2024-01-01' and ts < '2024-02-01'")
    assert found["k"].to_pylist() == ["a"]


@pytest.mark.parametrize("name", TABLES)
def test_such_a_table_is_sound_and_there_is_nothing_to_repair(name: str, tmp_path: Path) -> None:
    foreign = unpack(name, tmp_path)
    table = hf.open_table(foreign.path)
    before = tree(foreign.path)
    assert table.verify() == []
    assert table.repair(apply=True).steps == ()
    assert tree(foreign.path) == before


@pytest.mark.parametrize("name", TABLES)
def test_services_write_the_numbers_with_the_label_of_the_table(name: str, tmp_path: Path) -> None:
    foreign = unpack(name, tmp_path)
    table = hf.open_table(foreign.path)
    if "mor" in name:
        table.compact()
    table.cluster()
    assert_same_rows(table.snapshot(columns=OWN), foreign.rows("snapshot"), key=("k",))
    assert not table.timeline.pending
    table.upsert(table.snapshot(columns=OWN))
    table.create_index("column_stats")
    assert_same_rows(table.snapshot(columns=OWN), foreign.rows("snapshot"), key=("k",))
    assert table.snapshot(columns=["k"], filter="l < '1970-01-01'")["k"].to_pylist() == ["b"]
