"""Looking many keys up in the record index at once: as one look-up after the other, with blocks read once."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from hudiformat import CorruptTableError, Table, UnsupportedFeatureError, open_table
from hudiformat.codec.hfile.reader import HFileReader
from hudiformat.codec.hfile.writer import encode_hfile
from hudiformat.metadata_table.definitions import DEFINITIONS_FILE
from hudiformat.metadata_table.partition import Deletes, HFileRecords, newest_records, open_metadata
from hudiformat.metadata_table.record_locations import RecordLocation, decode_location
from hudiformat.metadata_table.record_lookup import RecordIndex
from tests.effort import only_long
from tests.tables import GoldenTable, new_table, rows

GOLDEN = "v9-mor-metadata-table-h120"
INDEXED = {"hoodie.metadata.enable": "true", "hoodie.metadata.global.record.level.index.enable": "true"}


def index_of(table: Table) -> RecordIndex:
    state = table._context.state()
    index: RecordIndex = pickle.loads(pickle.dumps(RecordIndex.of(state.storage, state.config, state.timeline)))
    return index


def found(table: Table, keys: list[str]) -> dict[str, RecordLocation]:
    codes, places = index_of(table).find(table._context.storage, pa.array(keys, pa.string()))
    return {key: places[code] for key, code in zip(keys, codes, strict=True) if code >= 0}


def one_by_one(table: Table, keys: list[str]) -> dict[str, RecordLocation]:
    """The newest location of each key, by looking it up in one part of the index after the other."""
    state = table._context.state()
    newest: dict[str, RecordLocation] = {}
    for part in open_metadata(state.storage, state.config, state.timeline).parts("record_index"):
        for key in keys:
            if isinstance(part, Deletes):
                newest = {known: place for known, place in newest.items() if known not in part.keys}
            elif (value := part.file.get(key)) is not None:
                newest[key] = decode_location(value, part.schema)
    return newest


def test_what_hudis_index_says(golden: Callable[[str], GoldenTable]) -> None:
    table = open_table(golden(GOLDEN).table)
    keys = [*dict.fromkeys(table.snapshot(columns=["_hoodie_record_key"])[0].to_pylist()), "", "no key"]
    assert len(found(table, keys)) > 5
    assert found(table, keys) == one_by_one(table, keys)
    assert found(table, []) == {}


@only_long
@pytest.mark.slow
def test_an_index_of_which_others_have_cleaned_file_groups_is_not_taken_for_one_of_fewer(tmp_path: Path) -> None:
    """The hash of a key would say another file group, which does not have it."""
    options = {
        **INDEXED,
        "hoodie.metadata.compact.max.delta.commits": "4",
        "hoodie.metadata.global.record.level.index.min.filegroup.count": "4",
        "hoodie.index.type": "GLOBAL_SIMPLE",
    }
    table = new_table(tmp_path / "t", options=options)
    keys = [f"k{number}" for number in range(20)]
    table.upsert(rows(*((key, 1, "x", 1) for key in keys)))
    before = index_of(table)
    storage = table._context.storage
    for ts in range(16):
        table.upsert(rows((keys[0], ts, "xy"[ts % 2], 1)))  # it moves, which is in the index
    with pytest.raises(CorruptTableError, match=r"expected a file slice of record-index-000\d-0 from before"):
        before.find(storage, pa.array(keys))
    assert len(found(table, keys)) == len(keys)


@pytest.mark.parametrize("often", ["2", "100"])
def test_what_base_files_and_log_files_say_together(tmp_path: Path, often: str) -> None:
    options = {**INDEXED, "hoodie.metadata.compact.max.delta.commits": often, "hoodie.index.type": "GLOBAL_SIMPLE"}
    table = new_table(tmp_path / "t", options=options)
    table.upsert(rows(*((f"k{number}", 1, "xyz"[number % 3], 1) for number in range(60))))
    table.upsert(rows(*((f"k{number}", 2, "xyz"[number % 2], 2) for number in range(0, 90, 3))))
    table.delete(rows(*((f"k{number}", 3, "x") for number in range(0, 60, 4))))
    keys = [f"k{number}" for number in range(100)]
    known = found(table, keys)
    assert known == one_by_one(table, keys)
    assert len(known) == 55


def test_a_partitioned_index_is_refused_by_name(own_golden: Callable[[str], Path]) -> None:
    path = own_golden(GOLDEN)
    definitions = json.loads((path / DEFINITIONS_FILE).read_text())
    definitions["indexDefinitions"]["record_index"]["indexOptions"] = {"isPartitioned": "true"}
    (path / DEFINITIONS_FILE).write_text(json.dumps(definitions))
    with pytest.raises(UnsupportedFeatureError, match="found a partitioned one, which does not find keys in all"):
        index_of(open_table(path))


def records(**values: str) -> HFileRecords:
    keys = sorted(values)
    data = encode_hfile(pa.array(keys, pa.string()), pa.array([values[key].encode() for key in keys], pa.binary()))
    return HFileRecords(HFileReader(data), "s")


def test_the_newest_part_that_has_a_key_counts() -> None:
    parts: list[HFileRecords | Deletes] = [
        records(a="1", b="1", c="1", d="1"),
        Deletes(frozenset({"b", "c"})),
        records(a="2", c="2", e="2"),
    ]
    keys = [b"a", b"b", b"c", b"d", b"e", b"f"]
    newest = {
        keys[row]: value
        for at, values, schema in newest_records(parts, pa.array(keys))
        for row, value in zip(at, values.to_pylist(), strict=True)
        if schema == "s"
    }
    assert newest == {b"a": b"2", b"c": b"2", b"d": b"1", b"e": b"2"}


def test_older_parts_are_not_read_once_all_is_found() -> None:
    def parts() -> list[HFileRecords | Deletes]:
        damaged = records(a="1")
        damaged.file._index.find_blocks = None  # type: ignore[assignment] # reading it would fail
        return [damaged, records(a="2")]

    [(at, values, _)] = newest_records(parts(), pa.array([b"a"]))
    assert (at.tolist(), values.to_pylist()) == ([0], [b"2"])
