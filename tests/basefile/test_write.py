"""Base files as Hudi's readers and indexes expect them, and what reading does with files of an older schema."""

from __future__ import annotations

import contextlib
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hudiformat.basefile import (
    BaseFileWriter,
    BloomFilter,
    FileKeys,
    add_meta_columns,
    meta_schema,
    read_base_file,
    scan_base_file,
)
from hudiformat.errors import CorruptTableError, HudiFormatError, SchemaError, StorageError
from hudiformat.storage import LocalStorage, OutputFile
from tests.effort import examples
from tests.table.golden import NAMES, base_files

SPEC = Path(__file__).parents[2] / "spec" / "base-file.md"
SCHEMA = pa.schema([pa.field("k", pa.string(), nullable=False), pa.field("n", pa.int32()), pa.field("t", pa.string())])
AVRO = '{"type":"record","name":"r","fields":[]}'


def table(keys: list[str]) -> pa.Table:
    batch = pa.record_batch({"k": keys, "n": range(len(keys)), "t": ["x"] * len(keys)}, schema=SCHEMA)
    return pa.Table.from_batches(
        [
            add_meta_columns(
                batch,
                pa.array(keys, pa.string()),
                instant="20240229120000001",
                partition_path="",
                file_name="f",
                task_partition=0,
                first_counter=1,
            ).cast(meta_schema(SCHEMA))
        ]
    )


class Memory:
    """An output file that keeps what is written to it."""

    def __init__(self) -> None:
        self.data = bytearray()

    @property
    def size(self) -> int:
        return len(self.data)

    def write(self, *parts: bytes | memoryview) -> None:
        for part in parts:
            self.data += part


def encode_base_file(rows: pa.Table, avro_schema: str, **options: Any) -> pa.Buffer:
    file = Memory()
    writer = BaseFileWriter(cast("OutputFile", file), rows.schema, avro_schema, **options)
    writer.write(rows)
    assert writer.close() == len(file.data)
    return pa.py_buffer(bytes(file.data))


def footer(data: pa.Buffer) -> dict[str, str]:
    metadata = pq.read_metadata(pa.BufferReader(data)).metadata or {}
    return {key.decode(): value.decode() for key, value in metadata.items()}


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    return LocalStorage(tmp_path)


def test_the_footer_carries_schema_key_range_and_filter() -> None:
    found = footer(encode_base_file(table(["b", "ä", "a"]), AVRO))
    bloom = BloomFilter.of(pa.array(["b", "ä", "a"]))
    assert found == {
        "parquet.avro.schema": AVRO,
        "writer.model.name": "avro",
        "hoodie_min_record_key": "a",
        "hoodie_max_record_key": "ä",
        "org.apache.hudi.bloomfilter": bloom.serialize(),
    }


def test_the_example_of_the_specification() -> None:
    example = re.search(r"```json\n(.*?)```", SPEC.read_text(encoding="utf-8"), re.DOTALL)
    assert example
    assert footer(encode_base_file(table(["k2", "k1"]), AVRO)) == json.loads(example[1])


def test_the_footer_has_the_keys_that_hudi_writes() -> None:
    ours = set(footer(encode_base_file(table(["a"]), AVRO)))
    compared = 0
    for name in NAMES:
        for file in base_files(name).values():
            theirs = {key.decode() for key in file.metadata.metadata or {}}
            if "parquet.avro.schema" in theirs and name != "v6-cow-no-metafields-h0150":
                assert ours == theirs, name
                compared += 1
    assert compared > 100


def test_the_key_range_is_in_javas_order_of_texts() -> None:
    """A surrogate pair is below the last characters of the basic plane, in UTF-8 it is above."""
    found = footer(encode_base_file(table(["\uffff", "\U0001f600", "a"]), AVRO))
    assert (found["hoodie_min_record_key"], found["hoodie_max_record_key"]) == ("a", "\uffff")
    found = footer(encode_base_file(table(["\ufffd", "\U0001f600"]), AVRO))
    assert (found["hoodie_min_record_key"], found["hoodie_max_record_key"]) == ("\U0001f600", "\ufffd")


def test_the_filter_of_another_file_with_the_same_keys_is_taken_where_it_has_the_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows, filters = table(["a", "b"]), "org.apache.hudi.bloomfilter"
    made = footer(encode_base_file(rows, AVRO))
    small = BloomFilter.of(pa.array(["a"]))
    others = [{}, {filters: small.serialize()}, {filters: "damaged"}]
    for other in others:
        assert footer(closed_after(rows, FileKeys.of({k.encode(): v.encode() for k, v in other.items()}))) == made
    monkeypatch.setattr(BloomFilter, "of", None)
    assert footer(closed_after(rows, FileKeys.of({k.encode(): v.encode() for k, v in made.items()}))) == made


