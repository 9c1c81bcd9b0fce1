"""Blocks that begin like the one before, found many at a time, are those that are found one by one."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.blocks import (
    LogBlock,
    Quirks,
    batches,
    data_block,
    decode_block,
    delete_block,
    encode_block,
    rollback_block,
)
from hudiformat.blocks.batches import record_batches
from hudiformat.errors import CorruptBlockError
from hudiformat.logfile import LogReader, reader, scan_blocks
from hudiformat.logfile.reader import _block_at, scan_runs


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
    monkeypatch.setattr(reader, limit, 1)
    data = b"".join(_alike(100))
    assert list(scan_blocks(memoryview(data))) == _one_by_one(data)


def _mixed() -> bytes:
    """Small blocks, a larger one among them, others between, one with a quirk, and damage."""
    parts = _alike(60)
    large = encode_block(data_block(pa.RecordBatch.from_pydict({"n": range(9000)}), instant="001"))
    block, _ = decode_block(parts[3])
    quirky = encode_block(block._replace(quirks=Quirks(footer_count=-1)))
    deletes = encode_block(delete_block(["a"], instant="002"))
    return b"".join([*parts[:9], deletes, *parts[9:20], large, *parts[20:30], b"junk", *parts[30:], quirky, *parts[:2]])


@pytest.mark.parametrize("limit", ["_SMALL", "_FARTHEST", "_MOST_BYTES", ""])
def test_the_records_of_runs_are_those_of_their_blocks(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if limit:
        monkeypatch.setattr(batches, limit, 100)
    data = _mixed()
    expected = [row for batch in record_batches(_one_by_one(data)) for row in batch["n"].to_pylist()]
    assert LogReader(data).to_arrow()["n"].to_pylist() == expected
    assert len(expected) > 9000


def test_small_blocks_are_decoded_together() -> None:
    data = b"".join(_alike(100))
    assert [len(batch) for batch in record_batches(scan_runs(memoryview(data)))] == [200]


def test_a_block_of_a_run_that_lies_about_its_records_is_refused_by_itself() -> None:
    parts = _alike(40)
    block, _ = decode_block(parts[22])
    parts[22] = encode_block(block._replace(content=b"\0\0\0\3\x7f\xff\xff\xff" + bytes(block.content[8:])))
    with pytest.raises(CorruptBlockError, match=f"2147483647 records are declared, in {len(block.content) - 8} bytes"):
        LogReader(b"".join(parts)).to_arrow()
