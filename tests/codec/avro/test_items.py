"""Values skipped, and the items of arrays and maps located."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hudiformat.codec.avro.cursors import PADDING, Cursors
from hudiformat.codec.avro.items import locate_items, read_branches, skip_values
from hudiformat.codec.avro.nodes import Node, Union, parse_schema
from hudiformat.errors import CorruptBlockError
from tests.codec.avro.builders import record_schema


def node_of(kind: Any) -> Node:
    return parse_schema(record_schema(("c", kind))).fields[0][1]


def cursors(*records: str) -> Cursors:
    datums = [bytes.fromhex(record) for record in records]
    ends = np.cumsum([len(datum) for datum in datums])
    return Cursors(np.frombuffer(b"".join(datums) + bytes(PADDING), np.uint8), np.append(0, ends[:-1]), ends)


@pytest.mark.parametrize(
    ("kind", "records"),
    [
        ("boolean", ["01", "00"]),
        ("long", ["02", "80 80 01"]),
        ("double", ["00" * 8, "01" * 8]),
        ("string", ["00", "04 61 62"]),
        (["null", "int"], ["00", "02 06"]),
        (["int", "string"], ["00 06", "02 02 61"]),
        ({"type": "fixed", "name": "f", "size": 3}, ["61 62 63", "64 65 66"]),
        ({"type": "enum", "name": "e", "symbols": ["A", "B"]}, ["00", "02"]),
        ({"type": "map", "values": "int"}, ["00", "02 02 61 06 00"]),
        ({"type": "record", "name": "i", "fields": [{"name": "a", "type": "int"}]}, ["02", "80 02"]),
    ],
)
def test_a_value_of_each_type_is_skipped(kind: Any, records: list[str]) -> None:
    whole = cursors(*records)
    skip_values(node_of(kind), whole, None)
    assert whole.pos.tolist() == whole.end.tolist()


def test_nothing_is_skipped_where_no_value_is_present() -> None:
    two = cursors("02 61", "02 62")
    skip_values(node_of("string"), two, np.array([False, True]))
    assert two.pos.tolist() == [0, 4]
    skip_values(node_of("string"), two, np.array([False, False]))
    assert two.pos.tolist() == [0, 4]


def test_the_items_of_several_blocks_are_located() -> None:
    three = cursors("04 02 04 00", "00", "02 06 02 08 00")  # [1, 2], [] and [3, 4] in two blocks
    rows, starts = locate_items(node_of("int"), three, None)
    assert (rows.tolist(), starts.tolist()) == ([0, 0, 2, 2], [1, 2, 6, 8])
    assert three.pos.tolist() == three.end.tolist()


def test_many_rows_are_located_as_few_are() -> None:
    record = "03 06 02 61 00 02 02 62 00"  # two strings in a block of three bytes that declares its size, and one more
    rows, starts = locate_items(node_of("string"), cursors(*[record] * 100), None)
    assert rows.tolist() == [row for row in range(100) for _ in range(3)]
    assert starts.tolist() == [9 * row + at for row in range(100) for at in (2, 4, 6)]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ("03 0c 02 61 00 00", "impossible size"),
        ("03 04 02 61 00 00", "does not have the size that it declares"),
        ("10 00", "more items than bytes are left"),
        ("04 02 61 0a 61", "an item is damaged"),
    ],
)
def test_a_damaged_block_of_items_is_refused(record: str, message: str) -> None:
    with pytest.raises(CorruptBlockError, match=message):
        locate_items(node_of("string"), cursors(record), None)


@pytest.mark.parametrize(("null_branch", "expected"), [(0, [True, False]), (1, [False, True])])
def test_the_branch_of_two_says_where_a_value_is(null_branch: int, expected: list[bool]) -> None:
    there = cursors("02", "00").branch_of_two(null_branch, None)
    assert there is not None
    assert there.tolist() == expected
    assert cursors("02" if null_branch == 0 else "00").branch_of_two(null_branch, None) is None


def test_other_unions_have_a_mask_for_each_branch() -> None:
    union = node_of(["null", "int", "string"])
    assert isinstance(union, Union)
    branches = read_branches(union, cursors("04", "00", "02"), None)
    assert [node is None for node, _ in branches] == [True, False, False]
    assert [chosen.tolist() for _, chosen in branches] == [
        [False, True, False],
        [False, False, True],
        [True, False, False],
    ]
    with pytest.raises(CorruptBlockError, match="a union has 3 branches"):
        read_branches(union, cursors("06"), None)
