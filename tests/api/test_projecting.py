from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudiformat import SchemaError
from hudiformat.api.projecting import project, value_expression

ROWS = pa.table({"v": [1, 2], "w": ["x", "y"]})


def test_columns_get_literals_and_expressions() -> None:
    field = pa.field("v", pa.int64())
    values = [value_expression(5, field, of="update"), value_expression(pc.field("v") * 2, field, of="update")]
    assert project(ROWS, values, ["a", "b"], of="update").to_pydict() == {"a": [5, 5], "b": [2, 4]}


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (1.5, pa.int32()),
        ([1, 1.5], pa.list_(pa.int64())),
        ({"a": 1.5}, pa.struct([("a", pa.int64())])),
        (float("nan"), pa.int8()),
    ],
)
def test_a_fraction_is_never_cut_off(value: object, kind: pa.DataType) -> None:
    with pytest.raises(SchemaError, match="a fraction would be lost"):
        value_expression(value, pa.field("v", kind), of="update")
    assert value_expression(2.0, pa.field("v", pa.int32()), of="update").equals(pc.scalar(pa.scalar(2, pa.int32())))
    both = pa.struct([("a", pa.int64()), ("b", pa.float64())])
    value_expression({"a": 1, "b": 1.5}, pa.field("v", both), of="update")


def test_what_does_not_fit_is_named() -> None:
    with pytest.raises(SchemaError, match="^update: column 'v' of type int64 cannot be 'x'") as caught:
        value_expression("x", pa.field("v", pa.int64()), of="update")
    assert caught.value.column == "v"
    with pytest.raises(SchemaError, match="^update: No match for FieldRef"):
        project(ROWS, [pc.field("nothing")], ["a"], of="update")
