"""The blocks of a table's log files, read from their headers alone; contents are not read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from hudiformat.codec.log.block import LogBlock
from hudiformat.codec.log.frame import BlockType, HeaderKey
from hudiformat.codec.log.reader import LogReader
from hudiformat.errors import HudiFormatError
from hudiformat.file_group.slices import FileSlice
from hudiformat.report.facts import Block, SliceBlocks
from hudiformat.storage.protocol import Storage

MOST_SLICES, MOST_BLOCKS = 20, 300
"""The number of slices, those with the most bytes of log files, and the number of blocks of each."""
_MOST_FETCHED = 64 << 20
"""Bytes of log files of a slice that are read at most, if the storage fetches whole files."""


def largest_log_slices(slices: Sequence[FileSlice]) -> list[FileSlice]:
    """Return the slices with the most bytes of log files, the largest first."""
    with_logs = [one for one in slices if one.log_files]
    return sorted(with_logs, key=lambda one: (-one.log_bytes, one.partition_path, one.file_id))[:MOST_SLICES]


def blocks_of(storage: Storage, file_slice: FileSlice) -> SliceBlocks:
    """Return the first blocks of the log files of a slice, in merge order."""
    found: list[Block] = []
    problem = ""
    if file_slice.log_bytes > _MOST_FETCHED and not storage.capabilities.map:
        problem = "the log files are not read: this storage would fetch them whole"
    else:
        try:
            found = list(islice(_blocks(storage, file_slice), MOST_BLOCKS + 1))
        except HudiFormatError as error:
            problem = str(error)
    return SliceBlocks(
        partition=file_slice.partition_path,
        file_id=file_slice.file_id,
        instant=file_slice.base_instant,
        base_bytes=0 if file_slice.base_file is None else file_slice.base_file.size,
        log_bytes=file_slice.log_bytes,
        files=tuple(file_slice.log_names),
        blocks=tuple(found[:MOST_BLOCKS]),
        more=len(found) > MOST_BLOCKS,
        problem=problem,
    )


def _blocks(storage: Storage, file_slice: FileSlice) -> Iterator[Block]:
    for number, path in enumerate(file_slice.log_paths):
        with LogReader(path, storage=storage) as reader:
            for block in reader:
                yield Block(
                    number, block.offset or 0, block.size or 0, block.type.name, block.instant or "", _note(block)
                )


def _note(block: LogBlock) -> str:
    if block.type is BlockType.CORRUPT:
        return block.reason or "damaged"
    if block.type is BlockType.COMMAND:
        return f"rolls back {block.target_instant}"
    notes = ["some columns only"] if block.is_partial else []
    if HeaderKey.RECORD_POSITIONS in block.header:
        notes.append("with positions")
    if replaced := block.compacted_instants:
        notes.append(f"replaces the blocks of {len(replaced)} instants")
    return ", ".join(notes)
