"""Schemas as tables of numbers."""

from __future__ import annotations

from typing import Any

import pytest

from hudiformat.codec.avro.compiled.encoding import (
    BRANCH,
    COUNT,
    FIRST,
    FIXED,
    KIND,
    LIST,
    LONG,
    NONE,
    RECORD,
    SHARED,
    TEXT,
    UNION,
)
from hudiformat.codec.avro.compiled.node_table import table_of
from tests.codec.avro.builders import record_schema

_ENUM = {"type": "enum", "name": "e", "symbols": ["A"]}


def test_the_fields_of_a_record_are_next_to_each_other() -> None:
    table = table_of(record_schema(("id", "string"), ("tags", ["null", {"type": "array", "items": "long"}])))
    assert table is not None
    assert table[:, KIND].tolist() == [RECORD, TEXT, LIST, LONG]
    assert table[:, BRANCH].tolist() == [NONE, NONE, 0, NONE]
    assert table[[0, 2], FIRST].tolist() == [1, 3]
    assert table[[0, 2], COUNT].tolist() == [2, 1]


def test_other_types() -> None:
    kinds = [["string", "null"], {"type": "map", "values": "int"}, ["int", "null", "string"]]
    fixed = {"type": "fixed", "name": "f", "size": 5}
    table = table_of(
        record_schema(*[(name, kind) for name, kind in zip("abc", kinds, strict=True)], ("d", fixed)), (0,)
    )
    assert table is not None
    assert table[1:5, KIND].tolist() == [SHARED, LIST, UNION, FIXED]
    assert table[1:5, BRANCH].tolist() == [1, NONE, 1, NONE]
    assert table[3:5, COUNT].tolist() == [2, 5]


@pytest.mark.parametrize("kind", [_ENUM, ["null", _ENUM], {"type": "array", "items": ["int", _ENUM]}])
def test_enums_are_left_to_numpy(kind: Any) -> None:
    assert table_of(record_schema(("c", kind))) is None


def test_unions_whose_branches_take_two_bytes_are_left_to_numpy() -> None:
    branches = [{"type": "fixed", "name": f"f{size}", "size": size} for size in range(1, 65)]
    assert table_of(record_schema(("c", branches))) is None
    assert table_of(record_schema(("c", branches[:-1]))) is not None
