"""A column as cells, and what stands in front of a record."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from hudiformat.avro.cells import Constant, Reference, Word, join, size
from hudiformat.avro.encoders import column_cells, head_and_length, length_prefix
from hudiformat.avro.nodes import parse_schema
from hudiformat.errors import EncodeError
from tests.avro.builders import record_schema


def test_a_nullable_column_has_a_cell_for_its_branch() -> None:
    [(_, node)] = parse_schema(record_schema(("c", ["null", "boolean"]))).fields
    [branch, value] = column_cells(node, pa.array([True, False]), None, "c")
    assert branch == Constant(b"\2")
    assert isinstance(value, Word)
    assert value.values.tolist() == [1, 0]
    assert column_cells(node, pa.nulls(2, pa.bool_()), None, "c") == [Constant(b"\0")]


def test_a_head_is_before_the_length_of_the_rows_that_begin_parts() -> None:
    heads = np.array([int.from_bytes(b"head0000", "little"), int.from_bytes(b"head2222", "little")], np.uint64)
    prefix = head_and_length(np.array([1, 2, 3]), np.array([0, 2]), heads)
    assert isinstance(prefix, Reference)
    data, ends = join([prefix], size([prefix], 3))
    assert data.tobytes() == b"head0000\0\0\0\1\0\0\0\2head2222\0\0\0\3"
    assert ends.tolist() == [0, 12, 16, 28]


def test_a_record_of_two_gigabytes_is_refused() -> None:
    for prefix in (length_prefix, lambda lengths: head_and_length(lengths, np.array([0]), np.zeros(1, np.uint64))):
        with pytest.raises(EncodeError, match="2147483648 bytes"):
            prefix(np.array([5, 2**31]))
