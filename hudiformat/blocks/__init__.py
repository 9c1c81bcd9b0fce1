"""One log block <-> bytes.  Pure: bytes, Arrow and values in and out; no file, clock or randomness."""

from hudiformat.blocks.block import LogBlock
from hudiformat.blocks.build import data_block, delete_block, rollback_block
from hudiformat.blocks.content.parquet_data import encode_parquet
from hudiformat.blocks.envelope import FORMAT_VERSION, MAGIC, decode_block, encode_block, encode_block_parts
from hudiformat.blocks.types import BlockHeader, BlockType, CommandType, HeaderKey

__all__ = [
    "FORMAT_VERSION",
    "MAGIC",
    "BlockHeader",
    "BlockType",
    "CommandType",
    "HeaderKey",
    "LogBlock",
    "data_block",
    "decode_block",
    "delete_block",
    "encode_block",
    "encode_block_parts",
    "encode_parquet",
    "rollback_block",
]
