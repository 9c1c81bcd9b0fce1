"""How Arrow's values look as JSON."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from hudiformat.cli.rows import rows_of

FAR = 2**62


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (pa.bool_(), True, True),
        (pa.int64(), 2**63 - 1, 2**63 - 1),
        (pa.string(), "日\n", "日\n"),
        (pa.float64(), 1.5, 1.5),
        (pa.float64(), float("nan"), "NaN"),
        (pa.float32(), float("inf"), "Infinity"),
        (pa.float64(), float("-inf"), "-Infinity"),
        (pa.binary(), b"\x00\xff", "00ff"),
        (pa.large_binary(), b"\x01", "01"),
        (pa.binary(2), b"\x00\xff", "00ff"),
        (pa.decimal128(10, 2), Decimal("-12.50"), "-12.50"),
        (pa.date32(), 19_000, "2022-01-08"),
        (pa.time32("ms"), 1, "00:00:00.001"),
        (pa.time64("us"), 1, "00:00:00.000001"),
        (pa.timestamp("us", "UTC"), 1, "1970-01-01 00:00:00.000001Z"),
        (pa.timestamp("ms"), 0, "1970-01-01 00:00:00.000"),
        (pa.timestamp("ns", "UTC"), 1, "1970-01-01 00:00:00.000000001Z"),
        (pa.timestamp("us", "UTC"), FAR, "17036-07-06 14:00:27.387904Z"),
        (pa.timestamp("ms"), FAR, f"<value out of range: {FAR}>"),
        (pa.list_(pa.float64()), [1.0, None, float("nan")], [1.0, None, "NaN"]),
        (pa.list_(pa.timestamp("ms")), [0], ["1970-01-01 00:00:00.000"]),
        (pa.map_(pa.string(), pa.binary()), [("k", b"\1"), ("l", None)], {"k": "01", "l": None}),
        (pa.map_(pa.string(), pa.date32()), [], {}),
        (
            pa.list_(pa.struct([pa.field("a", pa.struct([pa.field("b", pa.binary(), nullable=False)]))])),
            [None, {"a": None}, {"a": {"b": b"\3"}}],
            [None, {"a": None}, {"a": {"b": "03"}}],
        ),
        (
            pa.struct([pa.field("a", pa.decimal128(3, 1), nullable=False), pa.field("b", pa.list_(pa.binary()))]),
            {"a": Decimal("1.0"), "b": [b"\2"]},
            {"a": "1.0", "b": ["02"]},
        ),
    ],
    ids=str,
)
def test_a_value_and_null_are_json(kind: pa.DataType, value: Any, expected: Any) -> None:
    batch = pa.record_batch({"v": pa.array([value, None], kind)})
    rows = [json.loads(json.dumps(row, allow_nan=False)) for row in rows_of(batch)]
    assert rows == [{"v": expected}, {"v": None}]


def test_rows_without_columns_are_rows() -> None:
    batch = pa.RecordBatch.from_struct_array(pa.array([{}] * 1500, pa.struct([])))
    assert list(rows_of(batch)) == [{}] * 1500
