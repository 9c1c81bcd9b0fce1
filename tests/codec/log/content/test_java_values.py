"""Deletes with values of Java objects, as columns."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from hudiformat.codec.log.content.java_values import Delete, Float, Long, to_batch
from hudiformat.errors import CorruptBlockError


def ordering(*values: Any) -> pa.Array:
    deletes: list[Delete] = [(f"k{row}", None, value) for row, value in enumerate(values)]
    batch = to_batch(deletes)
    assert batch.schema.names == ["record_key", "partition_path", "ordering"]
    assert batch["record_key"].to_pylist() == [f"k{row}" for row in range(len(values))]
    assert batch["partition_path"].null_count == len(values)
    return batch["ordering"]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([], pa.int32()),
        ([1, None], pa.int32()),
        ([Long(1), Long(0)], pa.int64()),
        ([Float(0.5)], pa.float32()),
        ([0.5], pa.float64()),
        (["a"], pa.string()),
        ([b"a"], pa.binary()),
    ],
)
def test_a_column_has_the_type_of_the_java_values(values: list[Any], kind: pa.DataType) -> None:
    assert ordering(*values).equals(pa.array(values, kind))


def test_int_zero_is_null_only_among_values_of_other_types() -> None:
    assert ordering(0, 5).to_pylist() == [0, 5]
    assert ordering(0, "a").to_pylist() == [None, "a"]


def test_several_ordering_values_are_a_struct() -> None:
    assert ordering([1, "a"], None, [2, "b"]).to_pylist() == [
        {"field0": 1, "field1": "a"},
        None,
        {"field0": 2, "field1": "b"},
    ]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([["a"], ["a", "b"]], "different numbers of ordering fields"),
        ([["a"], "a"], "different numbers of ordering fields"),
        ([1, "a"], "do not fit into one column"),
    ],
)
def test_values_that_make_no_column_are_corrupt(values: list[Any], message: str) -> None:
    with pytest.raises(CorruptBlockError, match=message):
        ordering(*values)
