"""Looking values up in a secondary index: the file groups that have them, and no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat import Table, open_table
from hudiformat.metadata_table.definitions import load_definitions
from hudiformat.metadata_table.partition import Deletes
from hudiformat.metadata_table.record_locations import RecordLocation
from hudiformat.metadata_table.secondary_index import keys_in, secondary_locations
from tests.effort import sample
from tests.metadata_tables import add_secondary_index, indexed_table
from tests.tables import rows

OPTIONS = {
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.global.record.level.index.min.filegroup.count": "3",
    "hoodie.index.type": "GLOBAL_SIMPLE",
}


def table_with_index(path: Path, column: str, **kind: object) -> Table:
    indexed_table(path, options=OPTIONS, **kind)
    add_secondary_index(path, column)
    return open_table(path, options={"hoodie.index.type": "GLOBAL_SIMPLE", "hudiformat.sync": "false"})


def found(table: Table, column: str, *values: str, most: int = 100) -> set[RecordLocation] | None:
    state = table._context.state()
    definition = load_definitions(state.storage, state.config)[f"secondary_index_{column}"]
    return secondary_locations(state.storage, state.config, state.timeline, definition, values, most=most)


def places(table: Table, partition: str) -> set[RecordLocation]:
    return {RecordLocation(partition, one.file_id) for one in table.file_slices(partition)}


@pytest.mark.parametrize("version", sample([8, 9], of=2))
@pytest.mark.parametrize("table_type", ["MERGE_ON_READ", "COPY_ON_WRITE"])
def test_values_that_came_and_went(tmp_path: Path, table_type: str, version: int) -> None:
    table = table_with_index(tmp_path / "t", "v", table_type=table_type, version=version)
    table.insert(rows(("a", 1, "x", 1), ("b$", 1, "y", 1), ("c", 1, "z", 2)))
    assert found(table, "v", "1") == places(table, "x") | places(table, "y")
    assert found(table, "v", "2", "7") == places(table, "z")
    table.upsert(rows(("a", 2, "x", 2)))
    table.delete(rows(("c", 3, "z")))
    assert found(table, "v", "1") == places(table, "y")
    assert found(table, "v", "2") == places(table, "x")
    assert found(table, "v", "12") == set()


def test_too_many_rows_are_not_looked_up(tmp_path: Path) -> None:
    table = table_with_index(tmp_path / "t", "p")
    table.insert(rows(*((f"k{number}", 1, "x", 1) for number in range(5))))
    assert found(table, "p", "x", most=4) is None
    assert found(table, "p", "x", most=5) == places(table, "x")


def test_a_deleted_key_is_gone_until_it_comes_again() -> None:
    assert keys_in([Deletes(frozenset(["1$a"]))], ["1$"]) == set()
