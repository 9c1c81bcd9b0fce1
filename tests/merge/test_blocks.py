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


@pytest.mark.parametrize(
    ("key", "feature"),
    [
        (HeaderKey.IS_PARTIAL, "partial updates (IS_PARTIAL)"),
        (HeaderKey.COMPACTED_BLOCK_TIMES, "log compaction (COMPACTED_BLOCK_TIMES)"),
    ],
)
def test_headers_that_change_the_merge_are_refused_by_name(key: HeaderKey, feature: str) -> None:
    for plain in (block("1"), deletes(["a"])):
        marked = plain._replace(header=BlockHeader({**plain.header, key: "true"}))
        with pytest.raises(UnsupportedFeatureError) as caught:
            counting_blocks([marked])
        assert caught.value.feature == feature


@pytest.mark.parametrize("kind", [BlockType.CDC_DATA])
def test_block_types_that_cannot_be_merged_are_refused_by_name(kind: BlockType) -> None:
    other = LogBlock(kind, BlockHeader({HeaderKey.INSTANT_TIME: "1"}), b"")
    with pytest.raises(UnsupportedFeatureError, match=f"type {kind.name} cannot be merged") as caught:
        counting_blocks([other])
    assert caught.value.feature == f"{kind.name} block"


def test_what_is_taken_back_is_looked_at_all_the_same() -> None:
    partial = block("1")._replace(header=BlockHeader({HeaderKey.INSTANT_TIME: "1", HeaderKey.IS_PARTIAL: "true"}))
    with pytest.raises(UnsupportedFeatureError):
        counting_blocks([partial, rollback_block(instant="2", target="1")])
