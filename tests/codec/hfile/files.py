"""HFiles for tests: those of the golden tables, those that HBase wrote, and some that are put together here."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pyarrow as pa

from hudiformat.codec.hfile.block import BlockType, Compression, encode_block
from hudiformat.codec.hfile.entries import encode_entries
from hudiformat.codec.hfile.file_info import encode_file_info
from hudiformat.codec.hfile.index import IndexEntry, encode_data_index
from hudiformat.codec.hfile.trailer import HFileTrailer, encode_trailer
from hudiformat.codec.hfile.writer import encode_hfile
from hudiformat.codec.log.reader import LogReader
from hudiformat.errors import NameFormatError
from hudiformat.naming.file_names import LogFileName

ARCHIVES = sorted((Path(__file__).parents[2] / "golden").glob("*.zip"))
HBASE = sorted((Path(__file__).parent / "hbase").glob("*.hfile"))
NONE = Compression.NONE

Entry = tuple[bytes, bytes]


@cache
def golden_files(archive: Path) -> dict[str, bytes]:
    """Every HFile in a golden table: the base files, and the contents of log blocks."""
    with zipfile.ZipFile(archive) as files:
        names = [name for name in files.namelist() if name.endswith(".hfile")]
        found = {name: files.read(name) for name in names}
        for name in filter(_is_log_file, files.namelist()):
            for block in LogReader(files.read(name)):
                if block.type.name == "HFILE_DATA":
                    found[f"{name}@{block.offset}"] = bytes(block.content)
    return found


def _is_log_file(name: str) -> bool:
    try:
        LogFileName.parse(name.rsplit("/", 1)[-1])
    except NameFormatError:
        return False
    return True


def hfile(entries: Sequence[Entry], **options: object) -> bytes:
    """An HFile of *entries*, not compressed unless asked for."""
    keys, values = (pa.array([entry[at] for entry in entries], pa.binary()) for at in (0, 1))
    return encode_hfile(keys, values, **{"compression": "none", **options})  # type: ignore[arg-type]  # options of several types


def rows(batches: Iterator[pa.RecordBatch]) -> list[Entry]:
    """The entries of all batches."""
    return [(row["key"], row["value"]) for batch in batches for row in batch.to_pylist()]


def numbered(count: int) -> list[Entry]:
    """Entries in order."""
    return [(b"key %05d" % number, b"value %d" % number) for number in range(count)]


def put_together(
    parts: Sequence[bytes],
    root: Sequence[IndexEntry],
    *,
    info: bytes | None = None,
    data_index_levels: int = 1,
    entry_count: int = 0,
) -> bytes:
    """A file of blocks made elsewhere, with this root index."""
    head = b"".join(parts)
    if info is None:
        info = encode_file_info({}, last_key=None, lengths=(0, 0), creation_time=0)
    section = [
        encode_block(BlockType.ROOT_INDEX, encode_data_index(root), NONE),
        encode_block(BlockType.ROOT_INDEX, b"", NONE),
        encode_block(BlockType.FILE_INFO, info, NONE),
    ]
    trailer = HFileTrailer(
        load_on_open_offset=len(head),
        data_index_count=len(root),
        data_index_levels=data_index_levels,
        entry_count=entry_count,
    )
    return b"".join((head, *section, encode_trailer(trailer)))


def data_block(entries: Sequence[Entry]) -> bytes:
    """A data block of *entries*."""
    keys, values = (pa.array([entry[at] for entry in entries], pa.large_binary()) for at in (0, 1))
    return encode_block(BlockType.DATA, encode_entries(keys, values), NONE)


def inner_index(kind: BlockType, entries: Sequence[IndexEntry]) -> bytes:
    """An intermediate or leaf block, which hudiformat only reads."""
    encoded = [
        entry.offset.to_bytes(8, "big", signed=True)
        + entry.size.to_bytes(4, "big", signed=True)
        + len(entry.key).to_bytes(2, "big")
        + entry.key
        for entry in entries
    ]
    places = [sum(map(len, encoded[:number])) for number in range(len(encoded) + 1)]
    numbers = b"".join(number.to_bytes(4, "big") for number in (len(entries), *places))
    return encode_block(kind, numbers + b"".join(encoded), NONE)


class Watched:
    """Bytes that remember which ranges of them were read."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.ranges: list[tuple[int, int]] = []

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, key: slice, /) -> bytes:
        self.ranges.append((key.start, key.stop))
        return self._data[key]
