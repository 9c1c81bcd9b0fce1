from __future__ import annotations

from typing import Any

import pyarrow as pa

from hudiformat.schema.meta_fields import META_FIELDS, add_meta_columns, meta_schema, without_meta_fields

SCHEMA = pa.schema([pa.field("k", pa.string(), nullable=False), pa.field("v", pa.int64())])


def test_the_meta_fields_are_nullable_strings_in_front() -> None:
    schema = meta_schema(SCHEMA)
    assert schema.names == [
        "_hoodie_commit_time",
        "_hoodie_commit_seqno",
        "_hoodie_record_key",
        "_hoodie_partition_path",
        "_hoodie_file_name",
        "k",
        "v",
    ]
    assert all(schema.field(name) == pa.field(name, pa.string()) for name in META_FIELDS)


def test_meta_fields_that_are_there_are_not_added_again() -> None:
    shuffled = pa.schema([SCHEMA.field("k"), pa.field("_hoodie_file_name", pa.string()), SCHEMA.field("v")])
    assert meta_schema(shuffled) == meta_schema(SCHEMA) == meta_schema(meta_schema(SCHEMA))
    assert without_meta_fields(shuffled) == SCHEMA


def test_rows_are_numbered_from_the_first_counter() -> None:
    batch = pa.record_batch({"k": ["a", "b"], "v": [1, None]}, schema=SCHEMA)
    rows = add_meta_columns(
        batch,
        pa.array(["k:a", "k:b"]),
        instant="20240229120000001",
        partition_path="p=1",
        file_name="f",
        task_partition=7,
        counters=10,
    )
    repeated: list[Any] = [rows[name] for name in META_FIELDS if not name.endswith(("_seqno", "_key"))]
    assert all(len(column.dictionary) == 1 for column in repeated)
    first, second = rows.cast(meta_schema(SCHEMA)).to_pylist()
    assert first == {
        "_hoodie_commit_time": "20240229120000001",
        "_hoodie_commit_seqno": "20240229120000001_7_10",
        "_hoodie_record_key": "k:a",
        "_hoodie_partition_path": "p=1",
        "_hoodie_file_name": "f",
        "k": "a",
        "v": 1,
    }
    assert (second["_hoodie_commit_seqno"], second["v"]) == ("20240229120000001_7_11", None)


def test_no_rows() -> None:
    empty = pa.record_batch({"k": [], "v": []}, schema=SCHEMA)
    rows = add_meta_columns(
        empty,
        pa.array([], pa.string()),
        instant="1",
        partition_path="",
        file_name="f",
        task_partition=0,
        counters=1,
    )
    assert (rows.num_rows, rows.schema.names) == (0, meta_schema(SCHEMA).names)
