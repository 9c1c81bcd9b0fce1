"""Base files as Hudi's readers and indexes expect them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudiformat.basefile import (
    BaseFileWriter,
    BloomFilter,
    FileKeys,
    meta_schema,
    read_base_file,
    scan_base_file,
)
from hudiformat.storage import LocalStorage, OutputFile
from tests.basefile.support import AVRO, SCHEMA, Memory, encode_base_file, footer, table
from tests.tables import NAMES, base_files

SPEC = Path(__file__).parents[2] / "spec" / "base-file.md"


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


def test_the_filter_of_another_file_with_the_same_keys_is_used_if_it_has_the_right_size(
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


def test_columns_of_distinct_values_have_no_dictionary() -> None:
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
def test_columns_are_compressed_as_requested(compression: str) -> None:
    data = encode_base_file(table(["a"]), AVRO, compression=compression)
    column = pq.read_metadata(pa.BufferReader(data)).row_group(0).column(0)
    assert column.compression == ("UNCOMPRESSED" if compression == "none" else compression.upper())


def test_the_same_rows_give_the_same_bytes() -> None:
    assert encode_base_file(table(["a", "b"]), AVRO).equals(encode_base_file(table(["a", "b"]), AVRO))


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
    # The size of a row is measured after the first group; then there is room for all other rows in one.
    assert [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)] == [10, 2, 88]
    assert footer(pa.py_buffer(data))["org.apache.hudi.bloomfilter"] == BloomFilter.of(pa.array(keys)).serialize()
    assert footer(pa.py_buffer(data))["hoodie_max_record_key"] == "key 99"
    storage.create("f.parquet", data)
    scanned = list(scan_base_file(storage, "f.parquet", meta_schema(SCHEMA), batch_rows=7))
    assert max(batch.num_rows for batch in scanned) == 7
    assert pa.Table.from_batches(scanned).equals(read_base_file(storage, "f.parquet", meta_schema(SCHEMA)))


def test_the_estimate_of_rows_that_fit_improves_once_rows_are_written() -> None:
    writer = BaseFileWriter(cast("OutputFile", Memory()), meta_schema(SCHEMA), AVRO, bloom_filter=False, row_size=100)
    assert writer.rows_before(4040 + len(AVRO)) == 20  # the footer takes 2040 bytes and the schema
    assert writer.rows_before(0) < 0
    writer.write(table([f"k{i}" for i in range(1000)]))
    assert writer.waiting_bytes > 0
    writer.flush()
    assert writer.waiting_bytes == 0
    writer.flush()  # nothing to write
    assert writer.rows_before(10**9) > 20_000
