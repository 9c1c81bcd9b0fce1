"""Blocks for merge tests, written out row by row."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from hudiformat.codec.avro.schema import arrow_to_avro
from hudiformat.codec.log.block import LogBlock, encode_positions
from hudiformat.codec.log.build import data_block, delete_block
from hudiformat.codec.log.frame import BlockHeader, HeaderKey

KEY = pa.field("k", pa.string(), nullable=False)


def keys_of(rows: pa.Table) -> pa.ChunkedArray:
    return rows["k"]


def data(rows: Sequence[Any], schema: pa.Schema, *, instant: str = "1") -> LogBlock:
    batch = pa.RecordBatch.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)
    return data_block(batch, instant=instant, schema=arrow_to_avro(schema, name="r", namespace="h"))


def deletes(keys: Sequence[str], ordering: pa.Array | None = None, *, instant: str = "1") -> LogBlock:
    return delete_block(keys, instant=instant, ordering=ordering, schema=json.dumps("string"))


def at(block: LogBlock, positions: Iterable[int], instant: str = "7") -> LogBlock:
    """*block* with the *positions* of its entries in the base file *instant*."""
    header = {
        **block.header,
        HeaderKey.RECORD_POSITIONS: encode_positions(positions),
        HeaderKey.BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS: instant,
    }
    return block._replace(header=BlockHeader(header))
