from __future__ import annotations

import zlib

import pytest

from hudiformat.codec.hfile.block import BlockType, Compression, decode_block, encode_block
from hudiformat.errors import CorruptBlockError, EncodeError, TruncatedBlockError
from tests.codec.hfile.builders import block

NONE, GZIP = Compression.NONE, Compression.GZIP


META = bytes.fromhex(
    "4d 45 54 41 42 4c 4b 63"  # METABLKc
    "00 00 00 07"  # 7 bytes follow
    "00 00 00 03"  # 3 of content
    "ff ff ff ff ff ff ff ff"  # no block before
    "00 00 00 40 00 00 00 00 24"  # no checksums; they would begin at 36
    "61 62 63 00 00 00 00"
)


def with_crc32(content: bytes, chunk: int) -> bytes:
    data = block(content, checksum=1, chunk=chunk, rest=len(content) + 4 * -(-(33 + len(content)) // chunk))
    return data + b"".join(zlib.crc32(data[at : at + chunk]).to_bytes(4, "big") for at in range(0, len(data), chunk))


def read(data: bytes, codec: Compression = NONE) -> bytes:
    return bytes(decode_block(memoryview(data), BlockType.META, codec, base=1000).content)


def test_a_block_is_read_and_written_field_by_field() -> None:
    assert encode_block(BlockType.META, b"abc", NONE) == META
    found = decode_block(memoryview(META + b"more"), BlockType.META, NONE, base=1000)
    assert (bytes(found.content), found.offset, found.size, found.base) == (b"abc", 1000, 40, 1033)


def test_the_magics_are_those_of_the_format() -> None:
    assert all(len(kind.value) == 8 for kind in BlockType)
    assert len({kind.value for kind in BlockType}) == len(BlockType) == 10


@pytest.mark.parametrize("chunk", [1, 10, 33, 36, 37, 16384])
def test_crc32_is_compared(chunk: int) -> None:
    data = with_crc32(b"abc", chunk)
    assert read(data) == b"abc"
    damaged = data[:33] + b"x" + data[34:]
    with pytest.raises(CorruptBlockError, match="CRC32 [0-9a-f]{8} expected, [0-9a-f]{8} found") as caught:
        read(damaged)
    assert caught.value.offset == 1000 + 33 // chunk * chunk


@pytest.mark.parametrize(("sums", "chunk"), [(b"", 16384), (bytes(8), 16384), (bytes(4), 0), (bytes(4), -1)])
def test_checksums_of_another_number(sums: bytes, chunk: int) -> None:
    with pytest.raises(CorruptBlockError, match=f"{len(sums)} bytes of checksums, one for {chunk} bytes"):
        read(block(b"abc", checksum=1, sums=sums, chunk=chunk))


@pytest.mark.parametrize(("checksum", "sums"), [(2, b"1234"), (0, b""), (0, b"12345")])
def test_other_checksums_are_read_over(checksum: int, sums: bytes) -> None:
    assert read(block(b"abc", checksum=checksum, sums=sums)) == b"abc"


def test_an_unknown_checksum_type() -> None:
    with pytest.raises(CorruptBlockError, match="at byte 1000: unknown checksum type 3; known are 0 to 2"):
        read(block(b"abc", checksum=3))


@pytest.mark.parametrize("cut", [0, 32, 33, 35])
def test_a_block_that_breaks_off_is_truncated(cut: int) -> None:
    with pytest.raises(TruncatedBlockError, match="at byte 1000: block"):
        read(block(b"abc")[:cut])


@pytest.mark.parametrize("end", [0, 32, 37, -1, 2**31 - 1])
def test_an_end_outside_the_block(end: int) -> None:
    with pytest.raises(CorruptBlockError, match=f"a block of 36 bytes, {end} of them before its checksums"):
        read(block(b"abc", end=end))


@pytest.mark.parametrize("rest", [-1, -(2**31)])
def test_a_negative_size(rest: int) -> None:
    with pytest.raises(CorruptBlockError, match=f"a block of {33 + rest} bytes"):
        read(block(b"abc", rest=rest))


class Sized(bytes):
    """A content that says to be large and is not."""

    def __len__(self) -> int:
        return 2**31


def test_a_block_of_2_gib_is_refused() -> None:
    with pytest.raises(EncodeError, match="an HFile block of 2147483648 bytes"):
        encode_block(BlockType.META, Sized(), NONE)
