"""The records of many blocks: those of small ones are decoded together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.blocks.block import LogBlock
from hudiformat.blocks.content import avro_data
from hudiformat.blocks.types import BlockType
from hudiformat.blocks.wanted import Wanted
from hudiformat.errors import DecodeError
from hudiformat.wire import offsets_from

_SMALL = 1 << 14  # bytes of a content; a larger one is decoded as fast by itself
_MOST_BYTES = 1 << 24
_TOGETHER = (BlockType.AVRO_DATA, BlockType.CDC_DATA)
_NO_RECORDS = (BlockType.COMMAND, BlockType.CORRUPT, BlockType.DELETE)


def record_batches(
    blocks: Iterable[LogBlock],
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
    group: list[LogBlock] = []
    size = 0
    for block in blocks:
        if group and not (_is_small(block) and _fits(block, group[-1]) and size < _MOST_BYTES):
            yield from _decode(group, wanted)
            group, size = [], 0
        if _is_small(block):
            group.append(block)
            size += len(block.content)
        elif block.type not in _NO_RECORDS:
            yield from _parts(block, wanted)
    if group:
        yield from _decode(group, wanted)


def _parts(block: LogBlock, wanted: Wanted) -> Iterator[pa.RecordBatch]:
    if block.type not in _TOGETHER or wanted.schema is None or wanted.columns or wanted.filter is not None:
        yield block.to_arrow(wanted.schema, columns=wanted.columns, filter=wanted.filter)
        return
    with offsets_from(block.content_offset or 0):
        yield from avro_data.decode_parts(block.content, block.schema, wanted.schema)


def _is_small(block: LogBlock) -> bool:
    return block.type in _TOGETHER and len(block.content) <= _SMALL


def _fits(block: LogBlock, last: LogBlock) -> bool:
    return block.header is last.header or block.schema == last.schema


def _decode(group: list[LogBlock], wanted: Wanted) -> Iterator[pa.RecordBatch]:
    if len(group) > 1:
        try:
            yield avro_data.decode_many([block.content for block in group], group[0].schema, wanted)
        except DecodeError:
            pass  # one by one it turns out which block is damaged, and where
        else:
            return
    for block in group:
        yield block.to_arrow(wanted.schema, columns=wanted.columns, filter=wanted.filter)
