"""The records of many blocks: those of small ones are decoded together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.blocks.block import BlockRun, LogBlock
from hudiformat.blocks.content import avro_data
from hudiformat.blocks.frame import BlockType
from hudiformat.blocks.wanted import Wanted
from hudiformat.errors import DecodeError
from hudiformat.wire import offsets_from

_SMALL = 1 << 14  # bytes of a content; a larger one is decoded as fast by itself
_MOST_BYTES = 1 << 24
_FARTHEST = 1 << 30  # bytes between blocks that are decoded where they stand
_TOGETHER = (BlockType.AVRO_DATA, BlockType.CDC_DATA)
_NO_RECORDS = (BlockType.COMMAND, BlockType.CORRUPT, BlockType.DELETE)


def record_batches(
    blocks: Iterable[LogBlock | BlockRun],
    *,
    schema: pa.Schema | None = None,
    columns: list[str] | None = None,
    filter: pc.Expression | None = None,  # noqa: A002
) -> Iterator[pa.RecordBatch]:
    """The records of the data blocks among *blocks*, in order; a batch may hold those of several.

    *schema*, *columns* and *filter* are those of :meth:`LogBlock.to_arrow`.  Without *schema*, batches have the schema
    that their blocks were written with.

    Raises:
        DecodeError: a content is damaged.
        SchemaError: a written schema cannot be brought to *schema*, or a column is not there.
    """
    wanted = Wanted(schema, columns, filter)
    group: list[LogBlock | BlockRun] = []
    size = 0
    for block in _runs_of_small_ones(blocks):
        small = isinstance(block, BlockRun) or _is_small(block)
        if group and not (small and _fits(block, group) and size < _MOST_BYTES):
            yield from _decode(group, wanted)
            group, size = [], 0
        if small:
            group.append(block)
            size += _size(block)
        elif isinstance(block, LogBlock) and block.type not in _NO_RECORDS:
            yield from _parts(block, wanted)
    if group:
        yield from _decode(group, wanted)


def _runs_of_small_ones(blocks: Iterable[LogBlock | BlockRun]) -> Iterator[LogBlock | BlockRun]:
    """The same, but runs with a block that is decoded by itself as blocks."""
    for block in blocks:
        if isinstance(block, BlockRun) and not (block.type in _TOGETHER and block.largest <= _SMALL):
            yield from block.blocks()
        else:
            yield block


def _parts(block: LogBlock, wanted: Wanted) -> Iterator[pa.RecordBatch]:
    if block.type not in _TOGETHER or wanted.schema is None or wanted.columns or wanted.filter is not None:
        yield block.to_arrow(wanted.schema, columns=wanted.columns, filter=wanted.filter)
        return
    with offsets_from(block.content_offset or 0):
        yield from avro_data.decode_parts(block.content, block.schema, wanted.schema)


def _is_small(block: LogBlock) -> bool:
    return block.type in _TOGETHER and len(block.content) <= _SMALL


def _size(block: LogBlock | BlockRun) -> int:
    return block.size if isinstance(block, BlockRun) else len(block.content)


def _fits(block: LogBlock | BlockRun, group: list[LogBlock | BlockRun]) -> bool:
    """Whether *block* can be decoded together with *group*, which is all of runs or all of blocks."""
    first, last = group[0], group[-1]
    if isinstance(block, BlockRun) != isinstance(first, BlockRun):
        return False
    if isinstance(block, BlockRun) and isinstance(first, BlockRun):
        far = int(block.places[-1] - first.places[0]) > _FARTHEST
        if far or block.data is not first.data:
            return False
    return block.header is last.header or block.schema == last.schema


def _decode(group: list[LogBlock | BlockRun], wanted: Wanted) -> Iterator[pa.RecordBatch]:
    runs = [block for block in group if isinstance(block, BlockRun)]
    blocks = [block for block in group if isinstance(block, LogBlock)]
    if runs or len(blocks) > 1:
        try:
            yield _decode_runs(runs, wanted) if runs else _decode_blocks(blocks, wanted)
        except DecodeError:
            pass  # one by one it turns out which block is damaged, and where
        else:
            return
    for block in blocks or [block for run in runs for block in run.blocks()]:
        yield block.to_arrow(wanted.schema, columns=wanted.columns, filter=wanted.filter)


def _decode_runs(runs: list[BlockRun], wanted: Wanted) -> pa.RecordBatch:
    starts, ends = (np.concatenate(places) for places in zip(*(run.contents() for run in runs), strict=True))
    return avro_data.decode_at(runs[0].data, starts, ends, runs[0].schema, wanted)


def _decode_blocks(blocks: list[LogBlock], wanted: Wanted) -> pa.RecordBatch:
    return avro_data.decode_many([block.content for block in blocks], blocks[0].schema, wanted)
