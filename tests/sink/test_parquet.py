"""Parquet files are written in row groups, and merged."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudiformat.errors import DataError, SchemaError, StorageError
from hudiformat.sink import (
    FileSink,
    SinkOptions,
    TaskWriter,
    parquet,
)
from hudiformat.storage.protocol import Storage
from tests.codec.parquet.support import with_fewer_values
from tests.memory_files import memory_files
from tests.sink.support import noise, read, rows, visible, write

MERGING = SinkOptions(auto_compaction=True)


def test_a_merged_file_has_the_types_and_metadata_of_its_parts() -> None:
    fields = [
        pa.field("day", pa.string()),
        pa.field("at", pa.timestamp("ns", "UTC"), metadata={"unit": "ns"}),
        pa.field("kind", pa.dictionary(pa.int32(), pa.string())),
        pa.field("nested", pa.struct([("list", pa.list_(pa.field("element", pa.decimal128(9, 2))))]), nullable=False),
    ]
    schema = pa.schema(fields, metadata={"made by": "a test"})
    values = {"day": ["1"], "at": [5], "kind": ["a"], "nested": [{"list": [None]}]}
    storage, messages = memory_files(), []
    for task in range(2):
        with TaskWriter(storage, schema, batch=0, task=task, tasks=2, partition_by=["day"]) as writer:
            writer.write(pa.RecordBatch.from_pydict(values, schema=schema))
            messages.append(writer.finish())
    FileSink(storage, MERGING).commit(messages)
    (path,) = visible(storage)
    merged = read(storage, path)
    assert merged.schema.equals(pa.schema(fields[1:], metadata=schema.metadata), check_metadata=True)
    assert merged["nested"].to_pylist() == [{"list": [None]}] * 2


def test_merging_takes_row_groups_as_they_come() -> None:
    storage = memory_files()
    tables = [pa.Table.from_batches([rows(numbers)]) for numbers in (range(50), range(50, 90))]
    paths = [put(storage, f"{number}", table) for number, table in enumerate(tables)]
    parquet.merge_files(storage, paths, "all", limits=parquet.MergeLimits(row_group=300, read_rows=7))
    assert read(storage, "all").equals(pa.concat_tables(tables))
    assert 3 < parquet_metadata(storage, "all").num_row_groups < 10


def test_row_groups_end_where_they_are_full(monkeypatch: pytest.MonkeyPatch) -> None:
    storage = memory_files()
    monkeypatch.setattr(parquet, "ROW_GROUP", 250_000)
    (message,) = write(storage, 0, [noise(100)] * 7)
    with storage.open_input(message.files[0].path) as file:
        found = pq.ParquetFile(file).metadata
    assert [found.row_group(i).num_rows for i in range(found.num_row_groups)] == [300, 300, 100]


def parquet_metadata(storage: Storage, path: str) -> pq.FileMetaData:
    with storage.open_input(path) as file:
        return pq.ParquetFile(file).metadata


def put(storage: Storage, path: str, table: pa.Table, **more: Any) -> str:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **more)
    storage.create(path, sink.getvalue().to_pybytes())
    return path


def test_large_row_groups_are_copied_and_small_ones_put_together() -> None:
    storage = memory_files()
    sizes = [1, 2, 900, 3, 4, 5, 1000]
    tables = [
        pa.table({"id": [number] * size, "text": [f"{i}" for i in range(size)]}) for number, size in enumerate(sizes)
    ]
    paths = [put(storage, f"{number}", table) for number, table in enumerate(tables)]
    parquet.merge_files(storage, paths, "all", limits=parquet.MergeLimits(copied_group=5000))
    assert read(storage, "all").equals(pa.concat_tables(tables))
    metadata = parquet_metadata(storage, "all")
    assert [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)] == [3, 900, 12, 1000]
    own = parquet_metadata(storage, "2").row_group(0)
    data, found = storage.read("2"), storage.read("all")
    assert data[4 : 4 + sum(own.column(i).total_compressed_size for i in range(2))] in found


def test_files_of_another_writer_are_decoded_where_they_cannot_be_copied() -> None:
    storage, table = memory_files(), pa.table({"list": [[1], [2, 3]]})
    paths = [put(storage, "a", table), put(storage, "b", table, use_compliant_nested_type=False)]
    element = [pq.ParquetFile(pa.BufferReader(storage.read(path))).schema.column(0).path for path in paths]
    assert element == ["list.list.element", "list.list.item"]
    parquet.merge_files(storage, paths, "all", limits=parquet.MergeLimits(copied_group=1))
    assert read(storage, "all")["list"].to_pylist() == [[1], [2, 3]] * 2
    assert parquet_metadata(storage, "all").num_row_groups == 2


def test_files_of_two_schemas_are_not_merged() -> None:
    storage = memory_files()
    paths = [put(storage, "a", pa.table({"x": [1]})), put(storage, "b", pa.table({"x": ["1"]}))]
    with pytest.raises(SchemaError, match="b: expected the schema of the files before"):
        parquet.merge_files(storage, paths, "all")


def test_rows_are_not_lost_where_a_column_says_that_it_has_fewer() -> None:
    storage = memory_files()
    put(storage, "a", pa.table({"x": [1, 2]}))
    storage.create("b", with_fewer_values(storage.read("a"), 0))
    with pytest.raises(StorageError, match="cannot read .*b: expected 2 rows, .*, found 0"):
        parquet.merge_files(storage, ["a", "b"], "all")


def test_no_files_are_not_merged() -> None:
    with pytest.raises(DataError, match="all: expected files to merge, found none"):
        parquet.merge_files(memory_files(), [], "all")
