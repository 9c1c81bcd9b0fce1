"""Base files as Hudi's readers and indexes expect them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudiformat.file_group.base_file.bloom import BloomFilter
from hudiformat.file_group.base_file.file_indexes import FileKeys
from hudiformat.file_group.base_file.parquet_writer import ParquetBaseFileWriter
from hudiformat.file_group.base_file.read import read_base_file, scan_base_file
from hudiformat.file_group.base_file.row_groups import NewFile
from hudiformat.schema.meta_fields import meta_schema
from hudiformat.storage.local import LocalStorage
from hudiformat.storage.protocol import OutputFile
from tests.file_group.base_file.support import AVRO, SCHEMA, Memory, encode_base_file, footer, table
from tests.tables import NAMES, base_files

SPEC = Path(__file__).parents[3] / "spec" / "base-file.md"


def test_the_footer_carries_schema_key_range_and_filter() -> None:
    found = footer(encode_base_file(table(["b", "ä", "a"]), AVRO))
    bloom = BloomFilter.of(pa.array(["b", "ä", "a"]))
    assert found == {
        "parquet.avro.schema": AVRO,
        "writer.model.name": "avro",
        "org.apache.spark.version": "3.5.0",
        "hoodie_min_record_key": "a",
        "hoodie_max_record_key": "ä",
        "org.apache.hudi.bloomfilter": bloom.serialize(),
    }


def test_the_example_of_the_specification() -> None:
    example = re.search(r"```json\n(.*?)```", SPEC.read_text(encoding="utf-8"), re.DOTALL)
    assert example
    assert footer(encode_base_file(table(["k2", "k1"]), AVRO)) == json.loads(example[1])


def test_the_footer_has_the_keys_that_hudi_writes() -> None:
    """And the version of Spark, as the files of Hudi's row writer: without it Spark refuses old dates."""
    ours = set(footer(encode_base_file(table(["a"]), AVRO))) - {"org.apache.spark.version"}
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


def closed_after(rows: pa.Table, known: FileKeys) -> pa.Buffer:
    file = Memory()
    writer = ParquetBaseFileWriter(
        cast("OutputFile", file), NewFile(schema=rows.schema, avro_schema=AVRO, compression="gzip")
    )
    writer.write(rows)
    writer.close(known=known)
    return pa.py_buffer(bytes(file.data))


