"""Rows that are counted without reading a base file are as many as the merged rows."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudiformat.codec.log.block import LogBlock
from hudiformat.file_group.base_file.filters import HIGHEST
from hudiformat.file_group.base_file.read import to_base_rows
from hudiformat.file_group.merging.candidates import read_candidates
from hudiformat.file_group.merging.counting import count_by_position
from hudiformat.file_group.merging.rule import MergeRule, PartialUpdate
from hudiformat.file_group.merging.slice import merge_log_entries, merge_slice
from hudiformat.timeline.table_config import MergeMode
from tests.effort import examples
from tests.file_group.merging.blocks import KEY, at, data, deletes, keys_of

SCHEMA = pa.schema([KEY, pa.field("o", pa.int64())])
BY_EVENT = MergeRule(MergeMode.EVENT_TIME_ORDERING, keys_of, ("o",))
BY_COMMIT = MergeRule(MergeMode.COMMIT_TIME_ORDERING, keys_of)
COUNT = 6
BASE = pa.RecordBatch.from_pydict({"k": [f"k{number}" for number in range(COUNT)], "o": [5, 3, 5, 1, 4, 2]}, SCHEMA)
MOST = 5


def told(blocks: list[LogBlock], rule: MergeRule, *, highest: int = MOST, rows: int = COUNT) -> int | None:
    return count_by_position(blocks, SCHEMA, rule, base_instant="7", rows=rows, highest=highest)


def merged(blocks: list[LogBlock], rule: MergeRule) -> int:
    logs = merge_log_entries(read_candidates(blocks, SCHEMA, rule, base_instant="7"), rule)
    return sum(batch.num_rows for batch in merge_slice(to_base_rows([BASE]), logs, rule))


entries = st.dictionaries(st.integers(0, COUNT - 1), st.integers(0, 9) | st.none(), min_size=1, max_size=3)


@settings(max_examples=examples(60))
@given(written=st.lists(st.tuples(st.booleans(), entries), max_size=4), rule=st.sampled_from([BY_EVENT, BY_COMMIT]))
def test_what_is_told_is_the_number_of_merged_rows(written: list[tuple[bool, dict[int, int]]], rule: MergeRule) -> None:
    blocks = []
    for instant, (is_delete, found) in enumerate(written):
        places = sorted(found)
        keys, values = [f"k{place}" for place in places], [found[place] for place in places]
        if is_delete:
            block = deletes(keys, pa.array(values, pa.int64()), instant=str(instant))
        else:
            block = data(list(zip(keys, values, strict=True)), SCHEMA, instant=str(instant))
        blocks.append(at(block, places))
    count = told(blocks, rule)
    assert count in (None, merged(blocks, rule))
    if rule is BY_COMMIT or all(value is None or value >= MOST for _, found in written for value in found.values()):
        assert count is not None


DELETE = at(deletes(["k1"], pa.array([5])), [1])
RECORD = at(data([("k2", 9)], SCHEMA), [2])


def test_a_delete_wins_over_rows_up_to_its_ordering_value() -> None:
    assert told([DELETE, RECORD], BY_EVENT) == COUNT - 1
    assert told([DELETE, RECORD], BY_EVENT, highest=6) is None
    assert told([DELETE, RECORD], BY_EVENT, highest=HIGHEST) is None
    assert told([RECORD], BY_EVENT, highest=HIGHEST) == COUNT
    assert told([at(deletes(["k1"]), [1])], BY_EVENT, highest=HIGHEST) == COUNT - 1  # it has no ordering value


@pytest.mark.parametrize(
    "blocks",
    [
        [RECORD, deletes(["k1"])],
        [at(data([("k2", 9)], SCHEMA), [2], "6")],
        [at(data([("k2", 9)], SCHEMA), [2, 3])],
        [RECORD, at(deletes(["k1"]), [1, 4])],
        [at(data([("k9", 9)], SCHEMA), [COUNT])],
    ],
    ids=["no positions", "of another file", "too many for records", "too many for deletes", "behind the file"],
)
def test_positions_that_are_not_those_of_the_entries_tell_nothing(blocks: list[LogBlock]) -> None:
    assert told(blocks, BY_EVENT) is None


def test_rows_that_other_columns_decide_are_merged() -> None:
    for rule in (
        replace(BY_EVENT, delete_column="d"),
        replace(BY_EVENT, operation_column="_hoodie_operation"),
        replace(BY_EVENT, partial=PartialUpdate(frozenset("o"))),
    ):
        assert told([RECORD], rule) is None
