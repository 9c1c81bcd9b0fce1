"""Log blocks <-> bytes.  Pure: bytes, Arrow and values in and out; no file, clock or randomness."""

from hudiformat.blocks.block import LogBlock, decode_block, encode_block, encode_block_parts
from hudiformat.blocks.build import data_block, data_blocks, delete_block, rollback_block
from hudiformat.blocks.content.parquet_data import checked_rows, encode_parquet, read_rows
from hudiformat.blocks.frame import (
    FORMAT_VERSION,
    MAGIC,
    MAX_HEADER_ENTRIES,
    BlockHeader,
    BlockType,
    CommandType,
    HeaderKey,
    Quirks,
)

__all__ = [
    "FORMAT_VERSION",
    "MAGIC",
    "MAX_HEADER_ENTRIES",
    "BlockHeader",
    "BlockType",
    "CommandType",
    "HeaderKey",
    "LogBlock",
    "Quirks",
    "checked_rows",
    "data_block",
    "data_blocks",
    "decode_block",
    "delete_block",
    "encode_block",
    "encode_block_parts",
    "encode_parquet",
    "read_rows",
    "rollback_block",
]