def test_columns_of_distinct_values_have_no_dictionary() -> None:
    count = 2_048
    rows = table([f"k{i}" for i in range(count)]).drop_columns(["n", "t"])
    columns = {
        "number": pa.array(range(count)),
        "hole": pa.array([None, *range(count - 1)]),
        "word": pa.array(["x", "y"] * (count // 2)),
        "later": pa.array([*range(count - 100), *[0] * 100]),
        "pair": pa.array([{"a": i, "b": "x"} for i in range(count)]),
        "list": pa.array([[i] for i in range(count)]),
    }
    for name, values in columns.items():
        rows = rows.append_column(name, values)
    assert without_dictionaries(encode_base_file(rows, AVRO)) == {
        "_hoodie_commit_seqno", "_hoodie_record_key", "k", "number",
    }  # fmt: skip
    assert not without_dictionaries(encode_base_file(rows.slice(1), AVRO))  # too few rows to tell


@pytest.mark.parametrize("count", [7_000, 40_000])
def test_values_that_come_again_much_later_have_a_dictionary(count: int) -> None:
    rows = table([f"k{i}" for i in range(count)]).drop_columns(["n", "t"])
    numbers = np.arange(count)
    columns = {
        "new": numbers,
        "again": numbers % 2_000,
        "in runs": numbers // 3,
        "at random": np.random.default_rng(1).integers(0, 2_000, count),
    }
    for name, values in columns.items():
        rows = rows.append_column(name, pa.array(values))
    assert without_dictionaries(encode_base_file(rows, AVRO)) == {
        "_hoodie_commit_seqno", "_hoodie_record_key", "k", "new",
    }  # fmt: skip


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


@pytest.mark.parametrize(
    ("rows", "text", "compression", "has_dictionary"),
    [
        (99, "x", "zstd", False),
        (100, "x", "zstd", True),
        (99, "x", "none", True),
        (99, "x" * 1000, "zstd", True),
    ],
)
def test_a_compressed_file_of_few_short_rows_has_no_dictionaries(
    rows: int, text: str, compression: str, has_dictionary: bool
) -> None:
    keys = [f"{number:03}{text}" for number in range(rows)]
    data = encode_base_file(table(keys), AVRO, compression=compression)
    column = pq.read_metadata(pa.BufferReader(data)).row_group(0).column(0)
    assert column.has_dictionary_page == has_dictionary


def test_the_same_rows_give_the_same_bytes() -> None:
    assert encode_base_file(table(["a", "b"]), AVRO).equals(encode_base_file(table(["a", "b"]), AVRO))


def test_a_file_of_several_row_groups_is_one_file_to_its_readers(storage: LocalStorage) -> None:
    keys = [f"key {i}" for i in range(100)]
    file = Memory()
    writer = ParquetBaseFileWriter(
        cast("OutputFile", file),
        NewFile(schema=meta_schema(SCHEMA), avro_schema=AVRO, compression="gzip", row_group_size=1500),
    )
    for start in range(0, 60, 4):
        writer.write(table(keys[start : start + 4]))
    writer.write(table(keys[60:]))
    assert writer.rows == 100
    writer.close()
    data = bytes(file.data)
    metadata = pq.read_metadata(pa.BufferReader(data))
    groups = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    assert (len(groups), sum(groups)) == (3, 100)
    assert footer(pa.py_buffer(data))["org.apache.hudi.bloomfilter"] == BloomFilter.of(pa.array(keys)).serialize()
    assert footer(pa.py_buffer(data))["hoodie_max_record_key"] == "key 99"
    storage.create("f.parquet", data)
    scanned = list(scan_base_file(storage, "f.parquet", meta_schema(SCHEMA), batch_rows=7))
    assert max(batch.num_rows for batch in scanned) == 7
    assert pa.Table.from_batches(scanned).equals(read_base_file(storage, "f.parquet", meta_schema(SCHEMA)))


def test_how_many_rows_fit_is_known_better_once_rows_are_written() -> None:
    file = cast("OutputFile", Memory())
    writer = ParquetBaseFileWriter(
        file,
        NewFile(schema=meta_schema(SCHEMA), avro_schema=AVRO, compression="gzip", row_size=50, row_group_size=10**6),
    )
    rows = table([f"k{i}" for i in range(1000)])
    assert 400 < writer.rows_before(20_000, rows) < 500  # by the size that was given; the first rows are shorter
    assert writer.rows_before(10**9, rows) == 1000  # there are no more
    assert writer.rows_before(50, rows) == 100  # fewer are not looked at
    writer.write(rows)
    assert writer.data_size == pytest.approx(50_000, rel=0.01)
    assert writer.waiting_bytes > 0
    writer.flush()
    assert writer.waiting_bytes == 0
    writer.flush()  # nothing to write
    assert writer.data_size < 20_000
    assert writer.rows_before(20_000, rows) > 500


def test_a_file_is_full_two_rows_before_its_size() -> None:
    writer = ParquetBaseFileWriter(
        cast("OutputFile", Memory()),
        NewFile(schema=meta_schema(SCHEMA), avro_schema=AVRO, compression="gzip", row_group_size=10**6),
    )
    rows = table([f"k{i}" for i in range(99)])
    writer.write(rows)
    assert not writer.is_full(1)  # too few to tell
    writer.write(rows.slice(0, 1))
    assert writer.is_full(1)
    writer.flush()
    size = int(writer.data_size)
    assert not writer.is_full(int(size * 1.1))
    assert writer.is_full(int(size * 1.01))


def test_the_row_groups_of_rows_that_grow_stay_of_one_size() -> None:
    file = Memory()
    writer = ParquetBaseFileWriter(
        cast("OutputFile", file),
        NewFile(
            schema=meta_schema(SCHEMA),
            avro_schema=AVRO,
            compression="none",
            bloom_filter=False,  # it takes most of the time, as keys are long
            row_group_size=20_000,
        ),
    )
    rows = table([f"{i:05d}" + "x" * (i // 4) for i in range(4000)])
    for start in range(0, 4000, 100):
        writer.write(rows.slice(start, 100))
    writer.close()
    metadata = pq.read_metadata(pa.BufferReader(pa.py_buffer(bytes(file.data))))
    sizes = [metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups)]
    assert len(sizes) > 50
    assert max(sizes[1:]) < 2.5 * 20_000
