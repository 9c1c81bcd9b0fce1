"""Read damaged files as the option ``hudiformat.damage`` says; if damage is skipped, each loss is a warning."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

import pyarrow as pa

from hudiformat.codec.log.block import LogBlock
from hudiformat.codec.log.frame import BlockType
from hudiformat.codec.log.reader import LogReader
from hudiformat.codec.log.verify import positions_error
from hudiformat.errors import CorruptBlockError, CorruptTableError, DecodeError, StorageError, warn
from hudiformat.storage.protocol import Storage


class DamageMode(Enum):
    """What a read does with damaged files (``hudiformat.damage``)."""

    HUDI = "hudi"
    """As Hudi does: corrupt blocks are skipped silently, other damage is an error."""
    FAIL = "fail"
    """All damage is an error."""
    SKIP = "skip"
    """Damage is skipped, and each loss is a warning."""


def log_blocks(storage: Storage, path: str, *, damage: DamageMode) -> Iterator[LogBlock]:
    """Yield the blocks of a log file.

    Raises:
        CorruptBlockError: a span of the file cannot be read, and *damage* is FAIL.
        StorageError: there is no such file, and *damage* is not SKIP.
    """
    try:
        reader = LogReader(path, storage=storage)
    except StorageError as error:
        if damage is not DamageMode.SKIP:
            raise
        warn_of_loss(f"all of its records, as it cannot be opened: {error}", storage, path)
        return
    for block in reader:
        if block.type is not BlockType.CORRUPT or damage is DamageMode.HUDI:
            yield block
            continue
        why = block.fault or block.reason or ""
        if damage is DamageMode.FAIL:
            raise CorruptBlockError(
                f"{storage.root}/{path}: {block.size} bytes are no block: {why}; Hudi passes over them, and so"
                " does reading without hudiformat.damage=fail",
                offset=block.offset,
                path=f"{storage.root}/{path}",
            )
        else:
            warn_of_loss(
                f"{block.size} bytes at byte {block.offset}, which are no block: {why}",
                storage,
                path,
            )


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
