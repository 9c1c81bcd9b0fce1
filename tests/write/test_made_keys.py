"""Tables without record key columns: every row that is inserted gets a key, and a row that was read is found by it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat.api.streaming import StreamLimits, write_stream
from hudiformat.schema.evolution import PARTIAL_SCHEMA
from hudiformat.services.inline import after_write, before_write
from hudiformat.table.options.values import Operation
from hudiformat.write.made_keys import add_keys_to_batches, keeps_keys, new_prefix
from tests.effort import sample
from tests.tables import SCHEMA, edit, new_table, rows

KEY, PATH = "_hoodie_record_key", "_hoodie_partition_path"
TYPES = ["COPY_ON_WRITE", "MERGE_ON_READ"]
INDEXES = ["SIMPLE", "BLOOM", "GLOBAL_SIMPLE", "GLOBAL_BLOOM", "RECORD_INDEX", "INMEMORY"]
LARGE = 200_000


def without_key(path: Path, table_type: str = "MERGE_ON_READ", index: str = "SIMPLE", **changes: Any) -> hf.Table:
    options = {"hoodie.index.type": index}
    if index == "RECORD_INDEX":
        options |= {"hoodie.metadata.enable": "true", "hoodie.metadata.global.record.level.index.enable": "true"}
    return new_table(path, record_key=[], ordering=[], table_type=table_type, options=options, **changes)


def values(table: hf.Table) -> list[int]:
    return sorted(table.snapshot(columns=["v"])["v"].to_pylist())


def keys(table: hf.Table) -> list[str]:
    found: list[str] = table.snapshot(columns=[KEY])[KEY].to_pylist()
    return found


@pytest.mark.parametrize(("table_type", "index"), sample(product(TYPES, INDEXES), of=6))
def test_rows_are_inserted_and_those_that_were_read_are_changed_and_deleted(
    tmp_path: Path, table_type: str, index: str
) -> None:
    table = without_key(tmp_path / "t", table_type, index)
    assert table.config.record_key_fields == ()
    same = rows(("a", 1, "x", 1), ("a", 1, "x", 1), ("b", 1, "y", 2))
    table.insert(same)
    table.upsert(same)  # which are new rows
    table.bulk_insert(same)
    assert values(table) == [1, 1, 1, 1, 1, 1, 2, 2, 2]
    assert len(set(keys(table))) == 9

    read = table.snapshot()
    one = read.slice(0, 1)
    table.upsert(one.set_column(one.schema.get_field_index("v"), "v", pa.array([9])))
    assert sorted(keys(table)) == sorted(read[KEY].to_pylist())
    assert sum(value == 9 for value in values(table)) == 1
    table.delete(one)
    table.delete(read.select([KEY, PATH]).slice(1, 1))
    assert sorted(keys(table)) == sorted(read[KEY].to_pylist()[2:])

    table.update({"v": 7}, where="v = 2")
    table.delete(where="v = 1")
    assert values(table) == [7, 7, 7]
    assert set(keys(table)) <= set(read[KEY].to_pylist())
    if table_type == "MERGE_ON_READ":
        table.compact()
    table.cluster()
    assert values(table) == [7, 7, 7]
    table.insert_overwrite(table.snapshot())  # new rows in place of those
    assert values(table) == [7, 7, 7]
    assert not set(keys(table)) & set(read[KEY].to_pylist())


def test_a_row_stays_in_its_partition_whatever_its_columns_say(tmp_path: Path) -> None:
    table = without_key(tmp_path / "t")
    table.insert(rows(("a", 1, "x", 1)))
    read = table.snapshot()
    number = read.schema.get_field_index("p")
    table.upsert(read.set_column(number, read.schema.field(number), pa.array(["y"])))
    assert table.snapshot(columns=[KEY, PATH]).to_pylist() == read.select([KEY, PATH]).to_pylist()
    table.delete(where="v = 1")
    assert keys(table) == []


def test_rows_with_and_without_keys_are_written_together(tmp_path: Path) -> None:
    table = without_key(tmp_path / "t")
    table.insert(rows(("a", 1, "x", 1)))
    read = table.snapshot(columns=[KEY, PATH, *SCHEMA.names])
    new = pa.concat_tables([read, rows(("b", 1, "y", 2))], promote_options="default")
    table.upsert(new)
    assert values(table) == [1, 2]


def test_a_table_without_partitions(tmp_path: Path) -> None:
    table = without_key(tmp_path / "t", partition_by=[])
    table.insert(rows(("a", 1, "x", 1), ("a", 1, "x", 2)))
    table.delete(table.snapshot().slice(0, 1))
    assert len(keys(table)) == 1


@pytest.mark.slow
def test_a_stream_larger_than_memory(tmp_path: Path) -> None:
    table = without_key(tmp_path / "t")
    batch = rows(*((f"k{number}", 1, "xyz"[number % 3], number) for number in range(1000))).to_batches()[0]

    def stream() -> Iterator[pa.RecordBatch]:
        for _ in range(LARGE // 1000):
            yield batch

    for operation in (Operation.INSERT, Operation.UPSERT):
        limits = StreamLimits(most_at_once=1 << 20)
        after_write(write_stream(before_write(table._context), operation=operation, data=stream(), limits=limits))
    assert len(set(keys(table))) == 2 * LARGE


def test_deletes_say_which_rows_they_mean(tmp_path: Path) -> None:
    table = without_key(tmp_path / "t")
    table.insert(rows(("a", 1, "x", 1)))
    with pytest.raises(
        hf.DataError,
        match=f"need {KEY} and {PATH}, as a query returns them; add both columns, or delete by a condition",
    ):
        table.delete(rows(("a", 1, "x", 1)))
    read = table.snapshot()
    number = read.schema.get_field_index(KEY)
    with pytest.raises(hf.DataError, match="null or empty"):
        table.delete(read.set_column(number, KEY, pa.array([""])))
    assert values(table) == [1]


def test_what_needs_a_record_key_is_refused(tmp_path: Path) -> None:
    with pytest.raises(hf.UnsupportedFeatureError, match="BUCKET: expected a record key"):
        without_key(tmp_path / "buckets", index="BUCKET")
    table = without_key(tmp_path / "t")
    some = json.dumps({"type": "record", "name": "t", "fields": [{"name": "v", "type": ["null", "int"]}]})
    partial = hf.open_table(table.path, options={PARTIAL_SCHEMA: some})
    with pytest.raises(
        hf.UnsupportedFeatureError,
        match=f"{PARTIAL_SCHEMA}: expected .*, found tables without a record key; write whole rows",
    ):
        partial.upsert(rows(("a", 1, "x", 1)))
    edit(tmp_path / "t", "hoodie.index.type", "BUCKET")
    with pytest.raises(hf.UnsupportedFeatureError, match="buckets without a record key"):
        hf.open_table(table.path).upsert(rows(("a", 1, "x", 1)))
    edit(tmp_path / "t", "hoodie.index.type", "SIMPLE")
    with pytest.raises(hf.UnsupportedFeatureError, match="merge: expected a table with a record key"):
        table.merge(rows(("a", 1, "x", 1)), when_matched=[hf.Delete()])
    assert values(table) == []


def test_no_two_writes_make_the_same_keys() -> None:
    batch = rows(("a", 1, "x", 1)).to_batches()[0]
    made = [next(add_keys_to_batches([batch], "20260101000000000", keeps=False))[KEY][0].as_py() for _ in range(1000)]
    assert len(set(made)) == 1000
    assert all(one.startswith("20260101000000000_") and one.endswith("_0") for one in made)
    assert new_prefix("1") != new_prefix("1")


def test_rows_of_inserts_are_new_whatever_keys_they_had(tmp_path: Path) -> None:
    config = without_key(tmp_path / "t").config
    for operation in Operation:
        if operation is not Operation.DELETE:
            assert not keeps_keys(config, operation, ["v"])
        assert keeps_keys(config, operation, [KEY, PATH]) == (operation in (Operation.UPSERT, Operation.DELETE))
