"""Arrow arrays as numpy arrays, and varints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hudiformat.avro import (
    avro_to_arrow,
    decode_records,
    encode_datums,
    encode_records,
)
from hudiformat.avro.arrays import numbers, offsets
from tests.avro.builders import record_schema


def both_ways(schema: str, rows: Sequence[Any], *expected: str) -> None:
    """Each row encodes to its hexadecimal bytes, and they decode to it."""
    batch = pa.RecordBatch.from_pylist(rows, avro_to_arrow(schema))
    datums = [bytes.fromhex(text) for text in expected]
    assert encode_datums(batch, schema).to_pylist() == datums
    framed = b"".join(len(datum).to_bytes(4, "big") + datum for datum in datums)
    assert encode_records(batch, schema) == framed
    assert decode_records(framed, len(rows), schema).equals(batch)
    assert decode_records(memoryview(framed), len(rows), schema).to_pylist() == rows


@pytest.mark.parametrize(
    ("value", "bytes_"),
    [
        (0, "00"),
        (-1, "01"),
        (63, "7e"),
        (64, "80 01"),
        (-65, "81 01"),
        (8191, "fe 7f"),
        (8192, "80 80 01"),
        (2**27 - 1, "fe ff ff 7f"),
        (2**34 - 1, "fe ff ff ff 7f"),
        (2**41 - 1, "fe ff ff ff ff 7f"),
        (2**48 - 1, "fe ff ff ff ff ff 7f"),
        (2**55 - 1, "fe ff ff ff ff ff ff 7f"),
        (2**55, "80 80 80 80 80 80 80 80 01"),
        (2**62 - 1, "fe ff ff ff ff ff ff ff 7f"),
        (2**62, "80 80 80 80 80 80 80 80 80 01"),
        (2**63 - 1, "fe ff ff ff ff ff ff ff ff 01"),
        (-(2**63), "ff ff ff ff ff ff ff ff ff 01"),
    ],
)
def test_longs_of_every_length(value: int, bytes_: str) -> None:
    both_ways(record_schema(("c", "long")), [{"c": value}], bytes_)
    # the byte that says "not null" makes nine bytes of eight, and eleven of ten
    both_ways(
        record_schema(("c", ["null", "long"]), ("d", "long")), [{"c": value, "d": value}], f"02 {bytes_} {bytes_}"
    )
    rows = [{"c": value}, {"c": None}, {"c": 1}]
    both_ways(record_schema(("c", ["null", "long"])), rows, f"02 {bytes_}", "00", "02 02")


def test_arrays_without_buffers() -> None:
    empty = pa.Array.from_buffers(pa.list_(pa.int32()), 0, [None, None], children=[pa.array([], pa.int32())])
    nothing = pa.Array.from_buffers(pa.int32(), 0, [None, None])
    assert offsets(empty).tolist() == [0]
    assert numbers(nothing, np.int32).tolist() == []
