"""The archived timeline of layout 1: damage in its files, and records of old versions."""

from __future__ import annotations

import json
import struct

import pytest

from hudiformat.codec.log.block import LogBlock, encode_block
from hudiformat.codec.log.frame import BlockHeader, BlockType, HeaderKey
from hudiformat.errors import CorruptTableError
from hudiformat.timeline.archive.archived import ArchivedInstant
from hudiformat.timeline.timeline import Action, Instant, State
from tests.timeline.support import Table


def archive_block(schema: object, content: bytes) -> bytes:
    header = BlockHeader({HeaderKey.SCHEMA: json.dumps(schema)})
    return encode_block(LogBlock(BlockType.AVRO_DATA, header, content))


ENTRY = {
    "type": "record",
    "name": "HoodieArchivedMetaEntry",
    "fields": [{"name": name, "type": "string"} for name in ("commitTime", "actionType")],
}


def framed(record: bytes) -> bytes:
    return struct.pack(">iii", 3, 1, len(record)) + record


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (archive_block(ENTRY, framed(b"\x021\x0amagic")), "expected archived instants: .*'magic' is not a valid"),
        (archive_block({**ENTRY, "fields": []}, framed(b"")), "has no field but records"),
        (archive_block(ENTRY, framed(b"\x021")), "cannot read the archived timeline"),
        (archive_block(ENTRY, framed(b"")[:-1]), "cannot read the archived timeline"),
        (archive_block("nothing", framed(b"")), "cannot read the archived timeline"),
    ],
    ids=["action", "no fields", "cut off", "no length", "schema"],
)
def test_a_damaged_archive_log_is_named(oldest: Table, block: bytes, expected: str) -> None:
    path = f"{oldest.config.history_folder}/.commits_.archive.1_1-0-1"
    oldest.storage.create(path, block)
    with pytest.raises(CorruptTableError, match=expected) as caught:
        oldest.archived()
    assert caught.value.path == f"{oldest.storage.root}/{path}"


def test_very_old_archives_have_neither_state_nor_completion_time(oldest: Table) -> None:
    block = archive_block(ENTRY, framed(b"\x021\x0ccommit"))
    oldest.storage.create(f"{oldest.config.history_folder}/.commits_.archive.12", block + b"junk")
    oldest.storage.create(f"{oldest.config.history_folder}/notes", b"")
    assert oldest.archived() == (ArchivedInstant(Instant("1", Action.COMMIT, State.COMPLETED)),)


def test_corrupt_blocks_are_skipped(oldest: Table) -> None:
    sound = archive_block(ENTRY, framed(b"\x021\x0ccommit"))
    path = f"{oldest.config.history_folder}/.commits_.archive.1_1-0-1"
    oldest.storage.create(path, sound[:40] + sound)
    assert [one.instant.time for one in oldest.archived()] == ["1"]
