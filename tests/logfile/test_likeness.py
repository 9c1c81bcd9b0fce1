"""Blocks that begin like the one before, found many at a time, are those that are found one by one."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.blocks import LogBlock, data_block, encode_block, rollback_block
from hudiformat.logfile import likeness, scan_blocks
from hudiformat.logfile.scan import _block_at


def _alike(count: int) -> list[bytes]:
    schema = pa.schema([("n", pa.int64())])
    batches = [pa.RecordBatch.from_pydict({"n": list(range(n % 5))}, schema=schema) for n in range(count)]
    return [encode_block(data_block(batch, instant="001")) for batch in batches]


def _one_by_one(data: bytes) -> list[LogBlock]:
    found, start = [], 0
    while len(data) - start >= 6:
        found.append(_block_at(memoryview(data), start))
        start += found[-1].size or 0
    return found


def _places(blocks: list[LogBlock]) -> list[tuple[int | None, int | None, str | None]]:
    return [(block.offset, block.size, block.reason) for block in blocks]


@pytest.mark.parametrize("count", [1, 2, 15, 16, 17, 18, 48, 49, 50, 3000])
def test_all_of_them_are_found(count: int) -> None:
    data = b"".join(_alike(count))
    found = list(scan_blocks(memoryview(data)))
    assert found == _one_by_one(data)
    assert _places(found) == _places(_one_by_one(data))
    assert len(found) == count
    assert all(block.header is found[0].header for block in found)


def test_what_is_not_alike_is_found_as_well() -> None:
    other = encode_block(rollback_block(instant="2", target="1"))
    parts = _alike(60)
    data = b"".join([*parts[:20], other, *parts[20:40], b"junk", *parts[40:], b"#HUD"])
    found = list(scan_blocks(memoryview(data)))
    assert found == _one_by_one(data)
    assert _places(found) == _places(_one_by_one(data))


@given(at=st.integers(0, 10_000), bit=st.integers(0, 7), cut=st.integers(0, 200))
def test_one_bit_among_many_blocks_changes_nothing_between_the_two(at: int, bit: int, cut: int) -> None:
    data = bytearray(b"".join(_alike(25)))
    data[at % len(data)] ^= 1 << bit
    damaged = bytes(data[: len(data) - cut])
    found = list(scan_blocks(memoryview(damaged)))
    assert found == _one_by_one(damaged)
    assert _places(found) == _places(_one_by_one(damaged))


@pytest.mark.parametrize("limit", ["_RUN_BYTES", "_LEAD_BYTES"])
def test_fewer_are_looked_at_where_blocks_or_headers_are_long(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(likeness, limit, 1)
    data = b"".join(_alike(100))
    assert list(scan_blocks(memoryview(data))) == _one_by_one(data)
