"""Looking keys up in the record index: each is in the file group that it names, and in no other."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from hudiformat import CorruptBlockError, Table, UnsupportedFeatureError, open_table
from hudiformat.metadata_table.definitions import DEFINITIONS_FILE
from hudiformat.metadata_table.record_locations import RecordLocation, decode_location
from hudiformat.metadata_table.record_lookup import record_locations
from tests.tables import GoldenTable, new_table, rows

GOLDEN = "v9-mor-metadata-table-h120"
INDEXED = {"hoodie.metadata.enable": "true", "hoodie.metadata.global.record.level.index.enable": "true"}
SCHEMA = json.dumps({"type": "record", "name": "r", "fields": [{"name": "key", "type": "string"}]})


def places(table: Table) -> dict[str, RecordLocation]:
    """Where each key is, by reading all file slices."""
    reader, storage = table.slice_reader(), table._context.storage
    return {
        key: RecordLocation(one.partition_path, one.file_id)
        for one in table.file_slices()
        for key in reader.read(storage, one, columns=["_hoodie_record_key"])["_hoodie_record_key"].to_pylist()
    }


def found(table: Table, keys: set[str]) -> dict[str, RecordLocation]:
    state = table._context.state()
    return record_locations(state.storage, state.config, state.timeline, keys)


def test_every_key_of_hudis_table_is_where_the_index_says(golden: Callable[[str], GoldenTable]) -> None:
    table = open_table(golden(GOLDEN).table)
    expected = places(table)
    known = found(table, {*expected, "no key", ""})
    assert known.items() <= expected.items()
    # Keys that were in two partitions, one of which has lost its row: Hudi's index has one place for both.
    assert expected.keys() - known.keys() == {"key-0000", "key-0008"}
    assert found(table, set()) == {}


@pytest.mark.parametrize("table_type", ["MERGE_ON_READ", "COPY_ON_WRITE"])
def test_keys_that_came_went_and_moved(tmp_path: Path, table_type: str) -> None:
    options = {**INDEXED, "hoodie.index.type": "GLOBAL_SIMPLE", "hoodie.simple.index.update.partition.path": "true"}
    table = new_table(tmp_path / "t", table_type=table_type, options=options)
    table.upsert(rows(("a", 1, "x", 1), ("b", 1, "x", 1), ("c", 1, "y", 1)))
    table.upsert(rows(("a", 2, "y", 2), ("d", 2, "z", 2)))
    table.delete(rows(("b", 3, "x")))
    assert found(table, {"a", "b", "c", "d"}) == places(table)
    assert found(table, {"b"}) == {}


def test_a_record_of_another_kind_is_refused() -> None:
    with pytest.raises(CorruptBlockError, match="expected a record's location"):
        decode_location(b"\x02a", SCHEMA)


def test_a_partitioned_index_is_refused_by_name(own_golden: Callable[[str], Path]) -> None:
    path = own_golden(GOLDEN)
    definitions = json.loads((path / DEFINITIONS_FILE).read_text())
    definitions["indexDefinitions"]["record_index"]["indexOptions"] = {"isPartitioned": "true"}
    (path / DEFINITIONS_FILE).write_text(json.dumps(definitions))
    with pytest.raises(UnsupportedFeatureError, match="expected a global record index, found a partitioned one"):
        found(open_table(path), {"a"})


def test_the_arrays_of_keys_may_be_large(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options=INDEXED)
    data = rows(*((f"k{number}", 1, "xyz"[number % 3], number) for number in range(500)))
    table.bulk_insert(data)
    assert found(table, set(pa.array(data["k"]).to_pylist())) == places(table)
