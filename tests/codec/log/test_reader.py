from __future__ import annotations

import contextlib
import gc
import os
import pickle
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudiformat import testing
from hudiformat.codec.log import reader
from hudiformat.codec.log.batches import GroupLimits, record_batches
from hudiformat.codec.log.block import LogBlock, decode_block, encode_block, encode_block_parts
from hudiformat.codec.log.build import data_block, delete_block, rollback_block
from hudiformat.codec.log.frame import MAGIC, BlockHeader, BlockType, HeaderKey, Quirks
from hudiformat.codec.log.reader import LogReader, block_at, scan_blocks, scan_blocks_reversed, scan_runs
from hudiformat.errors import CorruptBlockError, HudiFormatError, SchemaError, StorageError
from tests.codec.log.memory_storage import MemoryStorage
from tests.codec.log.vectors import entry, envelope
from tests.effort import examples, sample

NAME = ".f-0_001.log.1_1-2-3"


BLOCKS = [rollback_block(instant=f"00{number}", target="000") for number in (1, 2, 3)]


DATA = b"".join(map(encode_block, BLOCKS))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / NAME
    path.write_bytes(DATA)
    return path


def test_a_path_is_read(path: Path) -> None:
    with LogReader(str(path)) as reader:
        assert (reader.path, reader.size) == (str(path), len(DATA))
        assert list(reader) == BLOCKS


def test_a_path_object_is_read(path: Path) -> None:
    assert LogReader(path).path == str(path)
    assert list(LogReader(path)) == BLOCKS


def test_a_relative_path_is_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    assert list(LogReader(NAME)) == BLOCKS
    assert list(LogReader(f"./{NAME}")) == BLOCKS


@pytest.mark.parametrize("scheme", ["file:", "file://"])
def test_a_file_uri_is_read(path: Path, scheme: str) -> None:
    assert list(LogReader(f"{scheme}{path}")) == BLOCKS


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda data: memoryview(data).cast("b")])
def test_bytes_are_read(kind: type[bytes]) -> None:
    reader = LogReader(kind(DATA))
    assert (reader.path, reader.size) == (None, len(DATA))
    assert list(reader) == BLOCKS


def test_a_path_of_a_storage_is_read() -> None:
    storage = MemoryStorage()
    storage.create(f"p/{NAME}", DATA)
    assert list(LogReader(f"p/{NAME}", storage=storage)) == BLOCKS


def test_an_empty_file_has_no_blocks(tmp_path: Path) -> None:
    (tmp_path / NAME).touch()
    with LogReader(tmp_path / NAME) as reader:
        assert (reader.size, list(reader), list(reversed(reader))) == (0, [], [])


def test_a_missing_file_is_a_storage_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="No such file") as caught:
        LogReader(tmp_path / NAME)
    assert caught.value.path == str(tmp_path / NAME)


def test_a_folder_is_a_storage_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="Is a directory"):
        LogReader(tmp_path)


def test_a_scheme_that_is_not_supported_is_named() -> None:
    with pytest.raises(StorageError, match="cannot open nfs4://bucket/table"):
        LogReader(f"nfs4://bucket/table/{NAME}")


def test_a_reader_is_read_as_often_as_one_likes(path: Path) -> None:
    with LogReader(path) as reader:
        assert list(reader) == list(reader) == BLOCKS
        assert list(reversed(reader)) == list(reversed(reader)) == BLOCKS[::-1]
        for block, other in zip(reader, reversed(reader), strict=True):
            assert (block == other) == (block.instant == "002")


def test_what_is_appended_after_opening_is_not_seen(path: Path) -> None:
    with LogReader(path) as reader:
        with path.open("ab") as file:
            file.write(DATA)
        assert list(reader) == BLOCKS
    assert len(list(LogReader(path))) == 6


def test_a_closed_reader_refuses(path: Path) -> None:
    reader = LogReader(path)
    reader.close()
    reader.close()
    for use in (iter, reversed, lambda reader: reader.size):
        with pytest.raises(StorageError, match=f"the reader of {path} is closed") as caught:
            use(reader)
        assert caught.value.path == str(path)


def test_a_closed_reader_of_a_buffer_says_so() -> None:
    reader = LogReader(DATA)
    with reader:
        pass
    with pytest.raises(StorageError, match="the reader of a buffer is closed"):
        iter(reader)


def test_blocks_stay_usable_after_the_reader_is_closed(path: Path) -> None:
    with LogReader(path) as reader:
        begun = iter(reader)
        first = next(begun)
    path.unlink()
    gc.collect()
    assert encode_block(first) == encode_block(BLOCKS[0])
    assert list(begun) == BLOCKS[1:]


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Hole(bytes):
    """A content of half a GiB of zeros that takes no room."""

    def __len__(self) -> int:
        return 512 << 20


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc how much memory there is in use")
def test_contents_are_not_touched_when_a_file_is_scanned(tmp_path: Path) -> None:
    path = tmp_path / NAME
    block = LogBlock(BlockType.AVRO_DATA, BlockHeader({HeaderKey.INSTANT_TIME: "001"}), Hole())
    head, content, tail = encode_block_parts(block)
    with path.open("wb") as file:
        for _ in range(3):
            file.write(head)
            file.seek(len(content), os.SEEK_CUR)
            file.write(tail)
        file.write(head[:20])
    with LogReader(path) as reader:
        before = resident_bytes()
        forward, backward = list(reader), list(reversed(reader))
        grown = resident_bytes() - before
    sizes = [(block.type, block.instant, len(block.content)) for block in forward]
    assert sizes == [(BlockType.AVRO_DATA, "001", 512 << 20)] * 3 + [(BlockType.CORRUPT, None, 14)]
    assert [block.offset for block in backward] == [block.offset for block in forward][::-1]
    assert grown < 32 << 20


