"""HFiles: sorted keys with values, an index over them, and named meta blocks.  Pure: bytes in, bytes out."""

from __future__ import annotations

from hudiformat.hfile.compression import Compression
from hudiformat.hfile.reader import ByteSource, HFileReader
from hudiformat.hfile.trailer import HFileTrailer
from hudiformat.hfile.writer import DEFAULT_BLOCK_SIZE, encode_hfile

__all__ = ["DEFAULT_BLOCK_SIZE", "ByteSource", "Compression", "HFileReader", "HFileTrailer", "encode_hfile"]
