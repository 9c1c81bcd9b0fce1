"""Merging by record positions, where they are about the base file that is there."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pytest

from hudiformat.basefile import as_base_rows
from hudiformat.blocks import BlockHeader, HeaderKey, LogBlock
from hudiformat.blocks.block import encode_positions
from hudiformat.merge import MergeRule, merge_slice, read_candidates, survivors
from hudiformat.timeline import MergeMode
from tests.merge.blocks import KEY, data, deletes, keys_of

SCHEMA = pa.schema([KEY, ("o", pa.int64()), ("row", pa.int64())])
RULE = MergeRule(MergeMode.EVENT_TIME_ORDERING, keys_of, ("o",))
BASE = pa.table({"k": ["a", "a", "b", "b"], "o": [5, 5, 5, 5], "row": [1, 2, 3, 4]}, schema=SCHEMA)


def at(block: LogBlock, positions: Iterable[int], instant: str = "7") -> LogBlock:
    header = {
        **block.header,
        HeaderKey.RECORD_POSITIONS: encode_positions(positions),
        HeaderKey.BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS: instant,
    }
    return block._replace(header=BlockHeader(header))


def rows(blocks: list[LogBlock], *, base_instant: str | None = "7") -> list[int]:
    logs = survivors(read_candidates(blocks, SCHEMA, RULE, base_instant=base_instant), RULE)
    found = pa.Table.from_batches(merge_slice(as_base_rows(BASE.to_batches(3)), logs, RULE), SCHEMA)["row"].to_pylist()
    return sorted(found)


def update(*numbers: int, ordering: int = 6) -> LogBlock:
    return data([("a", ordering, number) for number in numbers], SCHEMA)


def test_positions_say_which_of_several_rows_with_one_key_is_meant() -> None:
    assert rows([at(update(9), [1])]) == [1, 3, 4, 9]
    assert rows([at(update(8, 9), [1, 3])]) == [1, 3, 8, 9]
    assert rows([at(deletes(["b"]), [3]), at(update(9, ordering=4), [0])]) == [1, 2, 3]


def test_entries_about_one_position_are_merged() -> None:
    assert rows([at(update(8), [2]), at(update(9, ordering=7), [2]), at(update(10), [2])]) == [1, 2, 4, 9]


def test_positions_in_another_base_file_are_not_used() -> None:
    assert rows([at(update(9), [1], instant="6")]) == [2, 3, 4, 9]
    assert rows([at(update(9), [1])], base_instant=None) == [2, 3, 4, 9]


@pytest.mark.parametrize("other", [update(10), deletes(["b"])], ids=["data", "deletes"])
def test_a_block_without_positions_makes_all_merge_by_key(other: LogBlock) -> None:
    assert rows([at(update(9), [1]), other]) == rows([update(9), other])


def test_positions_that_are_too_few_are_not_used() -> None:
    assert rows([at(update(9, 10, ordering=6), [1])]) == rows([update(9, 10)])


def test_a_position_behind_the_base_file_is_a_new_row() -> None:
    assert rows([at(update(9), [99])]) == [1, 2, 3, 4, 9]
