from __future__ import annotations

import contextlib
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from hudiformat import testing
from hudiformat.blocks import MAGIC, BlockType, LogBlock, encode_block
from hudiformat.errors import HudiFormatError
from hudiformat.logfile import LogReader
from tests.effort import examples

CORRUPT = BlockType.CORRUPT


def places(blocks: Sequence[LogBlock]) -> list[tuple[int | None, int | None]]:
    return [(block.offset, block.size) for block in blocks]


def check(data: bytes) -> list[LogBlock]:
    """What holds for every file: each byte is in one block, reading back gives the bytes, and reverse is reverse."""
    blocks = list(LogReader(data))
    end = 0
    for block in blocks:
        assert block.offset == end
        assert block.size
        assert encode_block(block) == data[end : end + block.size]
        assert (block.reason is None) == (block.type is not CORRUPT)
        end += block.size
    assert len(data) - end < len(MAGIC)
    backwards = list(reversed(LogReader(data)))
    assert backwards == blocks[::-1]
    assert places(backwards) == places(blocks[::-1])
    return blocks


def whole_blocks(blocks: Sequence[LogBlock], cut: int) -> tuple[list[LogBlock], int]:
    """The blocks that lie before *cut*, and where they end."""
    end, whole = 0, []
    for block in blocks:
        size = len(encode_block(block))
        if end + size > cut:
            break
        end += size
        whole.append(block)
    return whole, end


@settings(deadline=None)
@given(blocks=st.lists(testing.blocks(), max_size=5))
def test_blocks_that_are_written_are_read_in_both_directions(blocks: list[LogBlock]) -> None:
    assert check(b"".join(map(encode_block, blocks))) == blocks


@settings(deadline=None)
@given(blocks=st.lists(testing.blocks(magic_inside=False), min_size=1, max_size=5), data=st.data())
def test_a_file_cut_at_any_byte_yields_its_whole_blocks_and_at_most_one_corrupt_block(
    blocks: list[LogBlock], data: st.DataObject
) -> None:
    encoded = b"".join(map(encode_block, blocks))
    cut = data.draw(st.integers(0, len(encoded)))
    whole, end = whole_blocks(blocks, cut)
    found = check(encoded[:cut])
    assert found[: len(whole)] == whole
    assert places(found[len(whole) :]) == ([(end, cut - end)] if cut - end >= len(MAGIC) else [])
    assert all(block.type is CORRUPT for block in found[len(whole) :])


@settings(deadline=None)
@given(blocks=st.lists(testing.blocks(), min_size=1, max_size=4), data=st.data())
def test_a_cut_inside_a_content_with_a_magic_costs_no_block_before_it(
    blocks: list[LogBlock], data: st.DataObject
) -> None:
    encoded = b"".join(map(encode_block, blocks))
    cut = data.draw(st.integers(0, len(encoded)))
    whole, _ = whole_blocks(blocks, cut)
    assert check(encoded[:cut])[: len(whole)] == whole


@settings(deadline=None)
@given(junk=st.binary(max_size=300) | st.lists(st.sampled_from([MAGIC, b"\0", b"#", b"\xff" * 8])).map(b"".join))
def test_any_bytes_are_blocks(junk: bytes) -> None:
    check(junk)
    check(MAGIC + junk)


@settings(deadline=None, max_examples=examples(250))
@given(data=testing.damaged_log_files())
def test_a_damaged_file_raises_only_our_errors_and_only_when_contents_are_read(data: bytes) -> None:
    for block in check(data):
        for read in (block.num_records, block.to_arrow, block.deletes):
            with contextlib.suppress(HudiFormatError):
                read()


@settings(deadline=None)
@given(
    before=st.lists(testing.blocks(magic_inside=False), max_size=2),
    hit=testing.blocks(magic_inside=False),
    after=st.lists(testing.blocks(magic_inside=False), max_size=2),
    data=st.data(),
)
def test_damage_to_one_block_leaves_all_but_the_one_before_it_readable(
    before: list[LogBlock], hit: LogBlock, after: list[LogBlock], data: st.DataObject
) -> None:
    """The one before is lost when the magic behind it is hit, as in Hudi."""
    encoded = encode_block(hit)
    at = data.draw(st.integers(0, len(encoded) - 1))
    damaged = encoded[:at] + bytes([encoded[at] ^ 0x55]) + encoded[at + 1 :]
    found = check(b"".join([*map(encode_block, before), damaged, *map(encode_block, after)]))
    kept = len(before) if at >= len(MAGIC) else max(len(before) - 1, 0)
    assert found[:kept] == before[:kept]
    assert found[len(found) - len(after) :] == after
