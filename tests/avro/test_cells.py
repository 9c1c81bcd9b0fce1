"""Cells fused and joined to rows of bytes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from hudiformat.avro import (
    arrow_to_avro,
    cells,
    encode_datums,
    encode_records,
)
from hudiformat.errors import EncodeError


def test_chunks_of_two_gigabytes_use_long_offsets(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = pa.RecordBatch.from_pydict({"a": ["x", None, "yz"], "b": [1.0, 2.0, 3.0], "c": [[1], [], [2, 3]]})
    schema = arrow_to_avro(batch.schema, name="r", namespace="n")
    expected = encode_records(batch, schema)
    monkeypatch.setattr(cells, "INT32_MAX", len(expected) - 1)
    assert encode_records(batch, schema) == expected


def test_text_of_over_two_gigabytes_in_one_chunk_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = pa.RecordBatch.from_pydict({"a": ["x" * 13, "y" * 14]})
    monkeypatch.setattr(cells, "INT32_MAX", 26)
    with pytest.raises(EncodeError, match="27 bytes of one column"):
        encode_records(batch, arrow_to_avro(batch.schema, name="r", namespace="n"))


@pytest.mark.parametrize("text", [["ab", "c"], ["a", "a longer text", "bc"], ["a" * 9, "b" * 10], ["x" * 13, "y" * 14]])
def test_text_that_ends_where_its_buffer_ends(text: list[str]) -> None:
    data = "".join(text).encode()
    offsets_ = np.cumsum([0, *map(len, text)], dtype=np.int32)
    column = pa.Array.from_buffers(pa.string(), len(text), [None, pa.py_buffer(offsets_), pa.py_buffer(data)])
    batch = pa.RecordBatch.from_arrays([column], names=["a"])
    expected = b"".join(b"\2" + bytes([2 * len(item)]) + item.encode() for item in text)
    assert encode_datums(batch, arrow_to_avro(batch.schema, name="r", namespace="n")).buffers()[2] == expected
