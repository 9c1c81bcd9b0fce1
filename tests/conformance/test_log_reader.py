"""The same log files, sound and damaged, read by Hudi's HoodieLogFileReader and here.

``HUDIFORMAT_MUTANTS`` says how many files; ``-s`` shows the figures.
"""

from __future__ import annotations

import os
import re
import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from hudiformat.codec.log.block import LogBlock
from hudiformat.codec.log.frame import MAGIC, BlockType
from hudiformat.codec.log.reader import LogReader
from hudiformat.codec.log.salvage import salvage
from hudiformat.codec.log.verify import FindingKind, scan_parts, verify_log
from tests.codec.log.golden import ARCHIVES
from tests.codec.log.golden import log_files as golden_files
from tests.conformance.hudi import RealHudi
from tests.conformance.java import JavaClass
from tests.conformance.mutants import LogFile, log_files
from tests.effort import LONG

COUNT = int(os.environ.get("HUDIFORMAT_MUTANTS", "300" if LONG else "100"))
SEED = 20261121
MOST_BLOCKS = 500
"""More than any of the files has; a reader that gives more goes round in circles."""

DUMP = Path(__file__).with_name("log_dump.java")

pytestmark = pytest.mark.skipif(COUNT == 0, reason="no files were asked for")

Fact = tuple[int, int, int, int, tuple[tuple[int, str], ...]]
"""Type, content offset and length, checksum of the content, header."""


@dataclass(frozen=True, slots=True)
class JavaReading:
    """What Hudi's reader made of a file; ``ends`` are where it says its blocks end."""

    blocks: tuple[Fact, ...]
    ends: tuple[int, ...]
    outcome: str


@pytest.fixture(scope="module")
def read_with_hudi(hudi: RealHudi, tmp_path_factory: pytest.TempPathFactory) -> ReadWithHudi:
    return ReadWithHudi(JavaClass(hudi, "LogDump", DUMP), tmp_path_factory.mktemp("logs"))


class ReadWithHudi:
    """Reads files in one call to the JVM."""

    def __init__(self, java: JavaClass, folder: Path) -> None:
        self._java = java
        self._folder = folder
        self._next = 0

    def __call__(self, files: list[bytes]) -> list[JavaReading]:
        paths = []
        for data in files:
            self._next += 1
            paths.append(self._folder / f".f-0_001.log.{self._next}_1-2-3")
            paths[-1].write_bytes(data)
        text = self._java.call("read", "\n".join(map(str, paths)), MOST_BLOCKS)
        for path in paths:
            path.unlink()
        readings = list(_readings(text))
        assert len(readings) == len(files)
        return readings


def _readings(text: str) -> Iterator[JavaReading]:
    blocks: list[Fact] = []
    ends: list[int] = []
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        if word != "block":
            yield JavaReading(tuple(blocks), tuple(ends), line)
            blocks, ends = [], []
            continue
        numbers, entries = rest.split()[:5], rest.split()[5:]
        kind, position, size, end, checksum = map(int, numbers)
        pairs = (entry.split("=") for entry in entries)
        header = {int(key): _plain(bytes.fromhex(value).decode()) for key, value in pairs}
        blocks.append((kind, position, size, checksum, tuple(sorted(header.items()))))
        ends.append(end)


def _plain(text: str) -> str:
    """Without the mark for what is no UTF-8, which Java and Python set in different numbers."""
    return re.sub("\ufffd+", "\ufffd", text)


def facts(block: LogBlock) -> Fact:
    header = tuple(sorted((int(key), _plain(value)) for key, value in block.header.items()))
    return (block.type, block.content_offset or 0, len(block.content), zlib.crc32(block.content), header)


def swallows(data: bytes, reading: JavaReading) -> int | None:
    """The first of Hudi's blocks that does not end where its own size says; None when all do."""
    start = 0
    for number, (block, end) in enumerate(zip(reading.blocks, reading.ends, strict=True)):
        if block[0] != BlockType.CORRUPT:
            (low,) = struct.unpack(">i", data[start + 10 : start + 14])
            if end != start + 14 + low:
                return number
        start = end
    return None


