"""The arrays that the kernel fills."""

from __future__ import annotations

import gc
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

from hudiformat import kernels
from hudiformat.codec.avro.compiled import decoded
from hudiformat.codec.avro.decode import find_records
from hudiformat.codec.avro.encode import encode_records
from hudiformat.codec.avro.schema import arrow_to_avro
from tests.codec.avro.builders import framed_records, record_schema
from tests.codec.avro.compiled.paths import decoded_by
from tests.kernels.paths import KERNELS, by_numba, by_numpy

pytestmark = pytest.mark.unmeasured


def rows(count: int) -> pa.RecordBatch:
    texts = [None if index % 7 == 0 else "\u00e9" * (index % 11) + "text" for index in range(count)]
    lists = pa.array([list(range(index % 5)) for index in range(count)], pa.list_(pa.int64()))
    columns = {"t": pa.array(texts, pa.string()), "n": range(count), "l": lists, "b": [b"x" * 20] * count}
    return pa.RecordBatch.from_pydict(columns)


def encoded(batch: pa.RecordBatch) -> tuple[bytes, int, str]:
    schema = arrow_to_avro(batch.schema, name="r", namespace="n")
    return bytes(encode_records(batch, schema)), len(batch), schema


@pytest.mark.parametrize("count", [1, 7, 8, 9, 600, 5000])
def test_any_number_of_rows(count: int) -> None:
    arguments = encoded(rows(count))
    assert decoded_by(by_numba, *arguments).equals(decoded_by(by_numpy, *arguments))


def test_a_column_without_nulls_has_no_bitmap() -> None:
    batch = decoded_by(by_numba, *encoded(rows(20)))
    assert batch["n"].buffers()[0] is None
    assert batch["t"].buffers()[0] is not None


@pytest.mark.parametrize("views", [False, True])
def test_the_same_bytes_give_the_same_bytes(*, views: bool) -> None:
    data, count, schema = encoded(rows(100))

    def serialized() -> bytes:
        with by_numba():
            batch = find_records(data, count, schema).decode(views=views)
        return bytes(batch.serialize())

    assert serialized() == serialized()


@pytest.mark.parametrize("path", KERNELS)
def test_views_keep_the_bytes_alive(path: type) -> None:
    data, count, schema = encoded(rows(50))
    copy = bytearray(data)
    with path():
        batch = find_records(memoryview(copy), count, schema).decode(["b"], views=True)
    with pytest.raises(BufferError):
        copy.clear()
    del copy
    gc.collect()
    assert batch["b"].type == pa.binary_view()
    assert batch["b"].to_pylist() == [b"x" * 20] * 50


def test_some_rows_are_decoded_from_their_own_positions() -> None:
    data, count, schema = encoded(rows(3000))
    wanted = np.arange(3, 3000, 17)
    with by_numba():
        records = find_records(data, count, schema).take(wanted)
        some, views = records.decode(), records.decode(views=True)
    expected = rows(3000).take(pa.array(wanted))
    assert some.to_pylist() == expected.to_pylist()
    assert views.to_pylist() == expected.to_pylist()


def test_without_kernels_there_is_no_array() -> None:
    data, count, schema = encoded(rows(5))
    records = find_records(data, count, schema)
    with patch.object(kernels, "kernel", lambda *_: None):
        assert decoded.find_offsets(records.data, count) is None
        places = decoded.RecordRanges(*records.locate())
        assert decoded.decode_columns(records.data, places, schema, frozenset("t")) is None


def test_no_memory_is_made_for_records_that_cannot_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = record_schema(*((f"c{index}", ["null", "long"]) for index in range(100)))
    data = framed_records([0] * 3000, b"")
    monkeypatch.setattr(decoded, "_Memory", None)
    with by_numba():
        records = find_records(data, 3000, schema)
        places = decoded.RecordRanges(*records.locate())
        assert decoded.decode_columns(records.data, places, schema, frozenset(["c99"])) is None
