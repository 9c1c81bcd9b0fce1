"""Log files of several slices that are merged together give the rows that they give one by one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudiformat.codec.log.block import LogBlock
from hudiformat.codec.log.frame import BlockHeader, HeaderKey
from hudiformat.errors import DecodeError
from hudiformat.file_group.base_file.read import to_base_rows
from hudiformat.file_group.merging.candidates import read_candidates
from hudiformat.file_group.merging.rule import MergeRule
from hudiformat.file_group.merging.slice import MergedLog, merge_log_entries, merge_slice
from hudiformat.file_group.merging.together import SliceLog, merge_together
from hudiformat.timeline.table_config import MergeMode
from tests.effort import examples
from tests.file_group.merging.blocks import KEY, at, data, deletes, keys_of

SCHEMA = pa.schema([KEY, pa.field("o", pa.int64())])
BY_EVENT = MergeRule(MergeMode.EVENT_TIME_ORDERING, keys_of, ("o",))
BY_COMMIT = MergeRule(MergeMode.COMMIT_TIME_ORDERING, keys_of)
COUNT = 6
BASE = pa.RecordBatch.from_pydict({"k": [f"k{number}" for number in range(COUNT)], "o": [5, 3, 5, 1, 4, 2]}, SCHEMA)

entries = st.dictionaries(st.integers(0, COUNT - 1), st.integers(0, 9) | st.none(), min_size=1, max_size=3)
writes = st.lists(st.tuples(st.booleans(), entries), max_size=4)


def block_of(is_delete: bool, found: dict[int, int | None], instant: int) -> LogBlock:
    places = sorted(found)
    keys, values = [f"k{place}" for place in places], [found[place] for place in places]
    if is_delete:
        return at(deletes(keys, pa.array(values, pa.int64()), instant=str(instant)), places)
    return at(data(list(zip(keys, values, strict=True)), SCHEMA, instant=str(instant)), places)


def rows_of(logs: MergedLog, rule: MergeRule) -> list[dict[str, object]]:
    return pa.Table.from_batches(merge_slice(to_base_rows([BASE]), logs, rule), SCHEMA).to_pylist()


@settings(max_examples=examples(60))
@given(written=st.lists(writes, min_size=1, max_size=4), rule=st.sampled_from([BY_EVENT, BY_COMMIT]))
def test_slices_merged_together_have_the_rows_of_each(
    written: list[list[tuple[bool, dict[int, int | None]]]], rule: MergeRule
) -> None:
    logs = [[block_of(*write, instant) for instant, write in enumerate(one)] for one in written]
    together = merge_together([SliceLog(blocks, "7") for blocks in logs], SCHEMA, rule)
    assert together is not None
    for blocks, found in zip(logs, together, strict=True):
        alone = merge_log_entries(read_candidates(blocks, SCHEMA, rule, base_instant="7"), rule)
        assert rows_of(found, rule) == rows_of(alone, rule)
        everything = np.ones(len(alone), np.bool_)
        assert found.lowest_ordering(everything) == alone.lowest_ordering(everything)


def test_blocks_of_one_schema_are_decoded_into_one_batch_for_all_slices() -> None:
    logs = [SliceLog([block_of(False, {1: 9}, 1)], "7"), SliceLog([], "7"), SliceLog([block_of(False, {1: 8}, 1)], "7")]
    together = merge_together(logs, SCHEMA, BY_EVENT)
    assert together is not None
    assert [[batch.to_pylist() for batch in one.records] for one in together] == [
        [[{"k": "k1", "o": 9}]],
        [],
        [[{"k": "k1", "o": 8}]],
    ]
    assert together[0].records[0]["o"].buffers()[1].address == together[2].records[0]["o"].buffers()[1].address


def test_deletes_with_values_of_several_types_keep_their_own() -> None:
    logs = [
        SliceLog([at(deletes(["k1"]), [1])], "7"),
        SliceLog([at(deletes(["k1"], pa.array([2])), [1])], "7"),
        SliceLog([at(deletes(["k1"], pa.array([9])), [1])], "7"),
    ]
    together = merge_together(logs, SCHEMA, BY_EVENT)
    assert together is not None
    assert [len(rows_of(one, BY_EVENT)) for one in together] == [COUNT - 1, COUNT, COUNT - 1]


GOOD = SliceLog([block_of(False, {1: 9}, 1)], "7")


@pytest.mark.parametrize(
    "blocks",
    [
        [data([("k2", 9)], SCHEMA)],
        [at(data([("k2", 9)], SCHEMA), [2], "6")],
        [at(data([("k2", 9)], SCHEMA), [2, 3])],
        [at(deletes(["k1"]), [1, 4])],
        [at(data([("k2", 9)], SCHEMA), [1 << 40])],
        [at(data([("k2", 9)], SCHEMA), [1 << 63])],
    ],
    ids=["no positions", "of another file", "too many for records", "too many for deletes", "too large", "negative"],
)
def test_slices_without_sound_positions_are_merged_one_by_one(blocks: list[LogBlock]) -> None:
    assert merge_together([GOOD, SliceLog(blocks, "7")], SCHEMA, BY_EVENT) is None


def test_slices_with_partial_records_are_merged_one_by_one() -> None:
    block = GOOD.blocks[0]
    partial = block._replace(header=BlockHeader({**block.header, HeaderKey.IS_PARTIAL: "true"}))
    assert merge_together([GOOD, SliceLog([partial], "7")], SCHEMA, BY_EVENT) is None


def test_a_damaged_block_is_an_error() -> None:
    block = GOOD.blocks[0]
    torn = block._replace(content=bytes(block.content[:-1]))
    with pytest.raises(DecodeError):
        merge_together([GOOD, SliceLog([torn], "7")], SCHEMA, BY_EVENT)
