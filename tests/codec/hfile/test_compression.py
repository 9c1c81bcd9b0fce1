"""Contents compressed and decompressed."""

from __future__ import annotations

import gzip

import pytest

from hudiformat.codec.hfile.block import BlockType, Compression, decode_block, encode_block
from hudiformat.errors import CorruptBlockError
from tests.codec.hfile.builders import block

NONE, GZIP = Compression.NONE, Compression.GZIP


def read(data: bytes, codec: Compression = NONE) -> bytes:
    return bytes(decode_block(memoryview(data), BlockType.META, codec, base=1000).content)


@pytest.mark.parametrize("content", [b"", b"a", b"a" * 100_000])
def test_a_packed_content_is_read_by_others_and_here(content: bytes) -> None:
    data = encode_block(BlockType.META, content, GZIP)
    assert gzip.decompress(data[33 : int.from_bytes(data[29:33], "big")]) == content
    assert read(data, GZIP) == content
    assert read(block(gzip.compress(content), unpacked=len(content)), GZIP) == content


@pytest.mark.parametrize("unpacked", [-1, 2, 4, 2**31 - 1])
def test_an_unpacked_size_that_lies(unpacked: int) -> None:
    with pytest.raises(CorruptBlockError, match=f"a content of {unpacked} bytes expected, 3 found"):
        read(block(b"abc", unpacked=unpacked))


@pytest.mark.parametrize("unpacked", [-1, 2**31 - 1])
def test_an_unpacked_size_that_cannot_be(unpacked: int) -> None:
    with pytest.raises(CorruptBlockError, match=f"23 bytes cannot hold the {unpacked} that the block declares"):
        read(block(gzip.compress(b"abc"), unpacked=unpacked), GZIP)


@pytest.mark.parametrize(("unpacked", "found"), [(0, 1), (2, 3), (4, 3), (1000, 3)])
def test_a_packed_content_of_another_size(unpacked: int, found: int) -> None:
    with pytest.raises(CorruptBlockError, match=f"a content of {unpacked} bytes expected, {found} found"):
        read(block(gzip.compress(b"abc"), unpacked=unpacked), GZIP)


@pytest.mark.slow
def test_a_bomb_is_unpacked_no_further_than_declared() -> None:
    with pytest.raises(CorruptBlockError, match="a content of 10 bytes expected, 11 found"):
        read(block(gzip.compress(bytes(10**8)), unpacked=10), GZIP)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the content breaks off"),
        (gzip.compress(b"abc")[:-1], "the content breaks off"),
        (gzip.compress(b"abc")[:-5] + b"xxxxx", "incorrect data check"),
        (b"not gzip at all", "incorrect header check"),
    ],
    ids=["empty", "torn", "changed", "something else"],
)
def test_a_damaged_packed_content(content: bytes, message: str) -> None:
    unpacked = 3 if content else 0
    with pytest.raises(CorruptBlockError, match=f"at byte 1000: gzip: .*{message}"):
        read(block(content, unpacked=unpacked), GZIP)
