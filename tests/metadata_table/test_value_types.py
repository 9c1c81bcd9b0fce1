"""Values of statistics come back as they were, with and without their types."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from hudiformat.codec.statistics import ColumnStatistics
from hudiformat.metadata_table.value_types import as_kind, is_indexable, stored_kind, type_info, unwrap, wrap

KINDS: list[tuple[pa.DataType, Any, str, str, int]] = [
    (pa.bool_(), True, "Boolean", "Boolean", 2),
    (pa.int32(), 1, "Int", "Int", 3),
    (pa.int64(), 1, "Long", "Long", 4),
    (pa.float32(), 0.5, "Float", "Float", 5),
    (pa.float64(), 0.5, "Double", "Double", 6),
    (pa.string(), "a", "String", "String", 7),
    (pa.binary(), b"a", "Bytes", "Bytes", 8),
    (pa.binary(1), b"a", "Bytes", "Bytes", 9),
    (pa.decimal128(10, 3), Decimal("-1.500"), "Bytes", "Decimal", 10),
    (pa.date32(), 3, "Int", "Date", 12),
    (pa.timestamp("us", "UTC"), 3, "Long", "Long", 16),
    (pa.timestamp("ms"), 3, "Long", "Long", 18),
]


@pytest.mark.parametrize(("kind", "value", "typed", "untyped", "ordinal"), KINDS, ids=str)
def test_a_value_is_wrapped_and_comes_back(
    kind: pa.DataType, value: Any, typed: str, untyped: str, ordinal: int
) -> None:
    for has_types, name in ((True, typed), (False, untyped)):
        wrapped = wrap(kind, value, has_types=has_types)
        assert wrapped is not None
        assert wrapped[0] == f"org.apache.hudi.avro.model.{name}Wrapper"
        info: dict[str, Any] = type_info(kind) if has_types else {"typeOrdinal": 0, "additionalInfo": None}
        stored = stored_kind(info["typeOrdinal"], info["additionalInfo"], wrapped[0])
        assert stored is not None
        assert unwrap(stored, wrapped[1]["value"]) == value
    assert type_info(kind)["typeOrdinal"] == ordinal


@pytest.mark.parametrize(
    ("value", "expected"), [("0", b"\x00"), ("-2.000", b"\xf8\x30"), ("-0.128", b"\x80"), ("0.128", b"\x00\x80")]
)
def test_decimals_have_as_few_bytes_as_in_java(value: str, expected: bytes) -> None:
    wrapped = wrap(pa.decimal128(10, 3), Decimal(value), has_types=True)
    assert wrapped is not None
    assert wrapped[1]["value"] == expected


def test_no_value_has_no_wrapper_and_unknown_types_no_kind() -> None:
    assert wrap(pa.int32(), None, has_types=True) is None
    assert stored_kind(0, None, None) == pa.null()
    assert stored_kind(99, None, "IntWrapper") is None
    assert stored_kind(0, None, "x.OtherWrapper") is None


def test_which_columns_have_statistics() -> None:
    assert not is_indexable(pa.list_(pa.int32()), has_types=True)
    wide = pa.decimal128(30, 10)
    assert is_indexable(wide, has_types=True)
    assert not is_indexable(wide, has_types=False)
    assert is_indexable(pa.decimal128(10, 3), has_types=False)
    assert is_indexable(pa.binary(3), has_types=False)


PROMOTED: list[tuple[pa.DataType, Any, pa.DataType, Any]] = [
    (pa.int32(), 1, pa.int64(), 1),
    (pa.int64(), 1, pa.float64(), 1.0),
    (pa.float32(), 0.5, pa.float64(), 0.5),
    (pa.int64(), 5, pa.timestamp("us", "UTC"), 5),
    (pa.timestamp("ms"), 5, pa.timestamp("us"), 5000),
    (pa.decimal128(5, 2), Decimal("1.50"), pa.decimal128(9, 3), Decimal("1.50")),
    (pa.binary(), b"a", pa.binary(1), b"a"),
]


@pytest.mark.parametrize(("kind", "value", "wanted", "expected"), PROMOTED, ids=str)
def test_bounds_follow_a_column_to_a_wider_type(
    kind: pa.DataType, value: Any, wanted: pa.DataType, expected: Any
) -> None:
    found = as_kind(ColumnStatistics(kind, value, value, 1, 0, 7, 8), wanted)
    assert (found.kind, found.lower, found.upper, found.size) == (wanted, expected, expected, 7)


def test_bounds_that_cannot_follow_are_unknown() -> None:
    found = as_kind(ColumnStatistics(pa.int32(), 1, 2, 3, 0, 7, 8), pa.string())
    assert (found.lower, found.values, found.nulls, found.uncompressed) == ("", 3, 1, 8)
    nulls = as_kind(ColumnStatistics(pa.null(), None, None, 3, 3), pa.string())
    assert (nulls.kind, nulls.lower, nulls.nulls) == (pa.string(), None, 3)
