"""What verify finds, kind by kind.  In a picture of a file, each finding is its kind, offset and length."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings

from hudiformat import testing
from hudiformat.codec.log.block import LogBlock, encode_block
from hudiformat.codec.log.build import data_block, delete_block, rollback_block
from hudiformat.codec.log.frame import MAGIC, BlockHeader, BlockType, HeaderKey
from hudiformat.codec.log.reader import LogReader
from hudiformat.codec.log.verify import FindingKind, LogFinding, scan_findings, scan_parts, verify_log
from hudiformat.errors import StorageError
from tests.codec.log.memory_storage import MemoryStorage
from tests.codec.log.vectors import AVRO, DELETE, ROLLBACK, entry, envelope

A, B, C = (encode_block(rollback_block(instant=f"00{number}", target="000")) for number in (1, 2, 3))
SIZE = len(A)
JUNK = b"\xa5" * 37

TORN_TAIL, CORRUPT, STRAY, HIDDEN = (
    FindingKind.TORN_TAIL,
    FindingKind.CORRUPT,
    FindingKind.JUNK,
    FindingKind.HIDDEN,
)


def picture(data: bytes) -> list[tuple[FindingKind, int, int]]:
    return [(finding.kind, finding.offset, finding.length) for finding in verify_log(data)]


def only(data: bytes) -> LogFinding:
    [finding] = verify_log(data)
    return finding


def test_a_sound_file_has_no_findings() -> None:
    batch = pa.record_batch({"a": [1, 2]})
    blocks = [data_block(batch, instant="001"), delete_block(["k"], instant="002", partition_path="p")]
    assert verify_log(b"".join(map(encode_block, blocks)) + A + ROLLBACK + DELETE + AVRO) == []
    assert verify_log(b"") == []


def test_a_path_and_a_storage_are_read(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(A + JUNK)
    storage = MemoryStorage()
    storage.create("p/log", A + JUNK)
    assert verify_log(path) == verify_log(str(path)) == verify_log("p/log", storage=storage) == verify_log(A + JUNK)
    with pytest.raises(StorageError, match="No such file"):
        verify_log(tmp_path / "none")


def test_findings_come_as_they_are_found_and_progress_is_told() -> None:
    done: list[int] = []
    found = scan_findings(A + JUNK + MAGIC + B, progress=done.append)
    assert (next(found).kind, done) == (HIDDEN, [])
    assert (next(found).kind, done) == (STRAY, [SIZE])
    assert [finding.kind for finding in found] == [CORRUPT]
    assert done == [SIZE, SIZE + 37, SIZE + 43, 2 * SIZE + 43]


# Kinds


@pytest.mark.parametrize("cut", [6, 14, 30, SIZE - 1])
def test_a_torn_tail(cut: int) -> None:
    assert picture(A + B[:cut]) == [(TORN_TAIL, SIZE, cut)]


def test_a_cut_in_the_middle_is_no_torn_tail() -> None:
    assert picture(A + B[:40] + C) == [(CORRUPT, SIZE, 40)]


def test_a_torn_tail_whose_size_lies_is_a_corrupt_block() -> None:
    assert picture(A + B[:13] + b"\x40" + B[14:]) == [(CORRUPT, SIZE, SIZE)]


@pytest.mark.parametrize("length", [1, 5])
def test_a_short_tail_is_junk(length: int) -> None:
    assert picture(A + JUNK[:length]) == [(STRAY, SIZE, length)]


def test_junk_in_front() -> None:
    assert picture(JUNK + A) == [(STRAY, 0, 37)]


@pytest.mark.parametrize("tail", [b"", C])
def test_junk_behind_a_block_hides_it(tail: bytes) -> None:
    assert picture(A + B + JUNK + tail) == [(HIDDEN, SIZE, SIZE), (STRAY, 2 * SIZE, 37)]
    hidden, _ = verify_log(A + B + JUNK + tail)
    assert (hidden.type, hidden.instants) == (BlockType.COMMAND, ("002", "000"))
    assert hidden.message == "intact, but queries skip it: the bytes around it are damaged"


def test_a_block_whose_magic_begins_inside_another_is_hidden() -> None:
    assert picture(A + MAGIC[:5] + B + C) == [(CORRUPT, SIZE, 5), (HIDDEN, SIZE + 5, SIZE)]


def test_a_magic_written_twice_is_a_corrupt_block() -> None:
    assert picture(A + MAGIC + B) == [(CORRUPT, SIZE, 6)]


def test_a_block_is_hidden_and_those_in_its_content_do_not_count() -> None:
    header = BlockHeader({HeaderKey.INSTANT_TIME: "005", HeaderKey.COMMAND_BLOCK_TYPE: "0"})
    outer = encode_block(LogBlock(BlockType.COMMAND, header, A + B))
    assert [block.instant for block in LogReader(outer + JUNK)] == [None, "001", None]
    assert picture(outer + JUNK) == [(HIDDEN, 0, len(outer)), (STRAY, len(outer), 37)]


def test_a_block_that_only_a_cast_makes_readable_is_named() -> None:
    finding, content = verify_log(A + envelope(size=32 + 2**32, header=b"\xff" * 4, pointer=38, kind=4) + B)
    assert (content.kind, content.offset) == (FindingKind.CONTENT, SIZE)
    assert (finding.kind, finding.offset, finding.length) == (FindingKind.QUIRK, SIZE, 46)
    assert finding.message == (
        "read as Java reads it: Quirks(size_wraps=1, content_length_wraps=0, header_count=-1, footer_count=0)"
    )


# Contents


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (AVRO.replace(b"\0\0\0\2\0\0\0\1\2", b"\0\0\0\2\0\0\0\2\2"), "at byte 209: record 2 of 2 runs past the end"),
        (AVRO.replace(b'"int"', b'"inr"'), "inr"),
        (envelope(kind=3, content=b"\0\0\0\3\0\0\0\0"), "without a SCHEMA header"),
        (envelope(kind=3, header=b"\0\0\0\1" + entry(2, b"{"), content=b"\0\0\0\3\0\0\0\0"), "schema"),
        (envelope(kind=1, content=b"\0\0\0\3\0\0\0\2\0"), "delete list: 2 bytes expected, 1 left"),
        (envelope(kind=0), "a command of type None"),
        (envelope(kind=0, header=b"\0\0\0\1" + entry(3, b"1")), "a command of type 1"),
    ],
    ids=["record", "schema", "no schema", "bad schema", "deletes", "no command", "another command"],
)
def test_a_content_that_cannot_be_read_is_named(block: bytes, message: str) -> None:
    finding = only(A + block + B)
    assert (finding.kind, finding.offset, finding.length) == (FindingKind.CONTENT, SIZE, len(block))
    assert message in finding.message
    assert verify_log(A + block + B, contents=False) == []


def test_a_content_error_counts_bytes_from_the_file() -> None:
    damaged = AVRO.replace(b"\0\0\0\2\0\0\0\1\2", b"\0\0\0\2\0\0\0\2\2")
    within = 132  # the length of the second record
    for before in (b"", A, A + B):
        assert only(before + damaged).message.startswith(f"at byte {len(before) + within}: record 2 of 2")


def test_a_content_that_is_not_supported_yet_is_no_finding() -> None:
    class_of_javas = b"\x01\x00[Lorg.apache.hudi.common.model.DeleteRecord\xbb\x01\x02\x01\x01java.util.UUI\xc4"
    content = b"\0\0\0\2" + len(class_of_javas).to_bytes(4, "big") + class_of_javas
    assert verify_log(envelope(kind=1, content=content)) == []


# What a lost block probably was


def test_a_lost_block_is_known_by_its_head() -> None:
    finding = only(A + B[:-1] + b"\0" + C)
    assert finding == LogFinding(
        CORRUPT, SIZE, SIZE, "at byte 146: block size 63, but reverse pointer 0", BlockType.COMMAND, ("002", "000")
    )


def test_a_torn_block_is_known_as_far_as_it_goes() -> None:
    guesses = {(finding.type, finding.instants) for cut in range(6, SIZE) for finding in verify_log(B[:cut])}
    assert guesses == {
        (None, ()),
        (BlockType.COMMAND, ()),
        (BlockType.COMMAND, ("002",)),
        (BlockType.COMMAND, ("002", "000")),
    }


@pytest.mark.parametrize("at", range(6))
def test_a_block_with_a_damaged_magic_is_known_all_the_same(at: int) -> None:
    finding = only(B[:at] + b"?" + B[at + 1 :])
    assert (finding.kind, finding.type, finding.instants) == (STRAY, BlockType.COMMAND, ("002", "000"))


def test_the_instants_that_a_compacted_block_replaces_are_named() -> None:
    header = BlockHeader({HeaderKey.INSTANT_TIME: "009", HeaderKey.COMPACTED_BLOCK_TIMES: "001,002,009"})
    block = encode_block(LogBlock(BlockType.AVRO_DATA, header, b""))
    assert only(block[:-1] + b"\0").instants == ("009", "001", "002")


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (envelope(kind=2), None),
        (envelope(kind=7), None),
        (envelope(version=2, kind=1), BlockType.DELETE),
        (JUNK, None),
        (b"......" + envelope(version=2)[6:], None),
        (envelope(kind=3, header=b"\0\0\0\2" + entry(9, b"001") + entry(0, b"001")), BlockType.AVRO_DATA),
        (envelope(kind=3, header=b"\0\0\0\1" + entry(0, b"not one"), pointer=0), BlockType.AVRO_DATA),
        (envelope(kind=3, header=b"\0\0\0\1" + entry(0, b"1" * 33), pointer=0), BlockType.AVRO_DATA),
    ],
    ids=["type 2", "type 7", "version 2", "junk", "no magic and version 2", "key", "no instant", "too long"],
)
def test_what_makes_no_sense_is_not_guessed(head: bytes, kind: BlockType | None) -> None:
    finding = only(head)
    assert (finding.type, finding.instants) == (kind, ())


# Everything at once


@settings(deadline=None)
@given(data=testing.damaged_log_files())
def test_every_byte_is_in_one_part_and_no_sound_block_is_missed(data: bytes) -> None:
    position, hidden = 0, set()
    blocks = set()
    for part in scan_parts(memoryview(data)):
        if isinstance(part, LogBlock):
            assert part.offset == position
            assert part.size
            blocks.add(position)
            position += part.size
        elif part.kind is HIDDEN:
            hidden.add(part.offset)
        elif part.kind is not FindingKind.QUIRK:
            assert part.offset == position
            assert part.length
            position += part.length
    assert position == len(data)
    sound = {block.offset for block in LogReader(data) if block.type is not BlockType.CORRUPT}
    assert hidden == blocks - sound
