"""Which guarantees rule a filter out, and filters on record keys."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudiformat.errors import SchemaError
from hudiformat.file_group.base_file.filters import KeyFilter, can_match, can_match_nan

KEY = pc.field("_hoodie_record_key")
SCHEMA = pa.schema([("v", pa.int64()), ("d", pa.float64()), ("s", pa.struct([("f", pa.float32())]))])


def test_a_filter_that_contradicts_a_guarantee_is_impossible() -> None:
    v = pc.field("v")
    assert can_match(v > 5, SCHEMA, [v < 3, v == 9, v > 1]) == [False, True, True]
    assert can_match(v > 5, SCHEMA, []) == []


def test_a_guarantee_that_cannot_be_compared_with_the_filter_rules_out_nothing() -> None:
    """Arrow raises an error where it would have to round the integer; it does so for one such guarantee of many."""
    v, large = pc.field("v"), 2**60 + 1
    assert can_match(v == 5.0, SCHEMA, [v == 3, v == large, v == 5]) == [False, True, True]
    assert can_match(v.isin([5.0]), SCHEMA, [v <= large, v < 5]) == [True, False]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (pc.field("v") > 1, False),
        (pc.field("d") > 1, False),
        (pc.field("d") != 1, True),
        (~(pc.field("d") < 1), True),
        (pc.field("s", "f") != 1, True),
    ],
)
def test_a_filter_that_a_nan_may_match(expression: pc.Expression, expected: bool) -> None:
    assert can_match_nan(expression, SCHEMA) is expected


def test_a_filter_on_an_unknown_column_is_a_schema_error() -> None:
    with pytest.raises(SchemaError):
        can_match_nan(pc.field("other") > 1, SCHEMA)


def test_key_filters_combine_with_their_keys() -> None:
    either, both = KeyFilter(KEY.isin(["a", "b"]), frozenset("ab")), KeyFilter(KEY == "b", frozenset("b"))
    unknown = KeyFilter(KEY > "a")
    keys = pa.array(["c", "b", "a"])
    assert either.rows(keys).tolist() == [1, 2]
    assert (either & both).keys == frozenset("b")
    assert (either & both).rows(keys).tolist() == [1]
    assert (both & unknown).keys == frozenset("b")
    assert (unknown & unknown).keys is None
    assert (either | both).keys == frozenset("ab")
    assert (either | unknown).keys is None
    assert (either | unknown).rows(keys).tolist() == [0, 1, 2]
