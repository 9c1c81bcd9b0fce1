"""Log blocks that say in which rows of the base file their records are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudiformat import BlockType, HeaderKey, LogBlock, LogReader, Table, open_table
from tests.tables import SCHEMA, Clock, content, data_files, new_table, rows

HUDIS = {  # what Hudi 1.2.0 wrote for upserts of these rows
    (0, 2): "AQAAAAAAAAAAAAAAOjAAAAEAAAAAAAEAEAAAAAAAAgA=",
    (2, 3): "AQAAAAAAAAAAAAAAOjAAAAEAAAAAAAEAEAAAAAIAAwA=",
}
DELETABLE = pa.schema([*SCHEMA, pa.field("_hoodie_is_deleted", pa.bool_())])


def blocks_of(table: Table) -> list[LogBlock]:
    names = [name for name in data_files(Path(table.context.storage.root)) if ".log." in name]
    return [block for name in names for block in LogReader(Path(table.context.storage.root) / name)]


def positions(block: LogBlock) -> list[int]:
    found = block.positions()
    return [] if found is None else found.tolist()


def of_four(path: Path, **changes: Any) -> Table:
    """A table with the rows a, b, c and d in one base file."""
    table = new_table(path, **changes)
    schema = table.schema
    table.upsert(rows(*((key, 1, "x", number) for number, key in enumerate("abcd")), schema=schema))
    return table


@pytest.mark.parametrize("index", ["SIMPLE", "BLOOM", "INMEMORY"])
def test_an_upsert_says_which_rows_it_is_about_in_their_order(tmp_path: Path, index: str) -> None:
    table = of_four(tmp_path / "t", options={"hoodie.index.type": "SIMPLE"})
    [file_slice] = table.file_slices()
    assert file_slice.base_file is not None
    table = open_table(tmp_path / "t", options={"hoodie.index.type": index, "hudiformat.sync": "false"}, clock=Clock())
    table.upsert(rows(("c", 2, "x", 30), ("a", 2, "x", 10)))
    [block] = blocks_of(table)
    assert block.to_arrow()["k"].to_pylist() == ["a", "c"]
    assert block.header[HeaderKey.RECORD_POSITIONS] == HUDIS[0, 2]
    assert block.base_instant_of_positions == file_slice.base_file.name.instant
    assert content(table) == [("a", 2, "x", 10), ("b", 1, "x", 1), ("c", 2, "x", 30), ("d", 1, "x", 3)]


def test_a_delete_by_key_says_it_too(tmp_path: Path) -> None:
    table = of_four(tmp_path / "t")
    table.delete(rows(("d", 0, "x"), ("c", 0, "x")).select(["k", "p"]))
    [block] = blocks_of(table)
    assert (block.type, block.deletes()["record_key"].to_pylist()) == (BlockType.DELETE, ["c", "d"])
    assert block.header[HeaderKey.RECORD_POSITIONS] == HUDIS[2, 3]
    assert [row[0] for row in content(table)] == ["a", "b"]


def test_deletes_by_column_have_their_ordering_values_in_the_same_order(tmp_path: Path) -> None:
    table = of_four(tmp_path / "t", schema=DELETABLE)
    changes = [("d", 9, "x", 0, True), ("b", 8, "x", 7, False), ("c", 7, "x", 0, True)]
    table.upsert(rows(*changes, schema=DELETABLE))
    data, deletes = blocks_of(table)
    assert positions(data) == [1]
    assert positions(deletes) == [2, 3]
    assert deletes.deletes().select(["record_key", "ordering"]).to_pylist() == [
        {"record_key": "c", "ordering": 7},
        {"record_key": "d", "ordering": 9},
    ]


def test_each_block_has_its_own(tmp_path: Path) -> None:
    table = of_four(tmp_path / "t")
    options = {"hoodie.logfile.data.block.max.size": "1", "hudiformat.sync": "false"}
    table = open_table(tmp_path / "t", options=options, clock=Clock())
    table.upsert(rows(("c", 2, "x", 30), ("a", 2, "x", 10)))
    assert [positions(block) for block in blocks_of(table)] == [[2], [0]]


def test_a_record_without_a_position_leaves_its_block_without_any(tmp_path: Path) -> None:
    table = of_four(tmp_path / "t", options={"hoodie.index.type": "INMEMORY"})  # whose new rows go to log files
    table.upsert(rows(("c", 2, "x", 30)))
    assert [HeaderKey.RECORD_POSITIONS in block.header for block in blocks_of(table)] == [False, False]
    assert content(table)[2] == ("c", 2, "x", 30)


def test_two_records_of_one_row_leave_their_block_without_any(tmp_path: Path) -> None:
    of_four(tmp_path / "t")
    options = {"hoodie.combine.before.upsert": "false", "hudiformat.sync": "false"}
    table = open_table(tmp_path / "t", options=options, clock=Clock())
    table.upsert(rows(("c", 2, "x", 30), ("c", 3, "x", 31)))
    [block] = blocks_of(table)
    assert {HeaderKey.RECORD_POSITIONS, HeaderKey.BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS}.isdisjoint(block.header)
    assert content(table)[2] == ("c", 3, "x", 31)


@pytest.mark.parametrize(
    "options", [{"hoodie.write.record.positions": "false"}, {"hoodie.index.type": "BUCKET"}], ids=["off", "buckets"]
)
def test_where_nobody_asks_or_knows_there_are_none(tmp_path: Path, options: dict[str, str]) -> None:
    table = of_four(tmp_path / "t", options=options)
    table.upsert(rows(("c", 2, "x", 30)))
    assert all(HeaderKey.RECORD_POSITIONS not in block.header for block in blocks_of(table))


def test_positions_are_of_the_newest_base_file(tmp_path: Path) -> None:
    table = of_four(tmp_path / "t")
    table.upsert(rows(("e", 1, "x", 5)))  # rewrites the small file, at its end
    [file_slice] = table.file_slices()
    assert file_slice.base_file is not None
    table.upsert(rows(("e", 2, "x", 6)))
    [block] = blocks_of(table)
    assert (positions(block), block.base_instant_of_positions) == ([4], file_slice.base_file.name.instant)
