"""The headers of log blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hudiformat import Table, open_table
from hudiformat.report import log_blocks
from hudiformat.report.log_blocks import blocks_of, largest_log_slices
from hudiformat.storage.local import LocalStorage
from hudiformat.storage.protocol import Capabilities
from tests.report.support import slice_of
from tests.tables import GoldenTable, new_table, rows


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = new_table(tmp_path / "t", options={"hoodie.index.type": "INMEMORY"})
    table.bulk_insert(rows(("a", 1, "x", 1), ("b", 1, "x", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    table.delete(rows(("b", 3, "x", 1)))
    return table


def test_blocks_come_in_merge_order_with_their_file(table: Table) -> None:
    (one,) = table.file_slices()
    found = blocks_of(table._context.storage, one)
    assert [(block.file, block.type, block.offset) for block in found.blocks] == [
        (0, "AVRO_DATA", 0),
        (1, "DELETE", 0),
    ]
    assert found.files == tuple(str(log.name) for log in one.log_files)
    assert [block.instant for block in found.blocks] == [log.name.instant for log in one.log_files]
    assert sum(block.size for block in found.blocks) == found.log_bytes
    assert (found.more, found.problem, found.blocks[0].note) == (False, "", "with positions")


def test_notes_say_what_a_block_does(golden: Callable[[str], GoldenTable]) -> None:
    notes = set()
    for name in (
        "v6-mor-rollback-call-h120",
        "v9-mor-damaged-h120-flip-size",
        "v9-mor-partial-update-h120",
        "v6-mor-logcompaction-h0150",
    ):
        table = open_table(golden(name).table)
        for one in table.file_slices():
            notes |= {block.note for block in blocks_of(table._context.storage, one).blocks}
    assert any(note.startswith("rolls back 2") for note in notes)
    assert any("content length" in note for note in notes)
    assert any("some columns only" in note for note in notes)
    assert any(note.startswith("replaces the blocks of") for note in notes)


def test_the_first_blocks_are_read(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_blocks, "MOST_BLOCKS", 1)
    found = blocks_of(table._context.storage, table.file_slices()[0])
    assert (len(found.blocks), found.more) == (1, True)


def test_a_missing_file_is_a_problem(table: Table) -> None:
    (one,) = table.file_slices()
    Path(table.path, "x", str(one.log_files[0].name)).unlink()
    found = blocks_of(table._context.storage, one)
    assert found.blocks == ()
    assert "No such file" in found.problem or "missing" in found.problem


class _Fetching(LocalStorage):
    """A storage that fetches files whole."""

    @property
    def capabilities(self) -> Capabilities:
        return replace(super().capabilities, map=False)


def test_large_files_are_not_fetched_for_their_headers(tmp_path: Path) -> None:
    found = blocks_of(_Fetching(tmp_path), slice_of("x", "a-0", None, 100 << 20))
    assert found.problem == "the log files are not read: this storage would fetch them whole"


def test_slices_with_the_most_bytes_of_logs_come_first() -> None:
    slices = [slice_of("x", f"{name}-0", 9, *logs) for name, *logs in (("a", 1), ("b", 5, 5), ("c",), ("d", 3))]
    assert [one.file_id for one in largest_log_slices(slices)] == ["b-0", "d-0", "a-0"]
    many = [slice_of("x", f"{number:03x}-0", None, number + 1) for number in range(99)]
    assert len(largest_log_slices(many)) == log_blocks.MOST_SLICES
