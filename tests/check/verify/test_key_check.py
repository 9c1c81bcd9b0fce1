"""Keys that are in two file groups."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat import Table, TableFindingKind, UnsupportedFeatureError, open_table
from hudiformat.check.verify.key_check import duplicate_keys
from tests.tables import new_table, rows, unpack


def older(table: Table) -> dict[str, list[str]]:
    return {one.file_slice.file_id: sorted(one.keys.to_pylist()) for one in duplicate_keys(table._context.state())}


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return new_table(tmp_path / "t")


def test_keys_are_in_one_group_each(table: Table) -> None:
    assert older(table) == {}
    table.bulk_insert(rows(("a", 1, "x", 1), ("b", 1, "x", 1), ("a", 1, "y", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    assert older(table) == {}


def test_the_newest_row_of_a_key_stays(table: Table) -> None:
    table.bulk_insert(rows(("a", 1, "x", 1), ("b", 1, "x", 1)))
    (first,) = table.file_slices()
    table.bulk_insert(rows(("a", 2, "x", 2), ("c", 2, "x", 2)))
    table.bulk_insert(rows(("a", 3, "x", 3), ("c", 3, "x", 3), ("a", 3, "y", 3)))
    (second,) = (one for one in table.file_slices("x") if one.base_instant == table.timeline.completed_writes[1].time)
    assert older(table) == {first.file_id: ["a"], second.file_id: ["a", "c"]}


def test_verify_shows_them_on_request(table: Table) -> None:
    for value in range(2):
        table.bulk_insert(rows(*((f"k{number}", value, "x", value) for number in range(5))))
    assert table.verify() == []
    (finding,) = table.verify(keys=True)
    assert finding.kind is TableFindingKind.DUPLICATE
    assert finding.message == (
        "5 of its keys are in another file group too, from a newer commit: 'k0', 'k1', 'k2', ..."
    )
    assert finding.instants == (table.timeline.completed_writes[0].time,)
    assert finding.path.startswith("x/")


def test_tables_without_meta_fields_are_refused(tmp_path: Path) -> None:
    table = open_table(unpack("v6-cow-no-metafields-h0150", tmp_path).table)
    with pytest.raises(UnsupportedFeatureError, match="expected a table with meta fields, which have the keys"):
        table.verify(keys=True)


def test_duplicates_of_hudis_are_found(tmp_path: Path) -> None:
    table = open_table(unpack("v6-cow-duplicates-h0150", tmp_path).table)
    found = table.verify(keys=True)
    assert [one.message.split()[0] for one in found if one.kind is TableFindingKind.DUPLICATE] == ["1", "3", "3", "2"]
    assert len(found) == 4
