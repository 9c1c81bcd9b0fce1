"""Which blocks of a slice count."""

from __future__ import annotations

import pyarrow as pa
import pytest

from hudiformat.blocks import BlockHeader, BlockType, HeaderKey, LogBlock, rollback_block
from hudiformat.errors import UnsupportedFeatureError
from hudiformat.merge import counting_blocks
from tests.merge.blocks import KEY, data, deletes

SCHEMA = pa.schema([KEY])
CORRUPT = LogBlock(BlockType.CORRUPT, BlockHeader(), b"junk", reason="damaged")


def block(instant: str) -> LogBlock:
    return data([("a",)], SCHEMA, instant=instant)


def test_data_and_delete_blocks_count_in_their_order() -> None:
    blocks = [block("2"), deletes(["a"], instant="1"), block("1")]
    assert counting_blocks(blocks) == blocks
    assert counting_blocks([]) == []


def test_corrupt_blocks_do_not_count() -> None:
    assert counting_blocks([CORRUPT, block("1"), CORRUPT]) == [block("1")]


def test_a_rollback_takes_back_what_stands_before_it() -> None:
    rollback = rollback_block(instant="3", target="1")
    assert counting_blocks([block("1"), block("2"), deletes(["a"], instant="1"), rollback]) == [block("2")]


def test_blocks_of_the_target_after_the_rollback_stay() -> None:
    rollback = rollback_block(instant="3", target="1")
    assert counting_blocks([block("1"), rollback, block("1")]) == [block("1")]


def test_a_rollback_of_nothing_changes_nothing() -> None:
    assert counting_blocks([rollback_block(instant="3", target="9"), block("1")]) == [block("1")]
    twice = [block("1"), *[rollback_block(instant="3", target="1")] * 2]
    assert counting_blocks(twice) == []


@pytest.mark.parametrize("kind", [BlockType.CDC_DATA])
def test_block_types_that_cannot_be_merged_are_refused_by_name(kind: BlockType) -> None:
    other = LogBlock(kind, BlockHeader({HeaderKey.INSTANT_TIME: "1"}), b"")
    with pytest.raises(UnsupportedFeatureError, match=f"type {kind.name} cannot be merged") as caught:
        counting_blocks([other])
    assert caught.value.feature == f"{kind.name} block"


def compacted(instant: str, *of: str) -> LogBlock:
    plain = block(instant)
    return plain._replace(header=BlockHeader({**plain.header, HeaderKey.COMPACTED_BLOCK_TIMES: ",".join(of)}))


def instants(*blocks: LogBlock) -> list[str | None]:
    return [found.instant for found in counting_blocks(blocks)]


def test_the_blocks_of_an_instant_stand_where_its_first_one_does() -> None:
    assert counting_blocks([block("1"), block("2"), deletes(["a"], instant="1")]) == [
        block("1"),
        deletes(["a"], instant="1"),
        block("2"),
    ]


def test_a_compacted_block_stands_where_the_newest_of_its_originals_stood() -> None:
    assert instants(block("1"), block("2"), block("4"), compacted("3", "1", "2")) == ["3", "4"]
    assert instants(block("1"), block("4"), block("2"), compacted("3", "1", "2")) == ["4", "3"]


def test_what_was_compacted_can_be_compacted_again() -> None:
    blocks = [block("1"), block("2"), compacted("3", "1", "2"), block("4"), compacted("5", "3", "4"), block("6")]
    assert instants(*blocks) == ["5", "6"]


def test_a_compacted_block_whose_originals_are_not_there_does_not_count() -> None:
    assert instants(compacted("3", "1", "2"), block("4")) == ["4"]
    assert instants(block("1"), compacted("3", "1"), rollback_block(instant="5", target="1")) == []


def test_a_compaction_that_was_taken_back_leaves_its_originals() -> None:
    rollback = rollback_block(instant="5", target="3")
    assert instants(block("1"), block("2"), compacted("3", "1", "2"), rollback) == ["1", "2"]


def test_blocks_of_instants_that_do_not_count_are_passed_over() -> None:
    blocks = [block("1"), block("2"), deletes(["a"], instant="3"), rollback_block(instant="4", target="1")]
    assert counting_blocks(blocks, counts=lambda instant: instant != "3") == [block("2")]
