"""What a query does with damaged files, by the option ``hudiformat.damage``.

Corrupt blocks are passed over in silence and other damage is an error, as in Hudi; or all of it is an error; or none
is, and each loss is a warning.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from hudiformat.blocks import BlockType, LogBlock
from hudiformat.errors import CorruptBlockError, CorruptTableError, DecodeError, StorageError, warn, without_offset
from hudiformat.logfile import LogReader, positions_error
from hudiformat.options import DamageMode
from hudiformat.storage import Storage


def log_blocks(storage: Storage, path: str, *, damage: DamageMode) -> Iterator[LogBlock]:
    """The blocks of a log file.

    Raises:
        CorruptBlockError: with FAIL, a span of the file cannot be read.
        StorageError: unless SKIP, there is no such file.
    """
    try:
        reader = LogReader(path, storage=storage)
    except StorageError as error:
        if damage is not DamageMode.SKIP:
            raise
        _warn_of(f"all of its records, as it cannot be opened: {error}", storage, path)
        return
    for block in reader:
        if block.type is not BlockType.CORRUPT or damage is DamageMode.HUDI:
            yield block
            continue
        why = without_offset(block.reason or "")
        if damage is DamageMode.FAIL:
            raise CorruptBlockError(
                f"{storage.root}/{path}: {block.size} bytes are no block: {why}; Hudi passes over them, and so"
                " does reading without hudiformat.damage=fail",
                offset=block.offset,
            )
        else:
            _warn_of(
                f"{block.size} bytes at byte {block.offset}, which are no block: {why}",
                storage,
                path,
            )


def sound_blocks(blocks: list[LogBlock], storage: Storage, group: str) -> list[LogBlock]:
    """Those *blocks* of a file group that can be decoded, without record positions that cannot; warns of the others."""
    return [_with_sound_positions(block, storage, group) for block in blocks if _is_sound(block, storage, group)]


def _is_sound(block: LogBlock, storage: Storage, group: str) -> bool:
    try:
        block.deletes() if block.type is BlockType.DELETE else block.to_arrow()
    except DecodeError as error:
        _warn_of(f"{_named(block)}, damaged inside: {error}", storage, group)
        return False
    return True


def _with_sound_positions(block: LogBlock, storage: Storage, group: str) -> LogBlock:
    """*block* itself, or one whose records are found by their keys."""
    error = positions_error(block)
    if error is None:
        return block
    _warn_of(f"the record positions of {_named(block)}, which is merged by keys instead: {error}", storage, group)
    return block.without_positions()


def _named(block: LogBlock) -> str:
    return f"the {block.type.name} block of the instant {block.instant}"


def sound_rows(rows: Iterator[pa.RecordBatch], storage: Storage, path: str) -> Iterator[pa.RecordBatch]:
    """The rows of a base file up to where it is damaged, and a warning there."""
    count = 0
    try:
        for batch in rows:
            count += batch.num_rows
            yield batch
    except (CorruptTableError, StorageError) as error:
        _warn_of(f"all rows from row {count} on: {error}", storage, path)


def _warn_of(lost: str, storage: Storage, path: str) -> None:
    warn(f"{storage.root}/{path}: lost to damage: {lost}")
