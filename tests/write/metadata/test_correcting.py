"""Indexes of single records after a rollback of what is in their base files: file groups that the write touched."""

from __future__ import annotations

from pathlib import Path

from hudiformat import Table, open_table
from hudiformat.metadata_table.changes import KeyedRecords
from hudiformat.metadata_table.record_locations import RecordLocation
from hudiformat.write.metadata.changes import MetadataChanges
from hudiformat.write.metadata.correcting import Correction
from hudiformat.write.metadata.indexes import indexed_columns
from hudiformat.write.metadata.metadata_table import MetadataTable
from tests.metadata_tables import add_secondary_index, indexed_table
from tests.tables import rows

OPTIONS = {"hoodie.metadata.record.index.enable": "true", "hoodie.index.type": "GLOBAL_SIMPLE"}


def corrected(table: Table, touched: set[RecordLocation], undone: set[str]) -> dict[str, KeyedRecords]:
    found = MetadataTable.of(table._context.state())
    changes = MetadataChanges(found.outer, found.own, indexed_columns(found.outer))
    schema = found.own.schema.avro_with_meta
    correction = Correction(changes, found.open_existing(), schema, touched, changes.visibility_without(undone))
    records = correction.records(found.kinds(), "20270101000000000")
    return {kind.name: some for kind, some in records}


def test_only_file_groups_that_were_touched_are_read(tmp_path: Path) -> None:
    indexed_table(tmp_path / "t", options=OPTIONS)
    add_secondary_index(tmp_path / "t", "v")
    table = open_table(tmp_path / "t", options=OPTIONS)
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "x", 2), ("c", 1, "y", 3)))
    second = table.upsert(rows(("a", 2, "x", 9)))
    (one,) = table.file_slices("x")
    found = corrected(table, {RecordLocation("x", one.file_id)}, {second.instant})
    assert found["record_index"].keys.to_pylist() == ["a", "b"]
    secondary = found["secondary_index_v"]
    assert (secondary.keys.to_pylist(), secondary.dropped.to_pylist()) == (["1$a"], ["9$a"])
    nothing = corrected(table, set(), set())
    assert not nothing["record_index"]
    assert not nothing["secondary_index_v"]


def test_without_a_record_index_nothing_is_corrected(tmp_path: Path) -> None:
    table = indexed_table(tmp_path / "t")
    table.insert(rows(("a", 1, "x", 1)))
    assert corrected(table, set(), set()) == {}
