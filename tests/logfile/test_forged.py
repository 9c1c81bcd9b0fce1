"""Forged files cost time in proportion to their size, and no more memory than they have bytes.

Time is counted in calls, of Python and of C, and in bytes searched and copied: what a file of twice the size costs.
"""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from types import FrameType

import pytest

from hudiformat.blocks import MAGIC, BlockType, encode_block
from hudiformat.logfile import LogDecoder, LogReader
from hudiformat.logfile.reader import next_magic
from hudiformat.logfile.verify import parts_of
from tests.blocks.vectors import entry, envelope

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

        monkeypatch.setattr("hudiformat.logfile.reader.next_magic", counting)
        monkeypatch.setattr("hudiformat.logfile.decoder.next_magic", counting)

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
    for _ in parts_of(memoryview(data)):
        pass


@pytest.mark.parametrize("read", [scan_forward, scan_in_reverse, feed, look_through])
@pytest.mark.parametrize("forge", FORGERIES)
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


@pytest.mark.parametrize("read", [scan_forward, scan_in_reverse, feed, look_through])
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
