"""Columns put together from pieces equal those that Arrow puts together."""

from __future__ import annotations

import pyarrow as pa
import pytest

from hudiformat.codec.avro.columns import column_of
from hudiformat.codec.avro.nodes import Nullable, parse_schema

FULL, NONE = [1] * 8, [None] * 8
SOME = [None, 2, 3, None, 5, 6, 7, None]


def _node(kind: object) -> Nullable:
    text = f'{{"type": "record", "name": "r", "fields": [{{"name": "f", "type": ["null", {kind}]}}]}}'
    [(_, node)] = parse_schema(text).fields
    assert isinstance(node, Nullable)
    return node


@pytest.mark.parametrize(
    "kind",
    [
        '"boolean"',
        '"int"',
        '"long"',
        '"double"',
        '"string"',
        '"bytes"',
        '{"type": "fixed", "name": "x", "size": 3}',
        '{"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 0}',
        '{"type": "enum", "name": "e", "symbols": ["1", "2"]}',
    ],
)
@pytest.mark.parametrize("values", [(FULL, FULL, [1]), (FULL, SOME, NONE), (NONE, FULL), (SOME, [None, 3]), (NONE,)])
def test_pieces_become_a_column(kind: str, values: tuple[list[int | None], ...]) -> None:
    node = _node(kind)
    pieces = [_array(part, node.arrow) for part in values]
    column = column_of(node, sum(map(len, pieces)))
    for piece in pieces:
        column.add(piece)
    found = column.array()
    found.validate(full=True)
    assert found == pa.concat_arrays(pieces)


def _array(values: list[int | None], kind: pa.DataType) -> pa.Array:
    if not any(values):
        return pa.nulls(len(values), kind)
    if pa.types.is_boolean(kind):
        return pa.array([None if value is None else value % 2 == 0 for value in values], kind)
    if pa.types.is_decimal(kind):
        return pa.array(values, pa.int32()).cast(pa.decimal128(10, 0)).cast(kind)
    if pa.types.is_fixed_size_binary(kind):
        return pa.array([None if value is None else b"%3d" % value for value in values], kind)
    number = pa.array(values, pa.int64())
    text = pa.types.is_string(kind) or pa.types.is_binary(kind)
    return (number.cast(pa.string()) if text else number).cast(kind)


def test_a_text_column_whose_later_pieces_are_longer_moves() -> None:
    pieces = [pa.array([size * "x"] * 8) for size in (1, 2, 300, 0, 7)]
    column = column_of(_node('"string"'), 40)
    for piece in pieces:
        column.add(piece)
    assert column.array() == pa.concat_arrays(pieces)
