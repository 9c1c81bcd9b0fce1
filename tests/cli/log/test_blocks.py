"""``hudiformat blocks``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from hudiformat.codec.log.block import LogBlock, encode_block, encode_block_parts
from hudiformat.codec.log.build import data_block
from hudiformat.codec.log.frame import BlockHeader, BlockType
from tests.cli.support import DAMAGED, DATA, DELETES, EVOLVED, JUNK, ROLLBACK, SOUND, Command
from tests.codec.log.vectors import entry, envelope

Log = Callable[[bytes], Path]


def test_each_block_is_a_row(command: Command, log: Log) -> None:
    result = command("blocks", log(SOUND))
    offsets = [0, len(DATA), len(DATA + DELETES), len(DATA + DELETES + ROLLBACK)]
    assert [line.split(maxsplit=6) for line in result.lines] == [
        ["block", "offset", "size", "type", "instant", "records", "note"],
        ["0", "0", str(len(DATA)), "AVRO_DATA", "20260101000000001", "3"],
        ["1", str(offsets[1]), str(len(DELETES)), "DELETE", "20260101000000002", "2"],
        ["2", str(offsets[2]), str(len(ROLLBACK)), "COMMAND", "20260101000000003", "-", "rolls back 20260101000000001"],
        ["3", str(offsets[3]), str(len(EVOLVED)), "AVRO_DATA", "20260101000000004", "1"],
    ]
    assert (result.code, result.err) == (0, "")


def test_the_columns_of_the_rows_are_aligned(command: Command, log: Log) -> None:
    head, *rows = command("blocks", log(SOUND)).lines
    assert {row[head.index("type") - 1 :].split()[0] for row in rows} == {"AVRO_DATA", "DELETE", "COMMAND"}
    assert {row[: head.index("offset") + 6].split()[1] for row in rows[:2]} == {"0", str(len(DATA))}


def test_json_has_an_object_per_block(command: Command, log: Log) -> None:
    result = command("blocks", "--json", log(DELETES + ROLLBACK))
    assert result.json == [
        {
            "block": 0,
            "offset": 0,
            "size": len(DELETES),
            "type": "DELETE",
            "version": 1,
            "instant": "20260101000000002",
            "target_instant": None,
            "records": 2,
            "reason": None,
        },
        {
            "block": 1,
            "offset": len(DELETES),
            "size": len(ROLLBACK),
            "type": "COMMAND",
            "version": 1,
            "instant": "20260101000000003",
            "target_instant": "20260101000000001",
            "records": 0,
            "reason": None,
        },
    ]


def test_damage_is_a_block_with_the_reason_and_a_finding(command: Command, log: Log) -> None:
    result = command("blocks", "--json", log(DAMAGED))
    assert result.code == 1
    corrupt = result.json[1]
    assert (corrupt["type"], corrupt["offset"], corrupt["size"]) == ("CORRUPT", len(DATA), 80)
    assert (corrupt["records"], corrupt["instant"]) == (None, None)
    assert corrupt["reason"].startswith(f"at byte {len(DATA) + 85}: footer count 587202560")
    table = command("blocks", log(DAMAGED))
    assert table.code == 1
    assert table.lines[2].split(maxsplit=6) == ["1", str(len(DATA)), "80", "CORRUPT", "-", "-", corrupt["reason"]]


def test_reverse_counts_from_the_end(command: Command, log: Log) -> None:
    forward = command("blocks", "--json", log(DAMAGED)).json
    result = command("blocks", "--json", "--reverse", log(DAMAGED))
    assert [block.pop("block") for block in forward] == [0, 1, 2]
    backward = result.json
    assert [block.pop("block") for block in backward] == [-1, -2, -3]
    assert backward == forward[::-1]
    assert result.code == 1


def test_headers_are_named(command: Command, log: Log) -> None:
    path = log(ROLLBACK)
    [block] = command("blocks", "--headers", "--json", path).json
    assert block["header"] == {
        "INSTANT_TIME": "20260101000000003",
        "TARGET_INSTANT_TIME": "20260101000000001",
        "COMMAND_BLOCK_TYPE": "0",
    }
    assert block["footer"] == {}
    assert command("blocks", "--headers", path).lines[2:] == [
        "       header INSTANT_TIME = 20260101000000003",
        "       header TARGET_INSTANT_TIME = 20260101000000001",
        "       header COMMAND_BLOCK_TYPE = 0",
    ]


@pytest.mark.parametrize("content", ["avro", "parquet", "hfile"])
def test_records_are_counted_without_decoding_them(command: Command, log: Log, content: str) -> None:
    batch = pa.record_batch({"_hoodie_record_key": ["a", "b"]})
    block = data_block(batch, instant="1", format=content)
    damaged = bytearray(encode_block(block))
    start = len(damaged) - len(block.content) - 12
    damaged[start + 8 : start + 16] = b"\xff" * 8  # where records begin
    assert [found["records"] for found in command("blocks", "--json", log(bytes(damaged))).json] == [2]


def test_large_delete_lists_are_not_decoded(command: Command, log: Log) -> None:
    """What would be damage in a small block is not looked at in one of more than 1 MiB."""
    small, large = (envelope(kind=1, content=b"\0\0\0\3\0\0\0\x09" + bytes(size)) for size in (0, 1 << 20))
    assert command("blocks", log(small)).code == 1
    result = command("blocks", log(large))
    assert (result.code, result.lines[1].split()[-1]) == (0, "?")
    assert command("blocks", "--json", log(large)).json[0]["records"] is None


def test_a_content_too_short_for_its_count_is_a_finding(command: Command, log: Log) -> None:
    result = command("blocks", log(envelope(kind=3, content=b"\0\0\0\3\0\0\0\x09")))
    assert result.code == 1
    assert "?  9 records are declared" in result.lines[1].replace("at byte 46: ", "")


def test_deletes_of_a_class_that_is_not_known_are_not_counted(command: Command, log: Log) -> None:
    of_javas = b"\x01\x00[Lorg.apache.hudi.common.model.DeleteRecord\xbb\x01\x02\x01\x01java.util.UUI\xc4"
    content = b"\0\0\0\2" + len(of_javas).to_bytes(4, "big") + of_javas
    result = command("blocks", log(envelope(kind=1, content=content)))
    assert (result.code, result.lines[1].split()[-1]) == (0, "?")


def test_the_content_of_a_file_cannot_control_the_terminal(command: Command, log: Log) -> None:
    result = command("blocks", "--headers", log(envelope(header=b"\0\0\0\1" + entry(0, b"\x1b[2J\n9"))))
    assert "\x1b" not in result.out
    assert len(result.lines) == 3
    assert result.lines[2] == "       header INSTANT_TIME = \\x1b[2J\\n9"


def test_an_empty_file_has_no_blocks(command: Command, log: Log) -> None:
    result = command("blocks", log(b""))
    assert (result.code, len(result.lines)) == (0, 1)
    assert command("blocks", "--json", log(b"")).out == ""


def test_junk_is_one_block(command: Command, log: Log) -> None:
    [block] = command("blocks", "--json", log(JUNK)).json
    assert (block["type"], block["size"]) == ("CORRUPT", 37)


class Hole(bytes):
    """A content of half a GiB that takes no room, and that nobody may look at but at its ends."""

    def __len__(self) -> int:
        return 512 << 20


def test_contents_are_not_read(command: Command, log: Log) -> None:
    head, content, tail = encode_block_parts(LogBlock(BlockType.AVRO_DATA, BlockHeader(), Hole()))
    path = log(b"")
    with path.open("wb") as file:
        for _ in range(3):
            file.write(bytes(head) + b"\0\0\0\3\0\0\0\7")
            file.seek(len(content) - 8, 1)
            file.write(tail)
    found = command("blocks", "--json", path).json
    assert [(block["size"], block["records"]) for block in found] == [(len(head) + len(tail) + (512 << 20), 7)] * 3