def _rows(*numbers: int) -> LogBlock:
    return data_block(pa.RecordBatch.from_pydict({"n": numbers}), instant="001")


def test_all_records_of_a_file_come_as_one_table() -> None:
    data = b"".join(map(encode_block, (_rows(1, 2), rollback_block(instant="2", target="1"), _rows(3))))
    assert LogReader(data + b"#HUDI#torn").to_arrow() == pa.table({"n": [1, 2, 3]})
    assert LogReader(data).to_arrow(pa.schema([("n", pa.float64())])).to_pydict() == {"n": [1.0, 2.0, 3.0]}


def test_a_file_without_records_is_an_empty_table() -> None:
    assert LogReader(DATA).to_arrow().num_rows == 0
    assert LogReader(DATA).to_arrow(pa.schema([("n", pa.int64())])).schema.names == ["n"]


def test_records_of_different_schemas_are_refused() -> None:
    other = data_block(pa.RecordBatch.from_pydict({"m": [1]}), instant="001")
    with pytest.raises(SchemaError, match=r"blocks with different schemas, .* \['n'\] and \['m'\]: pass"):
        LogReader(encode_block(_rows(1)) + encode_block(other)).to_arrow()


PAGE = Path(__file__).parents[3] / "spec" / "log-file.md"


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


def test_a_scan_may_start_at_a_later_block() -> None:
    assert [block.offset for block in scan_blocks(memoryview(A + B + C), SIZE)] == [SIZE, 2 * SIZE]


def test_the_worked_example_of_the_spec_page() -> None:
    section = PAGE.read_text().split("\n## Worked example")[1]
    dump, result = section.split("```")[1:4:2]
    data = bytes.fromhex("".join(re.findall(r"^((?:[0-9a-f]{2} ?)+)(?:\s|$)", dump, re.MULTILINE)))
    read = [f"{b.offset} {b.size} {b.type.name} {b.reason or b.instant}" for b in LogReader(data)]
    assert [" ".join(line.split()) for line in result.strip().splitlines()[1:]] == read
    assert len(read) == 4


def _alike(count: int) -> list[bytes]:
    schema = pa.schema([("n", pa.int64())])
    batches = [pa.RecordBatch.from_pydict({"n": list(range(n % 5))}, schema=schema) for n in range(count)]
    return [encode_block(data_block(batch, instant="001")) for batch in batches]


def _one_by_one(data: bytes) -> list[LogBlock]:
    found, start = [], 0
    while len(data) - start >= 6:
        found.append(block_at(memoryview(data), start))
        start += found[-1].size or 0
    return found


def _places(blocks: list[LogBlock]) -> list[tuple[int | None, int | None, str | None]]:
    return [(block.offset, block.size, block.reason) for block in blocks]


@pytest.mark.parametrize("count", sample([1, 2, 15, 16, 17, 18, 48, 49, 50, 3000], of=3))
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


@pytest.mark.parametrize("limit", ["small", "farthest", "most_bytes", ""])
def test_the_records_of_runs_are_those_of_their_blocks(limit: str) -> None:
    data = _mixed()
    expected = [row for batch in record_batches(_one_by_one(data)) for row in batch["n"].to_pylist()]
    limits = GroupLimits(**{limit: 100} if limit else {})
    found = list(record_batches(scan_runs(memoryview(data)), limits=limits))
    assert [row for batch in found for row in batch["n"].to_pylist()] == expected
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


@pytest.mark.slow
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


def test_a_reader_and_its_blocks_go_to_other_processes(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(DATA)
    for source in (tmp_path / "log", DATA):
        reader = pickle.loads(pickle.dumps(LogReader(source)))
        blocks = list(LogReader(source))
        assert list(reader) == blocks
        assert pickle.loads(pickle.dumps(blocks)) == blocks


@pytest.mark.parametrize(
    "condition", ["id = 'x'", [("id", "=", "x")], pc.field("id") == "x"], ids=["text", "tuples", "expression"]
)
def test_filters_have_three_forms(condition: Any) -> None:
    batch = pa.RecordBatch.from_pydict({"id": ["x", "y"]})
    data = encode_block(data_block(batch, instant="1"))
    assert LogReader(data).to_arrow(filter=condition).to_pylist() == [{"id": "x"}]
    for format_ in ("avro", "parquet"):
        [block] = LogReader(encode_block(data_block(batch, instant="1", format=format_)))
        assert block.to_arrow(filter=condition).to_pylist() == [{"id": "x"}]


def test_the_texts_of_a_file_can_be_views_that_outlive_the_reader(tmp_path: Path) -> None:
    texts = [f"the text of row {row}, which is longer than a view" for row in range(20)]
    block = data_block(pa.RecordBatch.from_pydict({"t": texts}), instant="001")
    (tmp_path / NAME).write_bytes(encode_block(block) * 3)
    with LogReader(tmp_path / NAME) as log:
        found = log.to_arrow(views=True)
    del log
    gc.collect()
    assert found.schema.field("t").type == pa.string_view()
    assert found["t"].to_pylist() == texts * 3
