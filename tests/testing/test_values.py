"""Random types and values of them."""

from __future__ import annotations

import decimal
import operator
from functools import partial

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat import testing
from hudiformat.testing.values import VALUES, decimals, integers, optional
from tests.effort import sample
from tests.testing.support import SLOW, reaches


@SLOW
@given(data=st.data(), kind=testing.types())
def test_values_are_of_their_type(data: st.DataObject, kind: pa.DataType) -> None:
    value = data.draw(testing.values(kind))
    assert value is not None
    assert pa.array([value, None], kind).null_count == 1


@pytest.mark.parametrize("kind", sample(list(VALUES), of=5), ids=str)
def test_flat_types_are_among_the_types(kind: pa.DataType) -> None:
    assert reaches(testing.types(1), lambda found: found == kind)


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_integers_reach_their_limits_and_the_edges_of_varints(bits: int) -> None:
    for edge in (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, 63, 64, -64, -65):
        assert reaches(integers(bits), partial(operator.eq, edge))


def test_decimals_reach_their_limits() -> None:
    assert reaches(decimals(5, 2), lambda number: number == decimal.Decimal("999.99"))
    assert reaches(decimals(38, 38), lambda number: number < 0)


def test_only_nullable_fields_have_nulls() -> None:
    assert reaches(optional(pa.field("a", pa.int32())), lambda value: value is None)

    @given(optional(pa.field("a", pa.int32(), nullable=False)))
    def is_not_null(value: object) -> None:
        assert value is not None

    is_not_null()
