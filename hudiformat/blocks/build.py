"""New blocks from Arrow data and values.  Instants and ids are arguments: the same input gives the same bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa

from hudiformat.avro import arrow_to_avro
from hudiformat.avro.arrays import one_batch
from hudiformat.blocks.block import LogBlock, encode_positions
from hudiformat.blocks.content import avro_data, delete, hfile_data, parquet_data
from hudiformat.blocks.frame import BlockHeader, BlockType, CommandType, HeaderKey
from hudiformat.errors import DataError, EncodeError, SchemaError, UnsupportedFeatureError

_FORMATS: dict[str, tuple[BlockType, Callable[..., bytes | memoryview]]] = {
    "avro": (BlockType.AVRO_DATA, avro_data.encode),
    "hfile": (BlockType.HFILE_DATA, hfile_data.encode),
    "parquet": (BlockType.PARQUET_DATA, parquet_data.encode),
    "cdc": (BlockType.CDC_DATA, avro_data.encode),
}

_COMPRESSED = ("hfile", "parquet")


def data_block(
    batch: pa.RecordBatch | pa.Table,
    *,
    instant: str,
    schema: str | pa.Schema | None = None,
    format: str = "avro",  # noqa: A002
    positions: Iterable[int] | None = None,
    base_instant: str | None = None,
    is_partial: bool = False,
    compression: str | None = None,
) -> LogBlock:
    """A data block with the rows of *batch*, which may also be a table of several chunks.

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
    if format not in _FORMATS:
        raise UnsupportedFeatureError(
            f"data blocks of format {format!r}; supported is {', '.join(_FORMATS)}", feature=f"{format} data block"
        )
    if not isinstance(schema, str):
        schema = arrow_to_avro(batch.schema if schema is None else schema, name="record", namespace="hoodie")
    kind, encode = _FORMATS[format]
    if compression is not None and format not in _COMPRESSED:
        raise EncodeError(
            f"compression {compression}: {format} blocks have none, {' and '.join(_COMPRESSED)} blocks do"
        )
    entries = {HeaderKey.INSTANT_TIME: instant, HeaderKey.SCHEMA: schema, **_positions(positions, base_instant)}
    if is_partial:
        entries[HeaderKey.IS_PARTIAL] = "true"
    codec = {} if compression is None else {"compression": compression}
    rows = batch if encode is avro_data.encode else one_batch(batch)  # encode_records joins chunks as it goes
    return LogBlock(kind, BlockHeader(entries), encode(rows, schema, **codec))


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
    """A delete block for the record keys *keys*.

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
    """A command block that reverts every earlier block of the instant *target*.

    Source: HoodieCommandBlock; spec/log-block.md.
    """
    header = {
        HeaderKey.INSTANT_TIME: instant,
        HeaderKey.TARGET_INSTANT_TIME: target,
        HeaderKey.COMMAND_BLOCK_TYPE: str(int(CommandType.ROLLBACK_BLOCK)),
    }
    return LogBlock(BlockType.COMMAND, BlockHeader(header), b"")


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
