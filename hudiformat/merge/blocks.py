"""Which blocks of a slice's log files count, and in which order.  Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from hudiformat.blocks import BlockType, HeaderKey, LogBlock
from hudiformat.errors import UnsupportedFeatureError

_ByInstant = dict[str, list[LogBlock]]


def counting_blocks(blocks: Iterable[LogBlock], *, counts: Callable[[str], bool] | None = None) -> list[LogBlock]:
    """The data and delete blocks that count among *blocks*, which come file by file, in merge order.

    *counts* says of an instant whether its blocks do; without it all do.  Corrupt blocks do not, as in Hudi.  The
    blocks of an instant stand together, where its first one stands.  A rollback block takes back the blocks of its
    target instant that stand before it; those after it stay (hudi#7729).  Blocks that a log compaction made take the
    place of the newest instant that they stand for.

    Raises:
        UnsupportedFeatureError: a block that cannot be merged here.

    Source: BaseHoodieLogRecordReader.scanInternal.
    """
    by_instant: _ByInstant = {}
    for block in blocks:
        if block.type is BlockType.COMMAND:
            by_instant.pop(block.target_instant or "", None)
        elif block.type is not BlockType.CORRUPT and (counts is None or counts(block.instant or "")):
            _refuse_unsupported(block)
            by_instant.setdefault(block.instant or "", []).append(block)
    newest_first = list(_instants_that_stand(by_instant))
    return [block for instant in reversed(newest_first) for block in by_instant[instant]]


def _instants_that_stand(by_instant: _ByInstant) -> Iterator[str]:
    """From the newest to the oldest, with compacted ones in the place of those they were made of.

    A compacted instant may have been compacted again: what was made of it last is what counts.
    """
    made_into: dict[str, str] = {}
    seen = set()
    for instant in reversed(by_instant):
        first = by_instant[instant][0]
        if HeaderKey.COMPACTED_BLOCK_TIMES in first.header:
            made_into |= dict.fromkeys(first.compacted_instants, made_into.get(instant, instant))
        elif (standing := made_into.get(instant, instant)) not in seen:
            seen.add(standing)
            yield standing


def _refuse_unsupported(block: LogBlock) -> None:
    if block.type is BlockType.CDC_DATA:
        feature = f"{block.type.name} block"
        raise UnsupportedFeatureError(f"a log block of type {block.type.name} cannot be merged", feature=feature)
