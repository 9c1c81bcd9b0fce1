"""Decode the records of many blocks; small blocks are decoded together."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from hudiformat.codec.avro.decode import Records
from hudiformat.codec.log.block import BlockRun, LogBlock
from hudiformat.codec.log.content import avro_data
from hudiformat.codec.log.frame import BlockType
from hudiformat.codec.log.selection import ReadRequest
from hudiformat.conditions.filters import Filter
from hudiformat.errors import DecodeError
from hudiformat.kernels import is_active
from hudiformat.wire import shift_error_offsets

Group: TypeAlias = list[LogBlock | BlockRun]

_SMALL = 1 << 14  # bytes of a content; a larger content is decoded as fast by itself
_AVRO = (BlockType.AVRO_DATA, BlockType.CDC_DATA)
_NO_RECORDS = (BlockType.COMMAND, BlockType.CORRUPT, BlockType.DELETE)


@dataclass(frozen=True, slots=True)
class GroupLimits:
    """Which blocks are decoded together: contents of at most *small* bytes, until they have *most_bytes* together.

    Blocks that are decoded in place are at most *farthest* bytes from each other.
    """

    small: int = _SMALL
    most_bytes: int = 1 << 24
    farthest: int = 1 << 30


GROUP_LIMITS = GroupLimits()


def record_batches(
    blocks: Iterable[LogBlock | BlockRun],
    *,
    schema: pa.Schema | None = None,
    columns: str | Sequence[str] | None = None,
    filter: Filter | None = None,
    views: bool = False,
    relabel: bool = False,
    limits: GroupLimits = GROUP_LIMITS,
) -> Iterator[pa.RecordBatch]:
    """Yield the records of the data blocks among *blocks*, in order; one batch may hold the records of several blocks.

    *schema*, *columns*, *filter* and *views* are as in :meth:`LogBlock.to_arrow`.  Without *schema*, batches have the
    schema that their blocks were written with.  With *relabel*, *schema* is that of the table, which decides what the
    numbers of timestamps count.  *limits* decide only how many records come in a batch.

    Raises:
        DecodeError: a content is damaged.
        SchemaError: the records cannot be converted to *schema*, or a column is missing.
    """
    wanted = ReadRequest(schema, [columns] if isinstance(columns, str) else columns, filter, views, relabel)
    return _one_by_one(_groups(blocks, limits), wanted)


def _one_by_one(
    groups: Iterable[Group], wanted: ReadRequest, *, threads: int | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the records of the *groups*, group by group.

    If the compiled kernels are used, several groups are decoded by as many threads as Arrow has, or by *threads*.  In a
    Spark task Arrow has one thread: Spark sets OMP_NUM_THREADS.
    """
    in_parts = wanted.schema is not None and not wanted.columns and wanted.filter is None
    rest = iter(groups)
    for group in rest:
        if (threads or pa.cpu_count()) > 1 and is_active() and (second := next(rest, None)):
            yield from _side_by_side(chain([group, second], rest), wanted, pa.cpu_count())
            return
        if len(group) > 1 or isinstance(group[0], BlockRun):
            try:
                batch = avro_data.decode(_find_records(group), wanted)
            except DecodeError:
                pass  # decoding the blocks one by one, below, raises the error that names the block
            else:
                yield batch
                continue
        for block in _blocks(group):
            if block.type not in _AVRO:
                yield block.read(wanted)
                continue
            written = block.schema
            with shift_error_offsets(block.content_offset or 0):
                records = avro_data.locate_records(block.content, written)
                for part in records.split() if in_parts and len(block.content) > _SMALL else [records]:
                    yield avro_data.decode(part, wanted)


def _side_by_side(groups: Iterable[Group], wanted: ReadRequest, threads: int) -> Iterator[pa.RecordBatch]:
    """Yield the records of the *groups* in order, while *threads* of the groups are decoded at the same time.

    Kernels run without Python's lock, which numpy holds for half of the time.
    """
    waiting: deque[Future[list[pa.RecordBatch]]] = deque()
    with ThreadPoolExecutor(threads, "hudiformat-decode") as pool:
        try:
            for group in groups:
                waiting.append(pool.submit(_decode_group, group, wanted))
                if len(waiting) == threads:
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()
        finally:
            for task in waiting:
                task.cancel()


def _decode_group(group: Group, wanted: ReadRequest) -> list[pa.RecordBatch]:
    """Return the batches of one group, decoded by this thread."""
    return list(_one_by_one([group], wanted, threads=1))


def _groups(blocks: Iterable[LogBlock | BlockRun], limits: GroupLimits) -> Iterator[Group]:
    """Yield the data blocks in groups that are decoded together: runs or small blocks of one schema, or a block alone.

    Two small blocks of schema A, one small block of schema B and a large block of schema B give the groups ``[A, A]``,
    ``[B]`` and ``[B]``.  Blocks without records (commands, deletes, corrupt spans) are left out and end no group.
    """
    group: Group = []
    size = 0
    for item in blocks:
        is_split = isinstance(item, BlockRun) and not (item.type in _AVRO and item.largest <= limits.small)
        for block in _blocks([item]) if is_split else [item]:
            small = isinstance(block, BlockRun) or (block.type in _AVRO and len(block.content) <= limits.small)
            if group and not (small and _fits(block, group, limits.farthest) and size < limits.most_bytes):
                yield group
                group, size = [], 0
            if small:
                group.append(block)
                size += block.size if isinstance(block, BlockRun) else len(block.content)
            elif isinstance(block, LogBlock) and block.type not in _NO_RECORDS:
                yield [block]
    if group:
        yield group


def _fits(block: LogBlock | BlockRun, group: Group, farthest: int) -> bool:
    """Return whether *block* can be decoded together with *group*, which holds only runs or only blocks."""
    first, last = group[0], group[-1]
    if isinstance(block, BlockRun) != isinstance(first, BlockRun):
        return False
    if isinstance(block, BlockRun) and isinstance(first, BlockRun):
        far = int(block.offsets[-1] - first.offsets[0]) > farthest
        if far or block.data is not first.data:
            return False
    return block.header is last.header or block.schema == last.schema


def _find_records(group: Group) -> Records:
    """Locate the records of a group of Avro blocks, without decoding them.

    Raises:
        DecodeError: a content is damaged; the error does not say which one.
    """
    runs = [block for block in group if isinstance(block, BlockRun)]
    if not runs:
        return avro_data.locate_in_contents([block.content for block in _blocks(group)], group[0].schema)
    starts, ends = (np.concatenate(offsets) for offsets in zip(*(run.contents() for run in runs), strict=True))
    return avro_data.locate_in_ranges(runs[0].data, starts, ends, runs[0].schema)


def _blocks(group: Group) -> Iterator[LogBlock]:
    """Yield the blocks of a group; a run is split into its blocks."""
    for block in group:
        if isinstance(block, BlockRun):
            yield from block.blocks()
        else:
            yield block