def closed_after(rows: pa.Table, same_keys: FileKeys) -> pa.Buffer:
    file = Memory()
    writer = BaseFileWriter(cast("OutputFile", file), rows.schema, AVRO)
    writer.write(rows)
    writer.close(same_keys=same_keys)
    return pa.py_buffer(bytes(file.data))


def test_columns_whose_values_all_differ_have_no_dictionary() -> None:
    count = 10_000
    rows = table([f"k{i}" for i in range(count)]).drop_columns(["n", "t"])
    columns = {
        "number": pa.array(range(count)),
        "hole": pa.array([None, *range(count - 1)]),
        "word": pa.array(["x", "y"] * (count // 2)),
        "pair": pa.array([{"a": i, "b": "x"} for i in range(count)]),
        "list": pa.array([[i] for i in range(count)]),
    }
    for name, values in columns.items():
        rows = rows.append_column(name, values)
    assert without_dictionaries(encode_base_file(rows, AVRO)) == {
        "_hoodie_commit_seqno", "_hoodie_record_key", "k", "number",
    }  # fmt: skip
    assert not without_dictionaries(encode_base_file(rows.slice(1), AVRO))  # too few rows to tell


def without_dictionaries(data: pa.Buffer) -> set[str]:
    group = pq.read_metadata(pa.BufferReader(data)).row_group(0)
    columns = [group.column(number) for number in range(group.num_columns)]
    return {column.path_in_schema for column in columns if not column.has_dictionary_page}


def test_without_a_filter() -> None:
    assert "org.apache.hudi.bloomfilter" not in footer(encode_base_file(table(["a"]), AVRO, bloom_filter=False))


def test_a_file_of_no_rows_has_no_key_range(storage: LocalStorage) -> None:
    data = encode_base_file(table([]), AVRO)
    assert "hoodie_min_record_key" not in footer(data)
    storage.create("f.parquet", data.to_pybytes())
    assert read_base_file(storage, "f.parquet", meta_schema(SCHEMA)).num_rows == 0


@pytest.mark.parametrize("compression", ["gzip", "snappy", "zstd", "none"])
def test_columns_are_compressed_as_asked(compression: str) -> None:
    data = encode_base_file(table(["a"]), AVRO, compression=compression)
    column = pq.read_metadata(pa.BufferReader(data)).row_group(0).column(0)
    assert column.compression == ("UNCOMPRESSED" if compression == "none" else compression.upper())


def test_the_same_rows_give_the_same_bytes() -> None:
    assert encode_base_file(table(["a", "b"]), AVRO).equals(encode_base_file(table(["a", "b"]), AVRO))


def test_rows_are_read_as_they_were_written(storage: LocalStorage) -> None:
    rows = table(["a", "b"])
    storage.create("p/f.parquet", encode_base_file(rows, AVRO).to_pybytes())
    assert read_base_file(storage, "p/f.parquet", rows.schema).equals(rows)


def test_some_columns_in_the_order_asked_for(storage: LocalStorage) -> None:
    storage.create("f.parquet", encode_base_file(table(["a", "b"]), AVRO).to_pybytes())
    read = read_base_file(storage, "f.parquet", meta_schema(SCHEMA), columns=["n", "k"])
    assert read.to_pydict() == {"n": [0, 1], "k": ["a", "b"]}
    assert list(read.to_pydict()) == ["n", "k"]


def test_no_column_at_all_keeps_the_number_of_rows(storage: LocalStorage) -> None:
    storage.create("f.parquet", encode_base_file(table(["a", "b"]), AVRO).to_pybytes())
    assert read_base_file(storage, "f.parquet", meta_schema(SCHEMA), columns=[]).num_rows == 2


def test_a_column_that_the_file_does_not_have_yet_is_null(storage: LocalStorage) -> None:
    storage.create("f.parquet", encode_base_file(table(["a", "b"]), AVRO).to_pybytes())
    newer = SCHEMA.append(pa.field("new", pa.decimal128(5, 2)))
    assert read_base_file(storage, "f.parquet", newer)["new"].to_pylist() == [None, None]
    assert read_base_file(storage, "f.parquet", newer, columns=["new"]).to_pydict() == {"new": [None, None]}


def test_types_are_promoted_to_the_tables(storage: LocalStorage) -> None:
    storage.create("f.parquet", encode_base_file(table(["a"]), AVRO).to_pybytes())
    wider = pa.schema([pa.field("n", pa.float64()), pa.field("t", pa.binary())])
    assert read_base_file(storage, "f.parquet", wider).to_pydict() == {"n": [0.0], "t": [b"x"]}


def test_a_type_that_cannot_be_promoted_is_refused(storage: LocalStorage) -> None:
    storage.create("f.parquet", encode_base_file(table(["a"]), AVRO).to_pybytes())
    with pytest.raises(SchemaError, match="column t"):
        read_base_file(storage, "f.parquet", pa.schema([pa.field("t", pa.int64())]))


def test_decimals_and_lists_survive(storage: LocalStorage) -> None:
    schema = pa.schema([*table([]).schema, pa.field("d", pa.decimal128(12, 3)), pa.field("l", pa.list_(pa.string()))])
    rows = table(["a", "b"])
    rows = rows.append_column(schema.field("d"), pa.array([Decimal("1.5"), None], pa.decimal128(12, 3)))
    rows = rows.append_column(schema.field("l"), pa.array([["x", None], []], pa.list_(pa.string())))
    storage.create("f.parquet", encode_base_file(rows, AVRO).to_pybytes())
    assert read_base_file(storage, "f.parquet", schema).equals(rows)


def test_a_missing_file_is_a_storage_error(storage: LocalStorage) -> None:
    with pytest.raises(StorageError, match="f.parquet"):
        read_base_file(storage, "f.parquet", SCHEMA)


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1" * 20, b"no Parquet at all, but long enough"])
def test_a_file_that_is_no_parquet_is_named(storage: LocalStorage, data: bytes) -> None:
    storage.create("p/f.parquet", data)
    with pytest.raises(CorruptTableError, match="p/f.parquet: not a readable base file") as caught:
        read_base_file(storage, "p/f.parquet", SCHEMA)
    assert caught.value.path == "p/f.parquet"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(80), deadline=None)
@given(data=st.data())
def test_damage_raises_only_our_errors(storage: LocalStorage, data: st.DataObject) -> None:
    content = bytearray(encode_base_file(table(["a", "b", "c"]), AVRO).to_pybytes())
    content = content[: data.draw(st.integers(0, len(content)) | st.just(len(content)))]
    for _ in range(data.draw(st.integers(0, 3)) if content else 0):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    storage.create("f.parquet", bytes(content), overwrite=True, sync=False)
    with contextlib.suppress(HudiFormatError):
        read_base_file(storage, "f.parquet", meta_schema(SCHEMA))


def test_a_file_of_several_row_groups_is_one_file_to_its_readers(
    storage: LocalStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hudiformat.basefile.write._FIRST_ROWS", 10)
    keys = [f"key {i}" for i in range(100)]
    file = Memory()
    writer = BaseFileWriter(cast("OutputFile", file), meta_schema(SCHEMA), AVRO)
    for start in range(0, 60, 4):
        writer.write(table(keys[start : start + 4]))
    writer.write(table(keys[60:]))
    assert writer.rows == 100
    writer.close()
    data = bytes(file.data)
    metadata = pq.read_metadata(pa.BufferReader(data))
    # The first group tells the size of a row; from then on there is room for all of them in one.
    assert [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)] == [10, 2, 88]
    assert footer(pa.py_buffer(data))["org.apache.hudi.bloomfilter"] == BloomFilter.of(pa.array(keys)).serialize()
    assert footer(pa.py_buffer(data))["hoodie_max_record_key"] == "key 99"
    storage.create("f.parquet", data)
    scanned = list(scan_base_file(storage, "f.parquet", meta_schema(SCHEMA), batch_rows=7))
    assert max(batch.num_rows for batch in scanned) == 7
    assert pa.Table.from_batches(scanned).equals(read_base_file(storage, "f.parquet", meta_schema(SCHEMA)))


def test_the_writer_says_how_many_rows_fit_and_knows_better_once_it_has_written() -> None:
    writer = BaseFileWriter(cast("OutputFile", Memory()), meta_schema(SCHEMA), AVRO, bloom_filter=False, row_size=100)
    assert writer.rows_before(4040 + len(AVRO)) == 20  # the footer takes 2040 bytes and the schema
    assert writer.rows_before(0) < 0
    writer.write(table([f"k{i}" for i in range(1000)]))
    assert writer.waiting_bytes > 0
    writer.flush()
    assert writer.waiting_bytes == 0
    writer.flush()  # nothing waits
    assert writer.rows_before(10**9) > 20_000


def test_a_damaged_file_is_found_while_it_is_scanned(storage: LocalStorage) -> None:
    storage.create("f.parquet", b"PAR1 and no more")
    with pytest.raises(CorruptTableError, match=r"f\.parquet: not a readable base file"):
        list(scan_base_file(storage, "f.parquet", SCHEMA))


def test_a_scan_refuses_a_type_that_cannot_be_promoted(storage: LocalStorage) -> None:
    storage.create("f.parquet", encode_base_file(table(["a"]), AVRO).to_pybytes())
    with pytest.raises(SchemaError, match="column t"):
        list(scan_base_file(storage, "f.parquet", pa.schema([pa.field("t", pa.int64())])))
