"""Rows some at a time, in the types of a schema."""

from __future__ import annotations

import pyarrow as pa
import pytest

from hudiformat.avro import chunks
from hudiformat.errors import SchemaError
from tests.avro.builders import record_schema

SCHEMA = record_schema(("a", ["null", "string"]), ("b", ["null", "long"]))
ROWS = pa.record_batch({"a": ["x" * row for row in range(10)], "b": list(range(10))})


def _lengths(rows: pa.RecordBatch | pa.Table, size: int = 0) -> list[int]:
    return [len(chunk) for chunk in chunks.chunks(rows, SCHEMA, size=size)]


def test_rows_that_fit_come_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    assert next(chunks.chunks(ROWS, SCHEMA, size=0)).equals(ROWS)
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 4)
    assert _lengths(ROWS) == [5, 5]
    assert _lengths(pa.Table.from_batches([ROWS.slice(0, 3), ROWS.slice(3)])) == [3, 4, 3]


def test_short_batches_are_put_together() -> None:
    assert _lengths(pa.Table.from_batches([ROWS.slice(row, 1) for row in range(10)])) == [10]


def test_rows_of_many_bytes_come_in_smaller_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 60)
    assert _lengths(ROWS, size=ROWS.nbytes) == [2, 2, 3, 3]
    assert _lengths(ROWS.select(["b", "a"])) == [2, 2, 3, 3]  # what is resolved is measured


def test_columns_are_ordered_filled_and_cast() -> None:
    rows = pa.record_batch({"b": pa.array([1], pa.int32())})
    [chunk] = chunks.chunks(rows, SCHEMA, size=0)
    assert chunk.to_pydict() == {"a": [None], "b": [1]}
    assert chunk.schema.types == [pa.string(), pa.int64()]


def test_a_dictionary_is_kept_only_if_all_rows_share_its_text() -> None:
    for texts, kind in ((["t", "t"], pa.dictionary(pa.int32(), pa.string())), (["t", None], pa.string())):
        [chunk] = chunks.chunks(pa.record_batch({"a": pa.array(texts).dictionary_encode()}), SCHEMA, size=0)
        assert chunk.schema.types == [kind, pa.int64()]


def test_a_column_that_the_schema_lacks_is_refused() -> None:
    with pytest.raises(SchemaError, match="column c is not in the Avro schema"):
        _lengths(pa.record_batch({"c": [1]}))
