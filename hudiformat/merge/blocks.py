"""Which blocks of a slice's log files count.  Pure."""

from __future__ import annotations

from collections.abc import Iterable

from hudiformat.blocks import BlockType, HeaderKey, LogBlock
from hudiformat.errors import UnsupportedFeatureError

_REFUSED = {
    HeaderKey.IS_PARTIAL: "partial updates (IS_PARTIAL)",
    HeaderKey.COMPACTED_BLOCK_TIMES: "log compaction (COMPACTED_BLOCK_TIMES)",
}


def counting_blocks(blocks: Iterable[LogBlock]) -> list[LogBlock]:
    """The data and delete blocks that count among *blocks*, which come in merge order.

    Corrupt blocks do not, as in Hudi.  A rollback block takes back the blocks of its target instant that stand before
    it; those after it stay (hudi#7729).

    Raises:
        UnsupportedFeatureError: a block that cannot be merged here.

    Source: BaseHoodieLogRecordReader.scanInternalV1.
    """
    kept: list[LogBlock] = []
    for block in blocks:
        if block.type is BlockType.COMMAND:
            kept = [earlier for earlier in kept if earlier.instant != block.target_instant]
        elif block.type is not BlockType.CORRUPT:
            _refuse_unsupported(block)
            kept.append(block)
    return kept


def _refuse_unsupported(block: LogBlock) -> None:
    for key, feature in _REFUSED.items():
        if key in block.header:
            raise UnsupportedFeatureError(f"a log block with {feature} cannot be merged yet", feature=feature)
    if block.type is BlockType.CDC_DATA:
        feature = f"{block.type.name} block"
        raise UnsupportedFeatureError(f"a log block of type {block.type.name} cannot be merged yet", feature=feature)
