"""Tables shaped like change data, which real Hudi wrote, give the answers that Hudi 1.2.0 gives."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from hudiformat import Table, open_table
from tests.change_data import KINDS, PLACEHOLDER, random_batch, schema_of, shown, table_of
from tests.foreign.foreign_tables import ForeignTable, names, unpack

EVERY = names("change-data")
SHOWS_PLACEHOLDERS = ("change-data-postgres-mor6-h0150", "change-data-postgres-mor8-h102")
"""Of these Hudi 1.0.2 and hudiformat show the values, and Hudi 1.2.0 placeholders: spec/merging.md."""

FAILS = "change-data-dms-cow8-h102"
"""Hudi 1.2.0 fails in its changes."""


def kind_of(name: str) -> str:
    return max((kind for kind in KINDS if name.startswith(f"change-data-{kind}-")), key=len)


def changes_in(kind: str, rows: pa.Table) -> list[tuple[str, ...]]:
    """Operation and images of each change, without what is null."""
    found = []
    for row in rows.to_pylist():
        images = [json.loads(row[side] or "null") or {} for side in ("before", "after")]
        plain = [
            str({name: one[name] for name in schema_of(kind).names if one.get(name) is not None}) for one in images
        ]
        found.append((row["op"], *plain))
    return sorted(found)


@pytest.mark.parametrize("name", EVERY)
def test_rows_and_changes_are_hudis(tmp_path: Path, name: str) -> None:
    kind, foreign = kind_of(name), unpack(name, tmp_path)
    table = open_table(foreign.path)
    assert_rows_are_hudis(name, kind, table, foreign)
    if "-cow" in name and name != FAILS:
        assert changes_in(kind, table.cdc("0")) == changes_in(kind, foreign.rows("cdc"))
    assert table.verify() == []


def assert_rows_are_hudis(name: str, kind: str, table: Table, foreign: ForeignTable) -> None:
    found, answer = shown(kind, table.snapshot()), shown(kind, foreign.rows("snapshot"))
    if name in SHOWS_PLACEHOLDERS:
        assert [row["id"] for row in found] == [row["id"] for row in answer]
        shows = [(one, other) for one, other in zip(found, answer, strict=True) if one != other]
        assert all(PLACEHOLDER in other.values() and PLACEHOLDER not in one.values() for one, other in shows)
    else:
        assert found == answer
    assert shown(kind, table.read_optimized()) == shown(kind, foreign.rows("read_optimized"))


@pytest.mark.parametrize("name", [name for name in EVERY if name not in SHOWS_PLACEHOLDERS])
def test_they_are_written_on_compacted_and_clustered(tmp_path: Path, name: str) -> None:
    kind, chance = kind_of(name), iter(range(1, 10_000))
    table = open_table(unpack(name, tmp_path).path, options={"hudiformat.sync": "false"})
    table.upsert(table_of(kind, random_batch(kind, lambda count: next(chance) * 7 % count, 8)))
    rows = shown(kind, table.snapshot())
    if "-mor" in name:
        table.compact()
        assert shown(kind, table.read_optimized()) == rows
    table.cluster()
    assert shown(kind, table.snapshot()) == rows
    assert table.verify() == []
