"""Rows of one write that have the same key are merged column by column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hudiformat.file_group.merging.combining import merge_rows
from hudiformat.file_group.merging.delete_markers import DeleteMarker
from hudiformat.file_group.merging.rule import MergeRule, PartialUpdate
from hudiformat.timeline.table_config import MergeMode
from tests.file_group.merging.blocks import keys_of

EVENT, COMMIT = MergeMode.EVENT_TIME_ORDERING, MergeMode.COMMIT_TIME_ORDERING
SCHEMA = pa.schema([("o", pa.int64()), ("a", pa.string()), ("b", pa.string()), ("op", pa.string())])
MARKER = DeleteMarker("op", "D")
Row = tuple[int, str | None, str | None, str]


def merged(codes: list[int], rows: list[Row], mode: MergeMode = EVENT, **partial: Any) -> list[tuple[int, Row]]:
    """The merged rows, each after the index of the row that counts."""
    rule = MergeRule(
        mode,
        keys_of,
        ("o",) if mode is EVENT else (),
        delete_marker=MARKER,
        partial=PartialUpdate(frozenset("ab"), **partial),
    )
    table = pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], SCHEMA)
    counting, found = merge_rows(table, np.array(codes, np.int64), rule)
    return list(zip(counting.tolist(), [tuple(row.values()) for row in found.to_pylist()], strict=True))


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (EVENT, [(1, (2, "x", "y", "U")), (2, (5, "p", "q", "U"))]),
        (COMMIT, [(1, (2, "x", "y", "U")), (3, (4, "r", "q", "U"))]),
    ],
)
def test_the_row_that_counts_takes_what_it_does_not_set_from_the_other(mode: MergeMode, expected: Any) -> None:
    rows: list[Row] = [(1, "x", None, "U"), (2, None, "y", "U"), (5, "p", "q", "U"), (4, "r", None, "U")]
    assert merged([7, 7, 3, 3], rows, mode) == expected


def test_a_marker_of_unavailable_values_is_filled() -> None:
    rows: list[Row] = [(1, "x", "y", "U"), (2, "?", None, "U"), (3, "?", "z", "U")]
    assert merged([0, 0, 0], rows, marker="?") == [(2, (3, "x", "z", "U"))]


def test_a_delete_neither_gives_values_nor_takes_them() -> None:
    rows: list[Row] = [
        (1, "x", "y", "U"),
        (2, None, None, "D"),
        (3, "z", None, "U"),
        (1, "x", "y", "U"),
        (9, None, "b", "D"),
    ]
    assert merged([0, 0, 0, 1, 1], rows) == [(2, (3, "z", None, "U")), (4, (9, None, "b", "D"))]


def test_a_payload_class_combines_deletes_in_turn() -> None:
    """If the delete has the higher ordering value, the newer row counts, whichever it is; else it only fills."""
    of_payload: dict[str, Any] = {"as_payload": True}
    assert merged([0, 0], [(9, None, None, "D"), (1, "x", None, "U")], **of_payload) == [(1, (1, "x", None, "U"))]
    assert merged([0, 0], [(1, "x", None, "U"), (9, None, None, "D")], **of_payload) == [(1, (9, None, None, "D"))]
    assert merged([0, 0], [(9, "x", None, "U"), (1, "y", "b", "D")], **of_payload) == [(0, (9, "x", "b", "U"))]
    rows: list[Row] = [(1, "x", None, "U"), (9, None, "b", "D"), (2, "y", None, "U"), (5, "k", None, "U")]
    assert merged([0, 0, 0, 1], rows, **of_payload) == [(2, (2, "y", None, "U")), (3, (5, "k", None, "U"))]


def test_keys_without_deletes_are_merged_beside_those_with_deletes() -> None:
    rows: list[Row] = [(1, "x", None, "U"), (1, "k", None, "D"), (2, None, "y", "U"), (3, "l", "m", "U")]
    assert merged([0, 1, 0, 1], rows, as_payload=True) == [(2, (2, "x", "y", "U")), (3, (3, "l", "m", "U"))]
