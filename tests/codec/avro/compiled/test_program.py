"""Schemas as programs."""

from __future__ import annotations

from typing import Any

import pytest

from hudiformat.codec.avro.compiled import layout
from hudiformat.codec.avro.compiled.program import Program, program_for
from tests.codec.avro.builders import record_schema

_TEXT_OR_NULL = ["null", "string"]
_INTS = {"type": "array", "items": ["int", "null"]}
_FIXED = {"type": "fixed", "name": "f", "size": 3}


def program(*kinds: Any, wanted: str | None = None, views: bool = False) -> Program:
    names = "abcdefg"[: len(kinds)]
    found = program_for(
        record_schema(*zip(names, kinds, strict=True)), frozenset(wanted or names if wanted != "" else ""), views=views
    )
    assert found is not None
    return found


def rows(found: Program, *columns: int) -> list[list[int]]:
    return [[int(row[column // 8]) for column in columns] for row in found.table]


def test_a_nullable_string_and_a_list_of_nullable_ints() -> None:
    found = program(_TEXT_OR_NULL, _INTS)
    assert rows(found, layout.KIND, layout.NULL, layout.NEXT, layout.FRAME, layout.ARGUMENT) == [
        [layout.TEXT, 0, 1, 0, 1],
        [layout.LIST, -1, 4, 0, 1],
        [layout.INT, 2, 3, 1, 0],
        [layout.END, -1, 4, 1, 1],
    ]
    assert (found.frames, found.whole) == (2, True)


def test_values_are_skipped_in_runs_by_what_tells_their_size() -> None:
    found = program("double", _FIXED, ["null", "float"], "long", "bytes", "int", wanted="f")
    assert rows(found, layout.KIND, layout.NULL, layout.NEXT, layout.ARGUMENT) == [
        [layout.SKIP_RUN, -1, 5, 0],
        [layout.SKIP_FIXED, -1, 2, 11],
        [layout.SKIP_FIXED, 0, 3, 4],
        [layout.SKIP_VARINT, -1, 4, 0],
        [layout.SKIP_TEXT, -1, 5, 0],
        [layout.INT, -1, 6, 0],
    ]


def test_records_that_can_be_null_are_skipped_as_a_whole() -> None:
    inner = {"type": "record", "name": "i", "fields": [{"name": "x", "type": "int"}, {"name": "y", "type": "string"}]}
    found = program(["null", inner], {"type": "array", "items": {**inner, "name": "j"}}, "int", wanted="c")
    assert rows(found, layout.KIND, layout.NEXT, layout.FRAME) == [
        [layout.RECORD, 4, 0],
        [layout.SKIP_RUN, 4, 0],
        [layout.SKIP_VARINT, 3, 0],
        [layout.SKIP_TEXT, 4, 0],
        [layout.LIST, 9, 0],
        [layout.SKIP_RUN, 8, 1],
        [layout.SKIP_VARINT, 7, 1],
        [layout.SKIP_TEXT, 8, 1],
        [layout.END, 9, 1],
        [layout.INT, 10, 0],
    ]


def test_a_run_ends_where_a_record_that_can_be_null_ends() -> None:
    inner = {"type": "record", "name": "i", "fields": [{"name": "x", "type": "int"}]}
    found = program(["null", inner], "int", "string", "int", "int", wanted="ce")
    assert rows(found, layout.KIND, layout.NEXT) == [
        [layout.RECORD, 3],
        [layout.SKIP_RUN, 3],
        [layout.SKIP_VARINT, 3],
        [layout.SKIP_RUN, 5],
        [layout.SKIP_VARINT, 5],
        [layout.TEXT, 6],
        [layout.SKIP_RUN, 8],
        [layout.SKIP_VARINT, 8],
        [layout.INT, 9],
    ]


def test_fields_behind_the_last_wanted_one_are_not_read() -> None:
    found = program("int", "int", "int", wanted="b")
    assert rows(found, layout.KIND) == [[layout.SKIP_RUN], [layout.SKIP_VARINT], [layout.INT]]
    assert not found.whole
    assert len(program("int", wanted="").table) == 0


def test_the_fewest_bytes_of_a_record_are_known() -> None:
    inner = {"type": "record", "name": "i", "fields": [{"name": "x", "type": "double"}, {"name": "y", "type": "int"}]}
    assert program("boolean", _TEXT_OR_NULL, _INTS, _FIXED, inner, "string").least == 1 + 1 + 1 + 3 + 9 + 1
    assert program(inner, "int", "int", wanted="b").least == 9 + 1


def test_only_columns_become_views() -> None:
    found = program("string", {"type": "array", "items": "string"}, "bytes", views=True)
    assert rows(found, layout.KIND) == [[layout.VIEW], [layout.LIST], [layout.TEXT], [layout.END], [layout.VIEW]]


_UNION = ["null", "int", "string"]
_LARGE_DECIMAL = {"type": "fixed", "name": "f", "size": 17, "logicalType": "decimal", "precision": 38}


@pytest.mark.parametrize("kind", [_UNION, _LARGE_DECIMAL, {"type": "array", "items": _UNION}], ids=str)
def test_what_kernels_do_not_know_has_no_program(kind: Any) -> None:
    assert program_for(record_schema(("c", kind)), frozenset("c"), views=False) is None


def test_a_union_cannot_be_skipped_either() -> None:
    assert program_for(record_schema(("a", _UNION), ("b", "int")), frozenset("b"), views=False) is None
