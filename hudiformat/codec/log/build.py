"""Make new blocks from Arrow data and values.  Instants and ids are arguments: the same input gives the same bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise, repeat

import numpy as np
import pyarrow as pa

from hudiformat.codec.avro.arrays import Longs, one_batch
from hudiformat.codec.avro.encode import encode_records
from hudiformat.codec.avro.schema import arrow_to_avro
from hudiformat.codec.log.block import LogBlock, Positions, encode_positions
from hudiformat.codec.log.content import avro_data, delete, hfile_data, parquet_data
from hudiformat.codec.log.frame import BlockHeader, BlockType, CommandType, HeaderKey
from hudiformat.errors import DataError, EncodeError, SchemaError, UnsupportedFeatureError

_FORMATS = {
    "avro": BlockType.AVRO_DATA,
    "hfile": BlockType.HFILE_DATA,
    "parquet": BlockType.PARQUET_DATA,
    "cdc": BlockType.CDC_DATA,
}
_NAME = {"name": "record", "namespace": "hoodie"}
"""The name of the Avro schema that is derived from the batch if no schema is given."""

_COMPRESSED: dict[BlockType, Callable[..., bytes | memoryview]] = {
    BlockType.HFILE_DATA: hfile_data.encode,
    BlockType.PARQUET_DATA: parquet_data.encode,
}


def data_block(
    batch: pa.RecordBatch | pa.Table,
    *,
    instant: str,
    schema: str | pa.Schema | None = None,
    format: str = "avro",
    positions: Iterable[int] | None = None,
    base_instant: str | None = None,
    is_partial: bool = False,
    compression: str | None = None,
) -> LogBlock:
    """Return a data block with the rows of *batch*, which may also be a table of several chunks.

    *schema* is the Avro schema to write with: JSON, or an Arrow schema that is mapped to Avro, by default the schema of
    *batch*.  *format* is avro, hfile (rows are sorted by record key), parquet or cdc.  *positions* are the row numbers
    in the base file that belong to the rows, one per row in ascending order, and *base_instant* is the instant of that
    file.  *is_partial* marks rows that hold only the updated columns.  *compression* is the codec of a Parquet or HFile
    block, by default gzip.

    Raises:
        SchemaError: the batch does not fit the schema, or has a type that Avro cannot hold.
        EncodeError: *positions* without *base_instant*, or the reverse; *compression* with a format that has none.
        UnsupportedFeatureError: a *format* that is not supported.

    Source: HoodieAvroDataBlock, HoodieParquetDataBlock, HoodieCDCDataBlock; spec/log-block.md.
    """
    written = schema if isinstance(schema, str) else arrow_to_avro(batch.schema if schema is None else schema, **_NAME)
    kind, codec = _block_type(format, compression)
    header = _header(instant, written, positions, base_instant, is_partial=is_partial)
    if kind in _COMPRESSED:
        return LogBlock(kind, header, _COMPRESSED[kind](one_batch(batch), written, **codec))
    return LogBlock(kind, header, encode_records(batch, written, head=avro_data.prologue(batch.num_rows)))


def data_blocks(
    batch: pa.RecordBatch | pa.Table,
    cuts: Sequence[int] | Longs,
    *,
    instant: str,
    schema: str | pa.Schema | None = None,
    format: str = "avro",
    positions: Sequence[int] | Positions | None = None,
    base_instant: str | None = None,
    is_partial: bool = False,
    compression: str | None = None,
) -> Iterator[LogBlock]:
    """Return the rows of *batch*, cut into data blocks: many small blocks at the cost of one large one.

    A block ends, and the next one begins, before each of the row numbers *cuts*, which ascend: 2 and 5 cut eight rows
    into blocks of two, three and three.  A number that comes twice makes a block without rows.  The blocks have the
    same bytes as those that :func:`data_block` makes of the slices of *batch*, and the other arguments have the same
    meaning; *positions* has one entry per row of *batch*.  Avro rows are encoded at once, when this function is called,
    and the contents are parts of one buffer, which stays in memory as long as one of the blocks does.

    Raises:
        EncodeError: *cuts* that do not ascend or lie outside the batch; not as many positions as rows; and as in
            :func:`data_block`.
        SchemaError: as in :func:`data_block`.
        UnsupportedFeatureError: a *format* that is not supported.

    Source: HoodieAvroDataBlock, HoodieParquetDataBlock, HoodieCDCDataBlock; spec/log-block.md.
    """
    written = schema if isinstance(schema, str) else arrow_to_avro(batch.schema if schema is None else schema, **_NAME)
    rows = batch.num_rows
    kind, codec = _block_type(format, compression)
    bounds = _bounds(cuts, rows)
    row_positions = None if positions is None else np.asarray(positions, np.uint64)
    if row_positions is not None and len(row_positions) != rows:
        raise EncodeError(f"{len(row_positions)} positions were given for {rows} rows: expected one for each")
    ranges = list(pairwise(bounds.tolist()))
    headers: Iterable[BlockHeader] = repeat(
        _header(instant, written, row_positions, base_instant, is_partial=is_partial), len(ranges)
    )
    if row_positions is not None:
        parts = (row_positions[first:last] for first, last in ranges)
        headers = (_header(instant, written, part, base_instant, is_partial=is_partial) for part in parts)
    contents: Iterable[bytes | memoryview]
    if kind in _COMPRESSED:
        slices = (one_batch(batch.slice(first, last - first)) for first, last in ranges)
        contents = (_COMPRESSED[kind](part, written, **codec) for part in slices)
    else:
        contents = avro_data.encode_contents(batch, written, bounds)
    return map(LogBlock, repeat(kind), headers, contents)


def delete_block(
    keys: pa.Array | pa.ChunkedArray | Sequence[str],
    *,
    instant: str,
    partition_path: pa.Array | str = "",
    ordering: pa.Array | None = None,
    schema: str | None = None,
    positions: Iterable[int] | None = None,
    base_instant: str | None = None,
) -> LogBlock:
    """Return a delete block for the record keys *keys*.

    *partition_path* holds the partition path of each key, or is one text for all keys; *ordering* holds the ordering
    values.  A delete without an ordering value wins over every earlier record.  *schema* is the table's Avro schema,
    which Hudi puts into the header.  *positions* and *base_instant* are as in :func:`data_block`.

    Raises:
        EncodeError: *positions* without *base_instant*, or the reverse.
        SchemaError: ordering values of a type that Hudi has no wrapper for, or an array of keys that are not text.
        DataError: a key that is null or not text, or arrays with different numbers of rows.

    Source: HoodieDeleteBlock; spec/log-block.md.
    """
    entries = {HeaderKey.INSTANT_TIME: instant}
    if schema is not None:
        entries[HeaderKey.SCHEMA] = schema
    entries.update(_positions(positions, base_instant))
    return LogBlock(BlockType.DELETE, BlockHeader(entries), delete.encode(_key_array(keys), partition_path, ordering))


def rollback_block(*, instant: str, target: str) -> LogBlock:
    """Return a command block that reverts every earlier block of the instant *target*.

    Source: HoodieCommandBlock; spec/log-block.md.
    """
    header = {
        HeaderKey.INSTANT_TIME: instant,
        HeaderKey.TARGET_INSTANT_TIME: target,
        HeaderKey.COMMAND_BLOCK_TYPE: str(int(CommandType.ROLLBACK_BLOCK)),
    }
    return LogBlock(BlockType.COMMAND, BlockHeader(header), b"")


def _bounds(cuts: Sequence[int] | Longs, rows: int) -> Longs:
    """Return the row numbers at which the blocks begin, and the end of the last block.

    For eight rows, the cuts 2 and 5 give ``[0, 2, 5, 8]``.
    """
    numbers = np.asarray(cuts)
    if len(numbers) and numbers.dtype.kind not in "iu":
        raise EncodeError(f"cuts are row numbers; found {numbers.dtype} {numbers[0]}")
    bounds = np.concatenate([[0], numbers, [rows]]).astype(np.int64)
    wrong = np.flatnonzero(np.diff(bounds) < 0)
    if len(wrong):
        before, after = bounds[wrong[0] : wrong[0] + 2].tolist()
        raise EncodeError(f"cuts have to ascend from 0 to {rows}, the number of rows; found {after} after {before}")
    return bounds


def _block_type(format: str, compression: str | None) -> tuple[BlockType, dict[str, str]]:
    """Return the type of the blocks, and the keyword argument for their compression, if there is one."""
    kind = _FORMATS.get(format)
    if kind is None:
        raise UnsupportedFeatureError(
            f"format: expected one of {', '.join(_FORMATS)}, found {format!r}; pass one of these",
            feature=f"{format} data block",
        )
    if compression is None:
        return kind, {}
    if kind not in _COMPRESSED:
        raise EncodeError(f"compression {compression}: {format} blocks have none, hfile and parquet blocks do")
    return kind, {"compression": compression}


def _header(
    instant: str, schema: str, positions: Iterable[int] | None, base_instant: str | None, *, is_partial: bool
) -> BlockHeader:
    if positions is None and base_instant is None:
        return _plain_header(instant, schema, is_partial=is_partial)
    entries = {HeaderKey.INSTANT_TIME: instant, HeaderKey.SCHEMA: schema, **_positions(positions, base_instant)}
    if is_partial:
        entries[HeaderKey.IS_PARTIAL] = "true"
    return BlockHeader(entries)


@lru_cache(maxsize=16)
def _plain_header(instant: str, schema: str, *, is_partial: bool) -> BlockHeader:
    """Return the header of blocks without positions; the blocks of a writer share one, and its bytes."""
    entries = {HeaderKey.INSTANT_TIME: instant, HeaderKey.SCHEMA: schema}
    if is_partial:
        entries[HeaderKey.IS_PARTIAL] = "true"
    return BlockHeader(entries)


def _positions(positions: Iterable[int] | None, base_instant: str | None) -> dict[HeaderKey, str]:
    if (positions is None) != (base_instant is None):
        raise EncodeError(
            "positions and base_instant, the instant of the base file they refer to, go together: pass both"
        )
    if positions is None or base_instant is None:
        return {}
    return {
        HeaderKey.RECORD_POSITIONS: encode_positions(positions),
        HeaderKey.BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS: base_instant,
    }


def _key_array(keys: pa.Array | pa.ChunkedArray | Sequence[str]) -> pa.Array:
    if isinstance(keys, (pa.Array, pa.ChunkedArray)):
        if not (pa.types.is_string(keys.type) or pa.types.is_large_string(keys.type) or keys.type == pa.string_view()):
            raise SchemaError(f"recordKey: expected texts, found an array of {keys.type}", column="recordKey")
        return keys.combine_chunks() if isinstance(keys, pa.ChunkedArray) else keys
    try:
        return pa.array([keys] if isinstance(keys, str) else keys, pa.string())
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise DataError(f"record keys have to be text: {error}", column="record_key") from None
