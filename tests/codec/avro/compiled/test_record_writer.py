"""Kernels are asked first, and numpy does what they refuse: the same bytes and errors with them and without."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings

from hudiformat.codec.avro import encode
from hudiformat.codec.avro.compiled.record_writer import record_writer
from hudiformat.codec.avro.encode import ChunkLimits, encode_datums, encode_parts, encode_records
from hudiformat.errors import DataError
from hudiformat.kernels import LOAD_AFTER, VARIABLE
from hudiformat.testing import batches
from tests.codec.avro.builders import record_schema, schema_of
from tests.effort import BUSY
from tests.kernels.paths import by_library, by_numba


def test_without_kernels_there_is_no_writer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "0")
    assert record_writer(record_schema(("c", "int")), "0", is_late=True) is None


def test_a_schema_that_kernels_do_not_know_has_no_writer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    enum = {"type": "enum", "name": "e", "symbols": ["A"]}
    assert record_writer(record_schema(("c", enum)), "1", is_late=False) is None
    assert record_writer(record_schema(("c", "int")), "1", is_late=False) is not None


def test_kernels_are_used_once_enough_bytes_were_handled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    schema, rows = record_schema(("late", "int")), pa.record_batch({"late": pa.array([1], pa.int32())})
    asked = []

    def writer(schema: str, asked_for: str | None, *, is_late: bool) -> None:
        asked.append((schema, asked_for, is_late))

    monkeypatch.setattr(encode, "record_writer", writer)
    monkeypatch.setattr(encode, "bytes_handled", [0])
    encode_records(rows, schema)
    monkeypatch.setattr(encode, "bytes_handled", [LOAD_AFTER - 1])
    encode_records(rows, schema)
    assert asked == [(schema, None, False), (schema, None, True)]


@pytest.mark.slow
@settings(suppress_health_check=[*BUSY, HealthCheck.function_scoped_fixture], deadline=None)
@given(batch=batches())
def test_compiled_kernels_give_the_bytes_that_numpy_gives(
    batch: pa.RecordBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = schema_of(batch)
    firsts = np.arange(0, batch.num_rows, 2)
    found = []
    for asked in ("0", "1"):
        monkeypatch.setenv(VARIABLE, asked)
        data, starts = encode_parts(batch, schema, firsts, firsts.astype(np.uint64))
        datums = encode_datums(batch, schema).to_pylist()
        found.append([bytes(encode_records(batch, schema)), bytes(data), starts.tolist(), datums])
    assert found[0] == found[1]


def test_compiled_kernels_go_on_from_chunk_to_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = ChunkLimits(rows=64)
    shared = pa.DictionaryArray.from_arrays(pa.array([0] * 500, pa.int32()), pa.array(["shared"]))
    rows = pa.record_batch({"a": shared, "b": [f"value {row}" if row % 7 else None for row in range(500)]})
    schema = record_schema(("a", ["null", "string"]), ("b", ["null", "string"]))
    for batch in (rows, pa.Table.from_batches([rows, rows])):
        found = []
        for asked in ("0", "1"):
            monkeypatch.setenv(VARIABLE, asked)
            found.append(bytes(encode_records(batch, schema, head=b"head", tail=b"tail", limits=limits)))
        assert found[0] == found[1]


def test_numpy_says_what_kernels_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    schema = record_schema(("c", "int"))
    rows = pa.RecordBatch.from_arrays(
        [pa.array([1, None], pa.int32())], schema=pa.schema([pa.field("c", pa.int32(), nullable=False)])
    )
    with pytest.raises(DataError, match="column c is not nullable and has a null"):
        encode_records(rows, schema)


@pytest.mark.parametrize("path", [by_numba, by_library])
def test_threads_that_encode_few_rows_do_not_share_memory(path: Callable[[], Any]) -> None:
    rows = [pa.record_batch({"c": [f"value {number}"] * 40}) for number in range(200)]
    schema = schema_of(rows[0])
    expected = [bytes(encode_records(one, schema)) for one in rows]
    with path(), ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda one: bytes(encode_records(one, schema)), rows))
    assert found == expected