def intact_blocks(file: LogFile) -> Iterator[tuple[int, int]]:
    """Where in the file, damaged as it is, the blocks that it was made of still stand whole."""
    for block in set(file.blocks):
        at = file.data.find(block)
        while at >= 0:
            yield at, at + len(block)
            at = file.data.find(block, at + 1)


def missed(file: LogFile, found: list[LogBlock]) -> list[int]:
    """The intact blocks that are none of *found* and should be: a magic or the end of the file follows them, they do
    not lie inside another sound block, and do not begin with the last byte of another magic."""
    spans = [(block.offset or 0, block.size or 0) for block in found if block.type is not BlockType.CORRUPT]
    starts = {start for start, _ in spans}
    return [
        start
        for start, end in intact_blocks(file)
        if start not in starts
        and (file.data[end : end + 6] == MAGIC or len(file.data) - end < 6)
        and not any(at < start < at + size for at, size in spans)
        and not (start >= 5 and file.data[start - 5 : start + 1] == MAGIC)
    ]


def behind(file: LogFile, start: int) -> int:
    return sum(1 for at, _ in intact_blocks(file) if at >= start)


def test_the_same_blocks_as_hudi_wherever_it_goes_on_and_more_where_it_does_not(read_with_hudi: ReadWithHudi) -> None:
    files = log_files(SEED, COUNT)
    figures: Counter[str] = Counter(files=len(files), sound=sum(not file.damage for file in files))
    for file, java in zip(files, read_with_hudi([file.data for file in files]), strict=True):
        found = list(LogReader(file.data))
        ours = tuple(map(facts, found))
        swallowed = swallows(file.data, java)
        label = f"{file.damage}: Hudi {java.outcome}\n{file.data.hex()}"
        if java.outcome == "ends" and swallowed is None:
            figures["agreed"] += 1
            assert ours == java.blocks, label
        else:
            agreed = len(java.blocks) if swallowed is None else swallowed
            assert ours[:agreed] == java.blocks[:agreed], label
            kind = "Hudi swallows" if java.outcome == "ends" else f"Hudi {java.outcome.split()[0]}"
            figures[kind] += 1
            figures["blocks found behind"] += sum(block.type is not BlockType.CORRUPT for block in found[agreed:])
        assert missed(file, found) == [], label
        assert file.damage or (java.outcome == "ends" and len(found) == len(file.blocks)), label
    print(dict(figures))
    if COUNT >= 300:
        assert {"agreed", "Hudi throws", "Hudi swallows", "Hudi loops"} <= figures.keys()


def test_what_is_salvaged_is_read_by_hudi_to_its_end(read_with_hudi: ReadWithHudi, tmp_path: Path) -> None:
    files = log_files(SEED + 1, COUNT // 3)
    saved = []
    for number, file in enumerate(files):
        target = tmp_path / str(number)
        salvage(file.data, target)
        saved.append(target.read_bytes())
        target.unlink()
    figures: Counter[str] = Counter(files=len(files))
    for file, data, java in zip(files, saved, read_with_hudi(saved), strict=True):
        intact = [part for part in scan_parts(memoryview(file.data)) if isinstance(part, LogBlock)]
        label = f"{file.damage}: Hudi {java.outcome}\n{data.hex()}"
        assert not [start for start, _ in intact_blocks(file) if not _covered(start, intact)], label
        ours = tuple(map(facts, LogReader(data)))
        assert ours[: len(java.blocks)] == java.blocks, label
        figures["blocks"] += len(ours)
        if java.outcome != "ends":  # a command or a schema that was damaged: it is in the headers, and no length lies
            figures["Hudi throws"] += 1
            assert FindingKind.CONTENT in {finding.kind for finding in verify_log(data)}, label
        else:
            assert ours == java.blocks, label
    print(dict(figures))


def test_every_golden_log_file_is_read_by_hudi_to_the_same_blocks(read_with_hudi: ReadWithHudi) -> None:
    files = [data for archive in ARCHIVES for data in golden_files(archive).values()]
    readings = read_with_hudi(files)
    assert {reading.outcome for reading in readings} == {"ends"}
    assert [tuple(map(facts, LogReader(data))) for data in files] == [reading.blocks for reading in readings]


def _covered(start: int, blocks: list[LogBlock]) -> bool:
    return any((block.offset or 0) <= start < (block.offset or 0) + (block.size or 0) for block in blocks)
