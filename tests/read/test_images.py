"""Rows as the JSON texts of change data; the plain ones are in test_hudis_answers.py, from Hudi itself."""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from hudiformat.read.changes import avro_images, row_images

CASES: list[tuple[Any, pa.DataType, str, str]] = [
    (True, pa.bool_(), "true", "true"),
    (7, pa.int32(), "7", "7"),
    (-(2**63), pa.int64(), "-9223372036854775808", "-9223372036854775808"),
    (1.5, pa.float64(), "1.5", "1.5"),
    (1e10, pa.float64(), "1.0E10", "1.0E10"),
    (0.1, pa.float32(), "0.1", "0.1"),
    (math.nan, pa.float64(), '"NaN"', '"NaN"'),
    (-math.inf, pa.float64(), '"-Infinity"', '"-Infinity"'),
    ('q"\\\n\x1f\u00e9', pa.string(), '"q\\"\\\\\\n\\u001F\u00e9"', '"q\\"\\\\\\n\\u001F\u00e9"'),
    (dt.date(1970, 1, 3), pa.date32(), "2", "2"),
    (dt.datetime(1970, 1, 1, 0, 0, 1), pa.timestamp("us"), "1000000", "1000000"),
    (dt.time(0, 0, 1), pa.time32("ms"), "1000", "1000"),
    ([1, None], pa.list_(pa.int32()), "[1, null]", "[1,null]"),
    ([("k", "v")], pa.map_(pa.string(), pa.string()), '{"k": "v"}', '{"k":"v"}'),
    ({"a": 1, "b": None}, pa.struct([("a", pa.int32()), ("b", pa.int32())]), '{"a": 1, "b": null}', '{"a":1}'),
    ([("k", None), ("l", "v")], pa.map_(pa.string(), pa.string()), '{"k": null, "l": "v"}', '{"l":"v"}'),
    (
        [{"m": [("x", {"n": None}), ("y", None)]}, None],
        pa.list_(pa.struct([("m", pa.map_(pa.string(), pa.struct([("n", pa.int32())])))])),
        '[{"m": {"x": {"n": null}, "y": null}}, null]',
        '[{"m":{"x":{}}},null]',
    ),
    (b"\x00\x9fa", pa.binary(), '"\\u0000\\u009Fa"', '"AJ9h"'),
    ("\x7f\u2013", pa.string(), '"\\u007F\\u2013"', '"\x7f\u2013"'),
    (Decimal("12.50"), pa.decimal128(10, 2), "[0, 0, 0, 4, -30]", "12.50"),
    (
        Decimal("1234567890123456789012345678.9012345678"),
        pa.decimal128(38, 10),
        "[9, 73, -80, -10, -16, 2, 51, 19, -60, 73, -112, 80, -34, 56, -13, 78]",
        "1234567890123456789012345678.9012345678",
    ),
]


@pytest.mark.parametrize(("value", "kind", "avro", "jackson"), CASES, ids=[str(case[1]) for case in CASES])
def test_values_in_both_forms(value: Any, kind: pa.DataType, avro: str, jackson: str) -> None:
    column = pa.array([value], kind)
    assert avro_images(pa.StructArray.from_arrays([column], ["c"])) == [f'{{"c": {avro}}}']
    (image,) = row_images(pa.table({"c": column}))
    assert image == f'{{"c":{jackson}}}'
    json.loads(image)


@pytest.mark.parametrize(
    ("number", "kind"),
    [(2**31 - 1, pa.date32()), (-(2**63), pa.timestamp("us", "UTC")), (2**63 - 1, pa.timestamp("ms"))],
    ids=str,
)
def test_dates_and_times_that_python_has_not_are_their_numbers(number: int, kind: pa.DataType) -> None:
    times = pa.array([number, None], pa.int32() if pa.types.is_date32(kind) else pa.int64()).cast(kind)
    inner = pa.StructArray.from_arrays([times], ["i"])
    items = pa.ListArray.from_arrays([0, 1, 2], times)
    entries = pa.MapArray.from_arrays([0, 1, 2], ["k", "k"], times)
    columns, names = [times, inner, items, entries], ["t", "s", "l", "m"]
    wanted = {"t": number, "s": {"i": number}, "l": [number], "m": {"k": number}}
    empty = {"t": None, "s": {"i": None}, "l": [None], "m": {"k": None}}
    assert list(map(json.loads, avro_images(pa.StructArray.from_arrays(columns, names)))) == [wanted, empty]
    assert list(map(json.loads, row_images(pa.table(columns, names)))) == [wanted, {"s": {}, "l": [None], "m": {}}]


def test_null_columns_are_named_by_logs_and_left_out_of_rows() -> None:
    rows = pa.table({"k": ["a"], "v": pa.array([None], pa.string())})
    assert row_images(rows) == ['{"k":"a"}']
    assert avro_images(pa.StructArray.from_arrays(rows.combine_chunks().to_batches()[0].columns, ["k", "v"])) == [
        '{"k": "a", "v": null}'
    ]


def test_no_row_is_the_word_null_in_a_log() -> None:
    assert avro_images(pa.array([None], pa.struct([("k", pa.string())]))) == ["null"]
