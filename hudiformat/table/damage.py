"""What reading does about damage, by the option ``hudiformat.damage``: what Hudi does, stop, or go on and say so."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pyarrow as pa

from hudiformat.blocks import BlockType, LogBlock
from hudiformat.errors import CorruptBlockError, CorruptTableError, DecodeError, HudiFormatWarning, StorageError
from hudiformat.logfile import LogReader
from hudiformat.storage import Storage

AS_HUDI, FAIL, SKIP = "hudi", "fail", "skip"
DAMAGE_MODES = (AS_HUDI, FAIL, SKIP)
"""Corrupt blocks are passed over in silence and other damage is an error, as in Hudi; or all of it is an error; or none
is, and each loss is a warning."""


def log_blocks(storage: Storage, path: str, *, damage: str) -> Iterator[LogBlock]:
    """The blocks of a log file.

    Raises:
        CorruptBlockError: with FAIL, a span of the file cannot be read.
        StorageError: unless SKIP, there is no such file.
    """
    try:
        reader = LogReader(path, storage=storage)
    except StorageError as error:
        if damage != SKIP:
            raise
        _warn_of(f"all of its records, as it cannot be opened: {error}", storage, path)
        return
    for block in reader:
        if block.type is not BlockType.CORRUPT or damage == AS_HUDI:
            yield block
        elif damage == FAIL:
            raise CorruptBlockError(
                f"{storage.root}/{path}: {block.size} bytes are no block: {block.reason}; Hudi passes over them, and so"
                " does reading without hudiformat.damage=fail",
                offset=block.offset,
            )
        else:
            _warn_of(f"{block.size} bytes at byte {block.offset}, which are no block: {block.reason}", storage, path)


def sound_blocks(blocks: list[LogBlock], storage: Storage, folder: str) -> list[LogBlock]:
    """Those of *blocks* that can be decoded; a warning for each of the others."""
    return [block for block in blocks if _is_sound(block, storage, folder)]


def _is_sound(block: LogBlock, storage: Storage, folder: str) -> bool:
    try:
        block.deletes() if block.type is BlockType.DELETE else block.to_arrow()
    except DecodeError as error:
        lost = f"a {block.type.name} block of the instant {block.instant}, damaged inside: {error}"
        _warn_of(lost, storage, folder)
        return False
    return True


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
    warnings.warn(f"{storage.root}/{path}: lost to damage: {lost}", HudiFormatWarning, stacklevel=3)
