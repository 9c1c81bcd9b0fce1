from __future__ import annotations

import mmap
from pathlib import Path

import pytest
from hypothesis import given, settings

from hudiformat import testing
from hudiformat.codec.log.block import LogBlock, encode_block, encode_block_parts
from hudiformat.codec.log.build import rollback_block
from hudiformat.codec.log.frame import MAGIC, BlockHeader, BlockType
from hudiformat.codec.log.reader import LogReader
from hudiformat.codec.log.salvage import SalvageReport, salvage
from hudiformat.codec.log.verify import FindingKind, scan_parts, verify_log
from hudiformat.errors import StorageError
from tests.codec.log.memory_storage import MemoryStorage

A, B, C = (encode_block(rollback_block(instant=f"00{number}", target="000")) for number in (1, 2, 3))
SIZE = len(A)
JUNK = b"\xa5" * 37


def salvaged(data: bytes) -> tuple[bytes, SalvageReport]:
    storage = MemoryStorage()
    report = salvage(data, "p/new", storage=storage)
    assert storage.events[-2:] == [("sync", "p/new"), ("close", "p/new")]
    assert report.size == len(storage.files["p/new"])
    return bytes(storage.files["p/new"]), report


def test_a_sound_file_is_copied_whole() -> None:
    assert salvaged(A + B + C) == (A + B + C, SalvageReport("p/new", 3, 3 * SIZE, (), ()))


def test_a_salvage_tells_its_progress() -> None:
    done: list[int] = []
    salvage(A + JUNK + B, "p/new", storage=MemoryStorage(), progress=done.append)
    assert done == [SIZE, SIZE + 37, 2 * SIZE + 37]


def test_intact_blocks_are_kept_and_the_lost_one_is_named() -> None:
    damaged = B[:-1] + b"\0"
    kept, report = salvaged(A + damaged + C)
    assert kept == A + C
    assert (report.blocks, report.instants, report.recovered) == (2, ("002", "000"), ())
    assert [(lost.kind, lost.offset, lost.length) for lost in report.lost] == [(FindingKind.CORRUPT, SIZE, SIZE)]


def test_a_block_that_only_junk_follows_is_kept() -> None:
    kept, report = salvaged(A + B + JUNK + C)
    assert kept == A + B + C
    assert [(found.offset, found.length, found.instants) for found in report.recovered] == [
        (SIZE, SIZE, ("002", "000"))
    ]
    assert [(lost.kind, lost.offset, lost.length) for lost in report.lost] == [(FindingKind.JUNK, 2 * SIZE, 37)]
    assert report.instants == ()


def test_a_block_with_quirks_is_kept_as_it_stands() -> None:
    odd = A[:6] + (63 + 2**32).to_bytes(8, "big") + A[14:]
    kept, report = salvaged(MAGIC + odd + B)
    assert kept == odd + B
    assert [lost.length for lost in report.lost] == [6]
    assert (report.blocks, report.recovered) == (2, ())


def test_a_file_without_an_intact_block_gives_an_empty_one() -> None:
    kept, report = salvaged(JUNK)
    assert (kept, report.blocks, report.size, len(report.lost)) == (b"", 0, 0, 1)


def test_paths_are_read_and_written(tmp_path: Path) -> None:
    source, target = tmp_path / "old", tmp_path / "deeper" / "new"
    source.write_bytes(A + JUNK)
    report = salvage(source, target)
    assert (report.target, target.read_bytes(), source.read_bytes()) == (str(target), A, A + JUNK)
    salvage(str(source), str(tmp_path / "other"))
    assert (tmp_path / "other").read_bytes() == A


def test_a_relative_target_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    salvage(A, "new")
    assert (tmp_path / "new").read_bytes() == A


# Refusals


def test_a_target_that_exists_is_not_touched(tmp_path: Path) -> None:
    source, target = tmp_path / "old", tmp_path / "new"
    source.write_bytes(A)
    target.write_bytes(b"mine")
    with pytest.raises(StorageError, match="cannot create .*File exists"):
        salvage(source, target)
    assert target.read_bytes() == b"mine"


def test_a_file_is_not_salvaged_into_itself(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(A + JUNK)
    with pytest.raises(StorageError, match="File exists"):
        salvage(tmp_path / "log", tmp_path / "log")
    assert (tmp_path / "log").read_bytes() == A + JUNK


def test_a_missing_source_leaves_no_target(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="No such file"):
        salvage(tmp_path / "none", tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("failure", [StorageError("no space left"), KeyboardInterrupt()], ids=["full", "interrupt"])
def test_a_copy_that_fails_leaves_no_target(failure: BaseException) -> None:
    storage = MemoryStorage()
    storage.room, storage.failure = SIZE + 10, failure
    with pytest.raises(type(failure)):
        salvage(A + B, "p/new", storage=storage)
    assert storage.files == {}
    assert storage.events[-1] == ("close", "p/new")


# Everything at once


@settings(deadline=None)
@given(data=testing.damaged_log_files())
def test_what_is_salvaged_is_sound_and_holds_every_intact_block(data: bytes) -> None:
    kept, report = salvaged(data)
    blocks = list(LogReader(kept))
    assert BlockType.CORRUPT not in {block.type for block in blocks}
    assert blocks == [part for part in scan_parts(memoryview(data)) if isinstance(part, LogBlock)]
    assert report.blocks == len(blocks)
    assert report.size + sum(lost.length for lost in report.lost) == len(data)
    assert salvaged(kept)[1].lost == ()
    assert {finding.kind for finding in verify_log(kept)} <= {FindingKind.CONTENT, FindingKind.QUIRK}


# Size


class Hole(bytes):
    """A content of half a GiB of zeros that takes no room."""

    def __len__(self) -> int:
        return 512 << 20


@pytest.mark.slow
def test_a_large_file_is_copied_block_by_block(tmp_path: Path) -> None:
    head, content, tail = encode_block_parts(LogBlock(BlockType.HFILE_DATA, BlockHeader(), Hole()))
    path = tmp_path / "log"
    with path.open("wb") as file:
        for _ in range(3):
            file.write(head)
            file.seek(len(content), 1)
            file.write(tail)
        file.write(JUNK)
    writes: list[tuple[int, bool]] = []

    class Storage(MemoryStorage):
        def map(self, _: str) -> memoryview:
            with path.open("rb") as file:
                return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))

    class File:
        size = 0

        def write(self, *parts: bytes | memoryview) -> None:
            writes.extend((len(part), isinstance(part, memoryview)) for part in parts)

    storage = Storage()
    opened = storage.open_new

    def open_new(name: str) -> object:
        file = opened(name)
        file.write = File().write  # type: ignore[method-assign]  # it fails on purpose
        return file

    storage.open_new = open_new  # type: ignore[method-assign, assignment]  # it fails on purpose
    report = salvage("log", "new", storage=storage)
    assert writes == [(len(head) + (512 << 20) + len(tail), True)] * 3
    assert (report.blocks, len(report.recovered)) == (3, 1)
