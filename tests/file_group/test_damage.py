"""Damaged files are passed over, or are errors, as asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat import DecodeError, open_table
from hudiformat.codec.log.block import LogBlock, encode_block
from hudiformat.codec.log.frame import BlockHeader, HeaderKey
from hudiformat.codec.log.reader import LogReader
from hudiformat.codec.log.verify import verify_log
from tests.check.repair.breaking import age
from tests.tables import data_files, new_table, rows


@pytest.fixture
def without_sound_positions(tmp_path: Path) -> Path:
    """A table whose newest log file has record positions that are no bitmap."""
    table = new_table(tmp_path / "t")
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "x", 1)))
    table.upsert(rows(("b", 2, "x", 2)))
    log = log_file(tmp_path / "t")
    log.write_bytes(b"".join(encode_block(_with_positions(block, b"!!!!")) for block in LogReader(log)))
    return tmp_path / "t"


def log_file(table: Path) -> Path:
    [log] = [table / path for path in data_files(table) if ".log." in path]
    return log


def _with_positions(block: LogBlock, value: bytes) -> LogBlock:
    entries = dict(block.header.entries)
    assert HeaderKey.RECORD_POSITIONS in entries
    entries[HeaderKey.RECORD_POSITIONS] = value
    return LogBlock(block.type, BlockHeader(entries.items()), bytes(block.content))


def test_damaged_positions_are_a_finding_and_an_error_of_queries(without_sound_positions: Path) -> None:
    log = log_file(without_sound_positions)
    message = "record positions that are no roaring bitmap"
    [finding] = verify_log(log)
    assert finding.message.startswith(message)
    with pytest.raises(DecodeError, match=message) as caught:
        open_table(without_sound_positions).snapshot()
    assert str(caught.value).startswith(f"{log}: ")


def test_records_with_damaged_positions_are_merged_by_their_keys_where_damage_is_skipped(
    without_sound_positions: Path,
) -> None:
    table = open_table(without_sound_positions, options={"hudiformat.damage": "skip"})
    with pytest.warns(UserWarning, match=r"the record positions of the AVRO_DATA block of the instant \d+, which is"):
        found = table.snapshot(columns=["k", "v"]).sort_by("k")
    assert found.to_pydict() == {"k": ["a", "b"], "v": [1, 2]}


def test_repair_takes_damaged_positions_out(without_sound_positions: Path) -> None:
    age(without_sound_positions)
    done = open_table(without_sound_positions).repair(apply=True)
    assert next(step.lost for step in done.steps).startswith("the record positions of the AVRO_DATA block")
    [block] = LogReader(log_file(without_sound_positions))
    assert HeaderKey.RECORD_POSITIONS not in block.header
    table = open_table(without_sound_positions)
    assert table.verify() == []
    assert table.snapshot(columns=["k", "v"]).sort_by("k").to_pydict() == {"k": ["a", "b"], "v": [1, 2]}
