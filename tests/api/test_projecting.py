from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudiformat import SchemaError
from hudiformat.api.projecting import projected, value_expression

ROWS = pa.table({"v": [1, 2], "w": ["x", "y"]})


def test_columns_get_literals_and_expressions() -> None:
    field = pa.field("v", pa.int64())
    values = [value_expression(5, field, of="update"), value_expression(pc.field("v") * 2, field, of="update")]
    assert projected(ROWS, values, ["a", "b"], of="update").to_pydict() == {"a": [5, 5], "b": [2, 4]}


def test_what_does_not_fit_is_named() -> None:
    with pytest.raises(SchemaError, match="^update: column 'v' of type int64 cannot be 'x'") as caught:
        value_expression("x", pa.field("v", pa.int64()), of="update")
    assert caught.value.column == "v"
    with pytest.raises(SchemaError, match="^update: No match for FieldRef"):
        projected(ROWS, [pc.field("nothing")], ["a"], of="update")
