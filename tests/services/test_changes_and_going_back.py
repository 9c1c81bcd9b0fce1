"""Restores, repairs and change queries of tables whose columns have changed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import hudiformat as hf
from tests.check.repair.breaking import age, newest
from tests.effort import sample
from tests.services.test_changed_columns import CHANGES, OPTIONS, SCHEMA, own, rows
from tests.tables import new_table

CDC = {"hoodie.table.cdc.enabled": "true"}
KINDS = [("COPY_ON_WRITE", 6), ("COPY_ON_WRITE", 9), ("MERGE_ON_READ", 6), ("MERGE_ON_READ", 9)]
each_change = pytest.mark.parametrize(("kind", "change"), sample(list(product(KINDS, CHANGES)), of=12), ids=str)


@dataclass
class Changed:
    """A table that was written to after its columns changed, and its newest write and its rows before."""

    table: hf.Table
    moment: str
    rows: list[dict[str, Any]]


def write_again(table: hf.Table, key: str) -> None:
    row = table.snapshot(filter=f"k = '{key}'")
    table.upsert(row.select([name for name in row.column_names if not name.startswith("_")]))


def changed(path: Path, kind: tuple[str, int], change: str, **options: str) -> Changed:
    table_type, version = kind
    table = new_table(
        path, schema=SCHEMA, partition_by=[], version=version, table_type=table_type, options={**OPTIONS, **options}
    )
    table.insert(rows(("a", 1, 1), ("b", 1, 2)))
    table.upsert(rows(("a", 2, 3)))
    moment, before = table.timeline.completed_writes[-1].time, own(table)
    table.savepoint(moment)
    table.evolve(**CHANGES[change])
    write_again(table, "b")
    return Changed(table, moment, before)


@each_change
def test_a_restore_brings_back_the_columns_of_then(tmp_path: Path, kind: tuple[str, int], change: str) -> None:
    made = changed(tmp_path / "t", kind, change)
    schema = made.table.snapshot(as_of=made.moment).schema
    made.table.restore(made.moment)
    again = hf.open_table(tmp_path / "t", options=OPTIONS)
    assert own(again) == made.rows
    assert again.snapshot().schema == schema
    assert again.verify() == []
    again.evolve(**CHANGES[change])
    after = own(again)
    write_again(again, "a")
    assert own(again) == after
    assert own(again, as_of=made.moment) == made.rows
    assert again.verify() == []


@each_change
def test_a_repair_goes_back_to_what_is_left(tmp_path: Path, kind: tuple[str, int], change: str) -> None:
    made = changed(tmp_path / "t", kind, change)
    after = own(made.table)
    newest(tmp_path / "t").write_bytes(b"")
    age(tmp_path / "t")
    assert hf.repair_table(tmp_path / "t", apply=True).steps
    again = hf.open_table(tmp_path / "t", options=OPTIONS)
    assert own(again) == after, "the write that is lost has changed no row"
    assert own(again, as_of=made.moment) == made.rows
    assert again.verify() == []


@pytest.mark.parametrize(("version", "change"), sample(list(product([6, 9], CHANGES)), of=12), ids=str)
def test_changes_are_told_in_the_columns_of_now(tmp_path: Path, version: int, change: str) -> None:
    """Copy-on-write tables record the images of updates, merge-on-read tables of hudiformat make them of the rows."""
    told = [
        [
            (one["op"], *map(_image, (one["before"], one["after"])))
            for one in changed(tmp_path / kind, (kind, version), change, **CDC).table.cdc("000").to_pylist()
        ]
        for kind in ("COPY_ON_WRITE", "MERGE_ON_READ")
    ]
    assert told[0][:3] == told[1][:3]
    assert [op for op, _, _ in told[0][:3]] == ["i", "i", "u"]


def _image(text: str | None) -> dict[str, Any] | None:
    """The columns of an image with a value; decimals have two forms, which differ."""
    if text is None:
        return None
    return {
        name: value
        for name, value in json.loads(text, object_pairs_hook=_with_values).items()
        if not name.startswith("_") and name != "d"
    }


def _with_values(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: value for name, value in pairs if value is not None}
