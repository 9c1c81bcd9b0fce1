"""Parquet files are written in row groups, and merged."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudiformat.sink import (
    FileSink,
    SinkOptions,
    TaskWriter,
    parquet,
)
from tests.sink.support import ids, memory, noise, read, rows, visible, write

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
    storage, messages = memory(), []
    for task in range(2):
        with TaskWriter(storage, schema, batch=0, task=task, tasks=2, partition_by=["day"]) as writer:
            writer.write(pa.RecordBatch.from_pydict(values, schema=schema))
            messages.append(writer.finish())
    FileSink(storage, MERGING).commit(messages)
    (path,) = visible(storage)
    merged = read(storage, path)
    assert merged.schema.equals(pa.schema(fields[1:], metadata=schema.metadata), check_metadata=True)
    assert merged["nested"].to_pylist() == [{"list": [None]}] * 2


def test_merging_takes_row_groups_as_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "_READ_ROWS", 7)
    monkeypatch.setattr(parquet, "ROW_GROUP", 300)
    storage = memory()
    FileSink(storage, MERGING).commit(write(storage, 0, [rows(range(50))], [rows(range(50, 90))]))
    (path,) = visible(storage)
    with storage.open_input(path) as file:
        metadata = pq.ParquetFile(file).metadata
    assert ids(storage) == list(range(90))
    assert 3 < metadata.num_row_groups < 10


def test_row_groups_end_where_they_are_full(monkeypatch: pytest.MonkeyPatch) -> None:
    storage = memory()
    monkeypatch.setattr(parquet, "ROW_GROUP", 250_000)
    (message,) = write(storage, 0, [noise(100)] * 7)
    with storage.open_input(message.files[0].path) as file:
        found = pq.ParquetFile(file).metadata
    assert [found.row_group(i).num_rows for i in range(found.num_row_groups)] == [300, 300, 100]
