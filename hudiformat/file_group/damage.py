"""Read what is left of damaged files if damage is skipped (``hudiformat.damage=skip``); each loss is a warning."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

import pyarrow as pa

from hudiformat.codec.log.block import LogBlock
from hudiformat.codec.log.frame import BlockType
from hudiformat.codec.log.verify import positions_error
from hudiformat.errors import CorruptTableError, DecodeError, StorageError, warn
from hudiformat.storage.protocol import Storage


class DamageMode(Enum):
    """What a read does with damaged files (``hudiformat.damage``)."""

    HUDI = "hudi"
    """As Hudi does: corrupt blocks are skipped silently, other damage is an error."""
    FAIL = "fail"
    """All damage is an error."""
    SKIP = "skip"
    """Damage is skipped, and each loss is a warning."""


def sound_blocks(blocks: list[LogBlock], storage: Storage, group: str) -> list[LogBlock]:
    """Return the *blocks* of a file group that can be decoded, and warn of each block that cannot.

    If only the record positions of a block are damaged, the block is returned without them.
    """
    return [_with_sound_positions(block, storage, group) for block in blocks if _is_sound(block, storage, group)]


def _is_sound(block: LogBlock, storage: Storage, group: str) -> bool:
    try:
        block.deletes() if block.type is BlockType.DELETE else block.to_arrow()
    except DecodeError as error:
        warn_of_loss(f"{_describe_block(block)}, damaged inside: {error}", storage, group)
        return False
    return True


def _with_sound_positions(block: LogBlock, storage: Storage, group: str) -> LogBlock:
    """Return *block*; if its record positions are damaged, a copy without them, whose records are merged by key."""
    error = positions_error(block)
    if error is None:
        return block
    warn_of_loss(
        f"the record positions of {_describe_block(block)}, which is merged by keys instead: {error}", storage, group
    )
    return block.without_positions()


def _describe_block(block: LogBlock) -> str:
    return f"the {block.type.name} block of the instant {block.instant}"


def sound_rows(rows: Iterator[pa.RecordBatch], storage: Storage, path: str) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a base file up to the first damage, and warn of the rows after it."""
    count = 0
    try:
        for batch in rows:
            count += batch.num_rows
            yield batch
    except (CorruptTableError, StorageError) as error:
        warn_of_loss(f"all rows from row {count} on: {error}", storage, path)


def warn_of_loss(lost: str, storage: Storage, path: str) -> None:
    """Warn that something of a file, or of a file group, is *lost*."""
    warn(f"{storage.root}/{path}: lost to damage: {lost}")
