"""The decoder gives the blocks of the whole file, however the file is cut into pieces."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudiformat import testing
from hudiformat.blocks import MAGIC, BlockHeader, BlockType, HeaderKey, LogBlock, encode_block, rollback_block
from hudiformat.errors import DecodeError
from hudiformat.logfile import LogDecoder, scan_blocks

A, B, C = (encode_block(rollback_block(instant=f"00{number}", target="000")) for number in (1, 2, 3))

files = testing.damaged_log_files() | st.lists(testing.blocks(), max_size=4).map(
    lambda blocks: b"".join(map(encode_block, blocks))
)


def decode(pieces: Iterable[bytes]) -> list[LogBlock]:
    decoder, blocks = LogDecoder(), []
    for piece in pieces:
        decoder.feed(piece)
        while block := decoder.next_block():
            blocks.append(block)
    decoder.finish()
    while block := decoder.next_block():
        blocks.append(block)
    return blocks


def pieces_of(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


def facts(blocks: Iterable[LogBlock]) -> list[tuple[LogBlock, int | None, int | None, bytes]]:
    """All of a block, with what comparing leaves out."""
    return [(block, block.offset, block.size, encode_block(block)) for block in blocks]


@settings(deadline=None)
@given(data=files, size=st.integers(1, 40))
def test_any_pieces_give_the_blocks_of_the_whole(data: bytes, size: int) -> None:
    expected = facts(scan_blocks(memoryview(data)))
    assert facts(decode([data])) == expected
    assert facts(decode([data[: len(data) // 2], data[len(data) // 2 :]])) == expected
    assert facts(decode(pieces_of(data, size))) == expected
    assert facts(decode(pieces_of(data, 1))) == expected


@settings(deadline=None)
@given(data=files, cuts=st.lists(st.integers(0, 400), max_size=6))
def test_pieces_of_different_sizes_and_empty_ones_give_them_too(data: bytes, cuts: list[int]) -> None:
    ends = sorted(cuts)
    pieces = [data[start:end] for start, end in zip([0, *ends], [*ends, len(data)], strict=True)]
    assert facts(decode(pieces)) == facts(scan_blocks(memoryview(data)))


@settings(deadline=None)
@given(junk=st.lists(st.sampled_from([MAGIC, b"\0", b"#", b"\xff" * 8, b"\0\0\0\0\0\0\0\x3f"])).map(b"".join))
def test_any_bytes_in_any_pieces_are_the_same_blocks(junk: bytes) -> None:
    for data in (junk, A + junk, junk + A):
        assert facts(decode(pieces_of(data, 1))) == facts(decode([data])) == facts(scan_blocks(memoryview(data)))


# When a block comes out


def test_a_block_comes_out_with_the_6_bytes_behind_it() -> None:
    decoder = LogDecoder()
    decoder.feed(A + MAGIC[:5])
    assert decoder.next_block() is None
    decoder.feed(MAGIC[5:])
    block = decoder.next_block()
    assert block is not None
    assert (block.instant, block.offset, block.size, decoder.next_block()) == ("001", 0, len(A), None)


def test_the_last_block_comes_out_at_the_end() -> None:
    decoder = LogDecoder()
    decoder.feed(A)
    assert decoder.next_block() is None
    decoder.finish()
    decoder.finish()
    assert decoder.next_block() == rollback_block(instant="001", target="000")
    assert decoder.next_block() is None
    assert decoder.next_block() is None


@pytest.mark.parametrize(
    ("broken", "at"), [(A[:14] + b"\0\0\0\2", 18), (A[:13] + b"\x1f", 14), (A[:14] + b"\0\0\0\1\0\0\0\7", 22)],
    ids=["version", "size", "type"],
)  # fmt: skip
def test_a_broken_block_ends_at_the_next_magic_without_waiting_for_its_size(broken: bytes, at: int) -> None:
    decoder = LogDecoder()
    decoder.feed(broken)
    assert (len(broken), decoder.next_block()) == (at, None)
    decoder.feed(B)
    block = decoder.next_block()
    assert block is not None
    assert (block.type, block.offset, block.size) == (BlockType.CORRUPT, 0, at)
    assert (bytes(block.content), decoder.next_block()) == (broken[6:], None)


def test_a_magic_that_comes_byte_by_byte_ends_a_corrupt_block() -> None:
    decoder = LogDecoder()
    decoder.feed(b"......")
    for byte in MAGIC[:-1]:
        decoder.feed(bytes([byte]))
        assert decoder.next_block() is None
    decoder.feed(MAGIC[-1:])
    block = decoder.next_block()
    assert block is not None
    assert block.size == 6


def test_a_tail_of_less_than_a_magic_is_ignored() -> None:
    assert [block.instant for block in decode([A, b"#HUDI"])] == ["001"]
    assert decode([]) == decode([b"#HUDI"]) == []


def test_bytes_after_the_end_are_refused() -> None:
    decoder = LogDecoder()
    decoder.feed(A)
    decoder.finish()
    with pytest.raises(DecodeError, match="at byte 77: bytes after finish"):
        decoder.feed(b"")


# Memory


def test_the_buffer_holds_no_more_than_one_block_and_one_piece() -> None:
    block = encode_block(LogBlock(BlockType.HFILE_DATA, BlockHeader({HeaderKey.INSTANT_TIME: "1"}), b"x" * 1000))
    decoder, most, count = LogDecoder(), 0, 0
    for piece in pieces_of((block + MAGIC + b"y" * 700) * 20, 64):
        decoder.feed(piece)
        most = max(most, len(decoder._buffer))
        while decoder.next_block():
            count += 1
    assert count == 39
    assert most < len(block) + len(MAGIC) + 64 + 700


def test_a_block_that_was_given_out_does_not_change_when_more_is_fed() -> None:
    decoder = LogDecoder()
    decoder.feed(A + B)
    block = decoder.next_block()
    assert block is not None
    decoder.feed(C)
    assert encode_block(block) == A
