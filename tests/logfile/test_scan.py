"""Damage, rule by rule.  In a picture of what is read, ``!`` is a corrupt block."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hudiformat.blocks import MAGIC, BlockHeader, BlockType, HeaderKey, LogBlock, encode_block, rollback_block
from hudiformat.logfile import LogReader, scan_blocks, scan_blocks_reversed
from tests.blocks.vectors import entry, envelope

PAGE = Path(__file__).parents[2] / "spec" / "log-file.md"
A, B, C = (encode_block(rollback_block(instant=f"00{number}", target="000")) for number in (1, 2, 3))
SIZE = len(A)
JUNK = b"\xa5" * 37


def resized(block: bytes, size: int) -> bytes:
    """The block with another size in front; its reverse pointer stays."""
    return block[:6] + size.to_bytes(8, "big", signed=True) + block[14:]


def picture(data: bytes) -> list[tuple[str, int, int]]:
    """What is read: name, offset, size."""
    found = list(LogReader(data))
    back = list(reversed(LogReader(data)))
    assert [(block, block.offset, block.size) for block in back] == [
        (block, block.offset, block.size) for block in reversed(found)
    ]
    return [(block.instant or "!", block.offset or 0, block.size or 0) for block in found]


def reasons(data: bytes) -> list[str]:
    return [block.reason for block in LogReader(data) if block.reason]


def names(data: bytes) -> str:
    return " ".join(name for name, _, _ in picture(data))


def test_sound_blocks_are_read_one_after_the_other() -> None:
    assert picture(A + B + C) == [("001", 0, SIZE), ("002", SIZE, SIZE), ("003", 2 * SIZE, SIZE)]
    assert reasons(A + B + C) == []


# Where Hudi goes on, too


@pytest.mark.parametrize(
    "size", [-1, 0, 1, 7, SIZE - 15, SIZE - 13, SIZE, 2 * SIZE - 14, 3 * SIZE, 2**31 - 1, -(2**63)]
)
def test_a_size_that_lies_costs_its_block_and_no_other(size: int) -> None:
    damaged = resized(B, size)
    assert picture(A + damaged + C) == [("001", 0, SIZE), ("!", SIZE, SIZE), ("003", 2 * SIZE, SIZE)]
    assert picture(damaged) == [("!", 0, SIZE)]


@pytest.mark.parametrize(
    ("size", "reason"),
    [
        (-1, "at byte 6: block size -1: expected at least 32 bytes"),
        (0, "at byte 6: block size 0: expected at least 32 bytes"),
        (62, "at byte 57: content length 0 in a block with room for -1"),
        (64, "at byte 57: content length 0 in a block with room for 1"),
        (2**32 + 64, "at byte 57: content length 0 in a block with room for 1"),
        (2**31, "at byte 6: block size 2147483648 (-2147483648 in 32 bits): expected at least 32 bytes"),
    ],
    ids=["negative", "zero", "one less", "one more", "one more and 4 GiB", "2 GiB"],
)
def test_the_reason_says_what_lies_about_the_size(size: int, reason: str) -> None:
    assert reasons(resized(A, size)) == [reason]


def test_a_reverse_pointer_that_does_not_match_the_size() -> None:
    damaged = A[:-1] + b"\x46"
    assert names(damaged + B) == "! 002"
    assert reasons(damaged + B) == ["at byte 69: block size 63, but reverse pointer 70"]


@pytest.mark.parametrize("length", [1, 5, 6, 37])
def test_junk_between_blocks_costs_the_block_before_it(length: int) -> None:
    data = A + B + JUNK[:length] + C
    assert picture(data) == [("001", 0, SIZE), ("!", SIZE, SIZE + length), ("003", 2 * SIZE + length, SIZE)]
    assert "neither a magic nor the end of the file" in reasons(data)[0]


@pytest.mark.parametrize("tail", [b"\0", JUNK[:5], MAGIC[:5], b"\0\0\0"])
def test_a_tail_of_1_to_5_bytes_is_ignored(tail: bytes) -> None:
    assert picture(A + B + tail) == [("001", 0, SIZE), ("002", SIZE, SIZE)]


@pytest.mark.parametrize("tail", [bytes(6), JUNK[:6], JUNK, bytes(500)], ids=len)
def test_a_tail_of_6_or_more_junk_bytes_costs_the_block_before_it(tail: bytes) -> None:
    assert picture(A + B + tail) == [("001", 0, SIZE), ("!", SIZE, SIZE + len(tail))]


def test_a_magic_written_twice_is_an_empty_corrupt_block_and_then_the_block() -> None:
    assert picture(A + MAGIC + B + C) == [
        ("001", 0, SIZE),
        ("!", SIZE, 6),
        ("002", SIZE + 6, SIZE),
        ("003", 2 * SIZE + 6, SIZE),
    ]
    corrupt = next(iter(LogReader(MAGIC + B)))
    assert bytes(corrupt.content) == b""


@pytest.mark.parametrize("before", [b"", A], ids=["in a file of 6 bytes", "after a block"])
def test_a_magic_alone_is_an_empty_corrupt_block(before: bytes) -> None:
    corrupt = list(LogReader(before + MAGIC))[-1]
    assert (corrupt.type, corrupt.offset, corrupt.size, bytes(corrupt.content)) == (
        BlockType.CORRUPT,
        len(before),
        6,
        b"",
    )
    assert names(before + MAGIC) == ("001 !" if before else "!")
    assert "block size: 8 bytes expected, 0 left" in (corrupt.reason or "")


@pytest.mark.parametrize("data", [b"", b"\0", MAGIC[:5], b"12345"])
def test_a_file_of_0_to_5_bytes_has_no_block(data: bytes) -> None:
    assert picture(data) == []


@pytest.mark.parametrize("cut", [6, 13, 14, 40, SIZE - 8, SIZE - 1])
def test_a_torn_tail_is_one_corrupt_block(cut: int) -> None:
    assert picture(A + B[:cut]) == [("001", 0, SIZE), ("!", SIZE, cut)]


def test_a_magic_inside_a_sound_content_is_not_noticed() -> None:
    header = BlockHeader({HeaderKey.INSTANT_TIME: "out"})
    outer = encode_block(LogBlock(BlockType.PARQUET_DATA, header, MAGIC + A + B))
    assert names(A + outer + C) == "001 out 003"


def test_a_magic_inside_a_broken_content_is_noticed() -> None:
    header = BlockHeader({HeaderKey.INSTANT_TIME: "out"})
    outer = encode_block(LogBlock(BlockType.PARQUET_DATA, header, b"..." + A + B))
    assert names(outer[:-1] + C) == "! 001 ! 003"
    assert names(outer[:-20]) == "! 001 !"


def test_the_search_for_the_next_magic_starts_behind_the_bad_blocks_own() -> None:
    assert picture(MAGIC + MAGIC + MAGIC) == [("!", 0, 6), ("!", 6, 6), ("!", 12, 6)]


def test_a_block_whose_magic_begins_inside_a_bad_blocks_own_is_lost_as_in_hudi() -> None:
    assert picture(A + MAGIC[:5] + B + C) == [("001", 0, SIZE), ("!", SIZE, 5 + SIZE), ("003", 2 * SIZE + 5, SIZE)]


def test_the_content_of_a_corrupt_block_is_what_follows_its_magic() -> None:
    [corrupt, _] = LogReader(MAGIC + JUNK + A)
    assert bytes(corrupt.content) == JUNK
    assert (len(corrupt.header), len(corrupt.footer), corrupt.instant) == (0, 0, None)


# Where Hudi throws, loops or swallows blocks


@pytest.mark.parametrize("length", [1, 5, 6, 37])
def test_junk_in_front_of_the_first_block_is_a_corrupt_block(length: int) -> None:
    data = JUNK[:length] + A
    assert picture(data) == [("!", 0, length), ("001", length, SIZE)]
    assert "expected the magic b'#HUDI#', found" in reasons(data)[0]


def test_damage_in_the_first_magic_costs_the_first_block() -> None:
    assert picture(b"#HTDI#" + A[6:] + B) == [("!", 0, SIZE), ("002", SIZE, SIZE)]


def test_damage_in_a_later_magic_costs_that_block_and_the_one_before() -> None:
    assert picture(A + B + b"#HTDI#" + C[6:]) == [("001", 0, SIZE), ("!", SIZE, 2 * SIZE)]
    assert picture(A + b"#HTDI#" + B[6:] + C) == [("!", 0, 2 * SIZE), ("003", 2 * SIZE, SIZE)]


@pytest.mark.parametrize(
    "broken",
    [
        envelope(version=0),
        envelope(version=2),
        envelope(kind=2),
        envelope(kind=-1),
        envelope(kind=7),
        envelope(header=b"\0\0\0\1" + entry(9, b"x")),
        envelope(header=b"\x7f\xff\xff\xff"),
        envelope(header=b"\0\0\0\1" + entry(0, b"x", length=2**31 - 1)),
        envelope(content=b"abc", content_length=-62),
        envelope(content=b"abc", content_length=2**40),
        envelope(content=b"abc", content_length=3 + SIZE),
        envelope(footer=b"\0\0\0\1" + entry(0, b"x")),
    ],
    ids=["version 0", "version 2", "type 2", "type -1", "type 7", "header key", "header count", "header value",
         "content length back to the magic", "content length past the end", "content length over the next", "footer"],
)  # fmt: skip
def test_a_field_that_hudi_stumbles_over_costs_its_block_and_no_other(broken: bytes) -> None:
    assert picture(A + broken + B) == [("001", 0, SIZE), ("!", SIZE, len(broken)), ("002", SIZE + len(broken), SIZE)]
    assert len(reasons(A + broken + B)) == 1


def test_a_size_off_by_4_gib_is_read_as_in_hudi_and_a_pointer_is_not() -> None:
    assert names(A + resized(B, 2**32 + 63) + C) == "001 002 003"
    assert names(A + resized(B, 63 - 2**32) + C) == "001 002 003"
    block = list(LogReader(A + resized(B, 2**32 + 63) + C))[1]
    assert encode_block(block) == resized(B, 2**32 + 63)
    assert names(A + B[:-8] + (2**32 + 69).to_bytes(8, "big") + C) == "001 ! 003"


# Reverse


@pytest.mark.parametrize(
    "data",
    [A + b"\0" + B, b"\0\0\0" + A, A + B + JUNK[:3], A + B + JUNK, A + MAGIC + B, A + resized(B, 70) + C, MAGIC + A],
    ids=["a byte between", "short junk in front", "short tail", "long tail", "magic twice", "size", "magic in front"],
)  # fmt: skip
def test_damage_reads_the_same_in_reverse(data: bytes) -> None:
    assert list(scan_blocks_reversed(memoryview(data))) == list(scan_blocks(memoryview(data)))[::-1]
    assert picture(data)


@pytest.mark.parametrize("pointer", [0, -1, 2**62, -(2**63), SIZE - 9, SIZE - 7])
def test_a_last_pointer_that_leads_astray_is_not_followed(pointer: int) -> None:
    assert names(A + B[:-8] + pointer.to_bytes(8, "big", signed=True)) == "001 !"


def test_sound_blocks_behind_damage_are_read_in_reverse_without_looking_at_it() -> None:
    backwards = scan_blocks_reversed(memoryview(JUNK * 1000 + A + B))
    assert [next(backwards).instant, next(backwards).instant] == ["002", "001"]


# Parts


def test_a_scan_may_start_at_a_later_block() -> None:
    assert [block.offset for block in scan_blocks(memoryview(A + B + C), SIZE)] == [SIZE, 2 * SIZE]


def test_the_worked_example_of_the_spec_page() -> None:
    section = PAGE.read_text().split("\n## Worked example")[1]
    dump, result = section.split("```")[1:4:2]
    data = bytes.fromhex("".join(re.findall(r"^((?:[0-9a-f]{2} ?)+)(?:\s|$)", dump, re.MULTILINE)))
    read = [f"{b.offset} {b.size} {b.type.name} {b.reason or b.instant}" for b in LogReader(data)]
    assert [" ".join(line.split()) for line in result.strip().splitlines()[1:]] == read
    assert len(read) == 4
