"""What a secondary index is given of an action."""

from __future__ import annotations

import pyarrow as pa

from hudiformat.codec.avro.values import decode_value, parse_value_schema
from hudiformat.metadata_table.changes import Change, Stored
from hudiformat.metadata_table.kinds.secondary_index import SecondaryIndexKind
from hudiformat.timeline.commit_metadata import IndexedFile, WriteStat
from tests.metadata_table.statistics import SCHEMA

KIND = SecondaryIndexKind("secondary_index_v", "v", SCHEMA, by_value=True)


def values(**by_key: int | None) -> pa.Table:
    columns = {"_hoodie_record_key": list(by_key), "v": pa.array(by_key.values(), pa.int32())}
    return pa.table(columns)


def stat(now: pa.Table | None = None, lost: pa.Table | None = None) -> WriteStat:
    return WriteStat(file_id="f", indexed=IndexedFile(values=now, lost=lost))


def test_new_values_are_added_and_old_ones_dropped() -> None:
    written = {"p": (stat(values(a=1, b=2, c=3), values(b=7, c=3, d=4)), WriteStat(file_id="other"))}
    records = KIND.records(Change(written=written))
    assert (records.keys.to_pylist(), records.dropped.to_pylist()) == (["1$a", "2$b"], ["7$b", "4$d"])
    (value,) = set(records.values.to_pylist())
    decoded = decode_value(value, parse_value_schema(SCHEMA))
    assert (decoded["type"], decoded["SecondaryIndexMetadata"]) == (7, {"isDeleted": False})


def test_a_row_that_moves_keeps_its_entry() -> None:
    written = {"p": (stat(lost=values(a=1)),), "q": (stat(values(a=1)),)}
    assert not KIND.records(Change(written=written))


def test_log_files_are_compared_and_replaced_groups_dropped() -> None:
    change = Change(
        logged_values=lambda column: [(values(a=1, b=2), values(a=1, b=3))] if column == "v" else [],
        replaced_values=lambda column: [values(z=None)] if column == "v" else [],
    )
    records = KIND.records(change)
    assert (records.keys.to_pylist(), records.dropped.to_pylist()) == (["3$b"], ["\0$z", "2$b"])


def test_a_key_is_hashed_by_its_value_or_as_a_whole() -> None:
    keys = pa.array(["1$a"])
    assert KIND.part_to_hash(keys).to_pylist() == ["1$"]
    assert SecondaryIndexKind("secondary_index_v", "v", SCHEMA, by_value=False).part_to_hash(keys) == keys


def test_the_newest_record_counts() -> None:
    assert KIND.is_plain
    assert KIND.merge("1$a", Stored(b"old", SCHEMA), Stored(b"new", SCHEMA)).value == b"new"
    assert KIND.encode_base_record("1$a", Stored(b"new", SCHEMA)) == b"new"
