"""Blocks made from Arrow and values.  Instants and ids are arguments: the same input gives the same bytes."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from hudiformat.avro import arrow_to_avro
from hudiformat.blocks.block import LogBlock
from hudiformat.blocks.content import avro_data, delete
from hudiformat.blocks.types import BlockHeader, BlockType, CommandType, HeaderKey
from hudiformat.errors import DataError, UnsupportedFeatureError

_FORMATS = ("avro",)


def data_block(
    batch: pa.RecordBatch,
    *,
    instant: str,
    schema: str | pa.Schema | None = None,
    format: str = "avro",  # noqa: A002
) -> LogBlock:
    """A data block that holds the rows of *batch*.

    *schema* is the Avro schema to write with, as JSON or as the Arrow schema it is made from; without it, it is made
    from the batch's own.

    Raises:
        SchemaError: the batch does not fit the schema, or has a type that Avro cannot hold.
        UnsupportedFeatureError: a *format* that is not supported yet.

    Source: HoodieAvroDataBlock; spec/log-block.md.
    """
    if format not in _FORMATS:
        raise UnsupportedFeatureError(
            f"data blocks of format {format!r}; supported is {', '.join(_FORMATS)}", feature=f"{format} data block"
        )
    if not isinstance(schema, str):
        schema = arrow_to_avro(batch.schema if schema is None else schema, name="record", namespace="hoodie")
    header = BlockHeader({HeaderKey.INSTANT_TIME: instant, HeaderKey.SCHEMA: schema})
    return LogBlock(BlockType.AVRO_DATA, header, avro_data.encode(batch, schema))


def delete_block(
    keys: pa.Array | pa.ChunkedArray | Sequence[str],
    *,
    instant: str,
    partition_path: pa.Array | str = "",
    ordering: pa.Array | None = None,
    schema: str | None = None,
) -> LogBlock:
    """A delete block for the record keys *keys*.

    *partition_path* and *ordering* give each key's partition path and ordering value; one text serves all keys.
    Without an ordering value, a delete wins over whatever came before it.  *schema* is the table's Avro schema, which
    Hudi puts into the header.

    Raises:
        SchemaError: ordering values of a type that Hudi has no wrapper for, or an array of keys that are no text.
        DataError: a key that is null or no text, or arrays of unlike length (in rows).

    Source: HoodieDeleteBlock; spec/log-block.md.
    """
    entries = {HeaderKey.INSTANT_TIME: instant}
    if schema is not None:
        entries[HeaderKey.SCHEMA] = schema
    return LogBlock(BlockType.DELETE, BlockHeader(entries), delete.encode(_key_array(keys), partition_path, ordering))


def rollback_block(*, instant: str, target: str) -> LogBlock:
    """A command block that takes back every earlier block of the instant *target*.

    Source: HoodieCommandBlock; spec/log-block.md.
    """
    header = {
        HeaderKey.INSTANT_TIME: instant,
        HeaderKey.TARGET_INSTANT_TIME: target,
        HeaderKey.COMMAND_BLOCK_TYPE: str(int(CommandType.ROLLBACK_BLOCK)),
    }
    return LogBlock(BlockType.COMMAND, BlockHeader(header), b"")


def _key_array(keys: pa.Array | pa.ChunkedArray | Sequence[str]) -> pa.Array:
    if isinstance(keys, pa.ChunkedArray):
        return keys.combine_chunks()
    if isinstance(keys, pa.Array):
        return keys
    try:
        return pa.array(keys, pa.string())
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise DataError(f"record keys have to be text: {error}", column="record_key") from None
