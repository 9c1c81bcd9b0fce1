"""The decoder gives the blocks of the whole file, however the file is cut into pieces."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable, Iterable
from types import FrameType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudiformat import testing
from hudiformat.codec.log.block import LogBlock, encode_block
from hudiformat.codec.log.build import rollback_block
from hudiformat.codec.log.decoder import LogDecoder
from hudiformat.codec.log.frame import MAGIC, BlockHeader, BlockType, HeaderKey
from hudiformat.codec.log.reader import LogReader, next_magic, scan_blocks
from hudiformat.codec.log.verify import scan_parts
from hudiformat.errors import DecodeError
from tests.codec.log.vectors import entry, envelope
from tests.effort import sample

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
    with pytest.raises(DecodeError, match="at byte 77: feed.. was called after finish"):
        decoder.feed(b"")


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


ENTRY = entry(0, b"")


def magics_in_header_values(size: int) -> bytes:
    """One block whose only header value is magics; its reverse pointer is wrong, so each of them is looked at."""
    return envelope(header=b"\0\0\0\1" + entry(0, MAGIC * (size // 6)), pointer=0)


def magics_that_begin_long_headers(size: int) -> bytes:
    """Candidates that all run on into the same, long run of header entries."""
    head = MAGIC + (size * 2).to_bytes(8, "big") + b"\0\0\0\1\0\0\0\0\0\0\0\x40"
    return head * (size // 2 // len(head)) + ENTRY * (size // 2 // len(ENTRY))


def candidates_that_overlap(size: int) -> bytes:
    """Candidates of one length, each a step behind the last: all is right but the reverse pointer, by one."""
    step, count = 64, size // 3 // 64
    distance = 2 * count * step
    starts, ends = bytearray(distance), bytearray(count * step)
    head = MAGIC + (distance + 6).to_bytes(8, "big") + b"\0\0\0\1\0\0\0\0\0\0\0\1"
    head += entry(0, b"", length=distance - 34)
    tail = bytes(12) + (distance + 13).to_bytes(8, "big") + MAGIC
    for at in range(0, count * step, step):
        starts[at : at + len(head)] = head
        ends[at : at + len(tail)] = tail
    return bytes(starts + ends)


def magics(size: int) -> bytes:
    return MAGIC * (size // 6)


def half_magics(size: int) -> bytes:
    return MAGIC[:5] * (size // 5)


def zeros(size: int) -> bytes:
    return bytes(size)


def empty_blocks(size: int) -> bytes:
    block = envelope()
    return block * (size // len(block))


def most_entries_and_a_lie(size: int) -> bytes:
    block = envelope(header=b"\0\0\0\x40" + ENTRY * 64, content_length=1)
    return block * (size // len(block))


FORGERIES = [
    magics_in_header_values,
    magics_that_begin_long_headers,
    candidates_that_overlap,
    magics,
    half_magics,
    zeros,
    empty_blocks,
    most_entries_and_a_lie,
]


class Cost:
    """Counts calls while it is entered, and the bytes that the search for a magic goes over."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls = self.searched = 0
        search = next_magic

        def counting(data: bytes, start: int, *, searched: int = 0) -> int:
            end = search(data, start, searched=searched)
            self.searched += end - start - searched
            return end

        monkeypatch.setattr("hudiformat.codec.log.reader.next_magic", counting)
        monkeypatch.setattr("hudiformat.codec.log.decoder.next_magic", counting)

    def __enter__(self) -> Cost:
        self._before = sys.getprofile()
        sys.setprofile(self._count)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(self._before)

    def _count(self, _frame: FrameType, event: str, _argument: object) -> None:
        self.calls += event in ("call", "c_call")


def scan_forward(data: bytes) -> None:
    for _ in LogReader(data):
        pass


def scan_in_reverse(data: bytes) -> None:
    for _ in reversed(LogReader(data)):
        pass


def feed(data: bytes) -> None:
    decoder = LogDecoder()
    for start in range(0, len(data), 37):
        decoder.feed(data[start : start + 37])
        while decoder.next_block():
            pass
    decoder.finish()
    while decoder.next_block():
        pass


def look_through(data: bytes) -> None:
    for _ in scan_parts(memoryview(data)):
        pass


@pytest.mark.parametrize("read", [scan_forward, scan_in_reverse, feed, look_through])
@pytest.mark.parametrize("forge", sample(FORGERIES, of=8))
def test_a_file_of_twice_the_size_takes_twice_the_work(
    forge: Callable[[int], bytes], read: Callable[[bytes], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    costs = []
    for size in (6_000, 12_000):
        data = forge(size)
        with Cost(monkeypatch) as cost:
            read(data)
        costs.append(cost)
        assert cost.searched <= 3 * len(data)
        monkeypatch.undo()
    assert costs[1].calls < 2.2 * costs[0].calls


@pytest.mark.parametrize("read", sample([scan_forward, scan_in_reverse, feed, look_through], of=4))
@pytest.mark.parametrize("forge", [magics_in_header_values, candidates_that_overlap])
def test_bytes_are_copied_only_out_of_sound_blocks(
    forge: Callable[[int], bytes], read: Callable[[bytes], None]
) -> None:
    data = forge(40_000)
    tracemalloc.start()
    try:
        read(data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * len(data) + 20_000


@pytest.mark.parametrize("claim", [2**31 - 1 - 32, 2**20])
def test_a_length_that_claims_much_costs_no_memory(claim: int) -> None:
    lies = [
        envelope(size=claim, content_length=claim - 32),
        envelope(header=claim.to_bytes(4, "big"), size=claim),
        envelope(header=b"\0\0\0\1" + entry(0, b"x", length=claim), size=claim + 32),
    ]
    tracemalloc.start()
    try:
        for data in lies:
            assert [block.type for block in LogReader(data)] == [BlockType.CORRUPT]
            feed(data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100_000


def test_the_forgeries_are_what_they_say() -> None:
    kinds = [{block.type for block in LogReader(forge(3000))} for forge in FORGERIES]
    assert kinds == [{BlockType.CORRUPT}] * 6 + [{BlockType.COMMAND}, {BlockType.CORRUPT}]
    overlapping = list(LogReader(candidates_that_overlap(3000)))
    assert [block.reason for block in overlapping[:3]] == [
        f"at byte {at}: block size 1926, but reverse pointer 1933" for at in (1932, 1996, 2060)
    ]
    for forge in FORGERIES:
        data = forge(3000)
        encoded = b"".join(map(encode_block, LogReader(data)))
        assert encoded == data[: len(encoded)]
