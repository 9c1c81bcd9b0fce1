"""Values of a column whose type has changed, as Hudi's readers show them."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from hudiformat.codec.casts import can_cast, cast

_FLOAT = pa.float32()


@pytest.mark.parametrize(
    ("given", "kind", "value", "expected"),
    [
        (pa.int32(), pa.int64(), 7, 7),
        (pa.int64(), _FLOAT, 10**10, 1e10),
        (pa.int64(), pa.float64(), 2**60 + 1, float(2**60)),
        (_FLOAT, pa.float64(), 1.1, 1.1),
        (pa.int32(), pa.string(), 7, "7"),
        (_FLOAT, pa.string(), 1.1, "1.1"),
        (pa.float64(), pa.string(), 2e10, "2.0E10"),
        (pa.date32(), pa.string(), date(2024, 2, 29), "2024-02-29"),
        (pa.string(), pa.date32(), "2024-02-29", date(2024, 2, 29)),
        (pa.decimal128(10, 2), pa.string(), Decimal("1.50"), "1.50"),
        (pa.decimal128(20, 10), pa.string(), Decimal("0.0000000001"), "0.0000000001"),
        (pa.string(), pa.decimal128(10, 2), "1.5", Decimal("1.50")),
        (pa.int64(), pa.decimal128(10, 2), 7, Decimal("7.00")),
        (_FLOAT, pa.decimal128(10, 2), 1.1, Decimal("1.10")),
        (pa.float64(), pa.decimal128(10, 2), 1.25, Decimal("1.25")),
        (pa.decimal128(10, 2), pa.decimal128(12, 4), Decimal("1.25"), Decimal("1.2500")),
        (pa.binary(), pa.string(), b"x", "x"),
        (pa.string(), pa.binary(), "x", b"x"),
        (pa.timestamp("ms"), pa.timestamp("us"), 5, 5000),
    ],
    ids=str,
)
def test_a_value_of_each_promotion(given: pa.DataType, kind: pa.DataType, value: Any, expected: Any) -> None:
    assert can_cast(given, kind)
    array = cast(pa.array([value, None], given), kind)
    assert array.type == kind
    if pa.types.is_timestamp(kind):
        array = array.cast(pa.int64())
    assert array.to_pylist() == [expected, None]


@pytest.mark.parametrize(
    ("given", "kind", "value"),
    [
        (pa.string(), pa.date32(), "yesterday"),
        (pa.string(), pa.decimal128(10, 2), "much"),
        (pa.int64(), pa.decimal128(4, 2), 1000),
        (pa.float64(), pa.decimal128(4, 2), 1000.0),
    ],
    ids=str,
)
def test_a_value_that_does_not_fit(given: pa.DataType, kind: pa.DataType, value: Any) -> None:
    with pytest.raises(pa.ArrowInvalid):
        cast(pa.array([value], given), kind)


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (pa.bool_(), pa.string()),
        (pa.timestamp("us"), pa.string()),
        (pa.string(), pa.int32()),
        (pa.date32(), pa.int32()),
    ],
    ids=str,
)
def test_types_that_nothing_brings_together(given: pa.DataType, kind: pa.DataType) -> None:
    assert not can_cast(given, kind)
