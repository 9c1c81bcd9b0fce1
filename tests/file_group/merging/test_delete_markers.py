"""Rows are deletes where a column's value has the marker as its text in Java, as real Hudi 1.2.0 told each of these."""

from __future__ import annotations

import math
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from hudiformat import UnsupportedFeatureError
from hudiformat.file_group.merging.delete_markers import DeleteMarker

_UTC = timezone.utc
_NEW_YEAR = datetime(2024, 1, 1, tzinfo=_UTC)
CASES: list[tuple[pa.DataType, Any, list[str], list[str]]] = [
    (pa.date32(), date(2024, 1, 1), ["19723"], ["2024-01-01"]),
    (pa.timestamp("us", "UTC"), _NEW_YEAR, ["1704067200000000"], ["2024-01-01 00:00:00", "2024-01-01 00:00:00Z"]),
    (pa.timestamp("ms"), datetime(2024, 1, 1), ["1704067200000000"], ["1704067200000"]),
    (pa.decimal128(5, 2), Decimal("1.50"), ["1.50"], ["1.5", "150"]),
    (pa.decimal128(30, 2), Decimal("1.50"), ["1.50"], ["1.5"]),
    (pa.float32(), 1.1, ["1.1"], ["1.10", "1.100000023841858", "1.0E300"]),
    (pa.float64(), 1.0, ["1.0"], ["1", "1.00", "one"]),
    (pa.float64(), 1e10, ["1.0E10"], ["1e+10", "10000000000.0"]),
    (pa.float64(), math.nan, ["NaN"], ["nan"]),
    (pa.float64(), -0.0, ["-0.0"], ["0.0", "-0"]),
    (pa.float64(), 0.0, ["0.0"], ["-0.0"]),
    (pa.bool_(), True, ["true"], ["TRUE", "1"]),
    (pa.binary(), b"ab", [], ["ab", "6162"]),
    (pa.int64(), 7, ["7"], ["7.0", "07"]),
    (pa.string(), "x ", ["x "], ["x", "X "]),
]


@pytest.mark.parametrize(("kind", "value", "same", "others"), CASES, ids=[f"{one[0]} {one[1]}" for one in CASES])
def test_a_value_is_marked_by_its_text_in_java(
    kind: pa.DataType, value: Any, same: list[str], others: list[str]
) -> None:
    rows = pa.table({"op": pa.chunked_array([pa.array([value], kind), pa.array([None, value], kind)])})
    nested = pa.table({"s": pa.StructArray.from_arrays([rows["op"].combine_chunks()], ["op"])})
    for text in (*same, *others):
        for table, column in ((rows, "op"), (nested, "s.op")):
            found = DeleteMarker(column, text).matches(table).to_pylist()
            assert [bool(one) for one in found] == [text in same, False, text in same], text


def test_a_marker_in_a_list_is_refused_by_name() -> None:
    rows = pa.table({"op": [["D"]]})
    with pytest.raises(UnsupportedFeatureError, match=r"column op: expected a column of single values.*'D'.*list"):
        DeleteMarker("op", "D").matches(rows)
