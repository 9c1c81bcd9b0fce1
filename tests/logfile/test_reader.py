from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from hudiformat.blocks import (
    BlockHeader,
    BlockType,
    HeaderKey,
    LogBlock,
    data_block,
    encode_block,
    encode_block_parts,
    rollback_block,
)
from hudiformat.errors import SchemaError, StorageError
from hudiformat.logfile import LogReader
from tests.logfile.memory_storage import MemoryStorage

NAME = ".f-0_001.log.1_1-2-3"
BLOCKS = [rollback_block(instant=f"00{number}", target="000") for number in (1, 2, 3)]
DATA = b"".join(map(encode_block, BLOCKS))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / NAME
    path.write_bytes(DATA)
    return path


# Sources


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


# Reading


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


# Closing


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


# Laziness


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


# All records


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
    with pytest.raises(SchemaError, match=r"blocks of different schemas, \['n'\] and \['m'\]: pass schema="):
        LogReader(encode_block(_rows(1)) + encode_block(other)).to_arrow()
