"""Rows and deletes in blocks of log files: their sizes, headers and positions."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudiformat import BlockType, Commit, HeaderKey, LogBlock, LogFileName, LogReader, Table, open_table
from tests.effort import sample
from tests.tables import FLAGGED, SCHEMA, Clock, content, data_files, new_table, rows
from tests.write.support import keyed

pytestmark = pytest.mark.unmeasured

BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"}
HUDIS = {  # what Hudi 1.2.0 wrote for upserts of these rows
    (0, 2): "AQAAAAAAAAAAAAAAOjAAAAEAAAAAAAEAEAAAAAAAAgA=",
    (2, 3): "AQAAAAAAAAAAAAAAOjAAAAEAAAAAAAEAEAAAAAIAAwA=",
}
DELETABLE = pa.schema([*SCHEMA, pa.field("_hoodie_is_deleted", pa.bool_())])


def blocks_of(table: Table) -> list[LogBlock]:
    names = [name for name in data_files(Path(table._context.storage.root)) if ".log." in name]
    return [block for name in names for block in LogReader(Path(table._context.storage.root) / name)]


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
    table = of_four(tmp_path / "t")  # made without an index, it has that of each writer
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


def logs_of(table: Table, commit: Commit) -> list[Path]:
    """The log files of a commit, in the order of their versions."""
    paths = [Path(table.path, stat.path or "") for stat in commit.stats if stat.log_version is not None]
    return sorted(paths, key=lambda path: LogFileName.parse(path.name).version)


def test_log_files_roll_over_past_their_maximal_size(tmp_path: Path) -> None:
    sizes = {"hoodie.logfile.max.size": "20000", "hoodie.logfile.data.block.max.size": "8000"}
    table = new_table(tmp_path / "t", options={**BUCKETS, **sizes})
    commit = table.upsert(keyed(0, 3000))
    logs = logs_of(table, commit)
    assert [LogFileName.parse(path.name).version for path in logs] == list(range(1, len(logs) + 1))
    assert len(logs) > 3
    for path in logs:
        blocks = list(LogReader(path))
        last = blocks[-1].size
        assert last is not None
        assert path.stat().st_size - last <= 20000  # no append begins past the threshold
        assert path == logs[-1] or path.stat().st_size > 20000
    assert len(content(table)) == 3000


def test_blocks_keep_to_their_maximal_size(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options={**BUCKETS, "hoodie.logfile.data.block.max.size": "10000"})
    commit = table.upsert(keyed(0, 5000))
    (path,) = logs_of(table, commit)
    blocks = list(LogReader(path))
    assert len(blocks) > 10
    assert sum(block.num_records() for block in blocks) == 5000
    assert max(len(block.content) for block in blocks) < 11_000
    assert min(len(block.content) for block in blocks[:-1]) > 7_500
    single = new_table(tmp_path / "u", options=BUCKETS)
    (path,) = logs_of(single, single.upsert(keyed(0, 5000)))
    assert len(list(LogReader(path))) == 1


MOST = 20_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("order", "format_"), sample(product(["growing", "shrinking", "mixed"], ["avro", "parquet"]), of=6)
)
def test_blocks_of_rows_that_grow_keep_to_it_too(tmp_path: Path, format_: str, order: str) -> None:
    """Rows of 10 to 1,000 bytes, in batches, with many columns that are larger in a block than in memory."""
    flags = pa.schema([pa.field(f"f{number}", pa.bool_()) for number in range(30)])
    schema = pa.schema([*SCHEMA, pa.field("t", pa.string()), *flags])
    sizes = {"hoodie.logfile.data.block.max.size": str(MOST), "hoodie.logfile.data.block.format": format_}
    table = new_table(tmp_path / "t", schema=schema, options={**BUCKETS, **sizes})
    data = keyed(0, 4000)
    ranks = {"growing": range(4000), "shrinking": range(3999, -1, -1), "mixed": [i * 7 % 4000 for i in range(4000)]}
    lengths = [10 + 990 * rank // 4000 for rank in ranks[order]]
    columns: dict[str, Any] = {name: data[name] for name in data.column_names}
    chance = random.Random(1)
    columns["t"] = [chance.randbytes(length // 2).hex() for length in lengths]
    columns |= dict.fromkeys(flags.names, pa.array([True] * 4000))
    (path,) = logs_of(table, table.upsert(pa.table(columns, schema=table.schema)))
    blocks = list(LogReader(path))
    assert sum(block.num_records() for block in blocks) == 4000
    assert max(len(block.content) for block in blocks) < 1.1 * MOST
    full = [len(block.content) > 0.75 * MOST for block in blocks[:-1]]
    assert format_ == "parquet" or sum(full) > 0.9 * len(full)


def test_a_block_holds_at_least_one_row(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options={**BUCKETS, "hoodie.logfile.data.block.max.size": "1"})
    (path,) = logs_of(table, table.upsert(keyed(0, 5)))
    assert [block.num_records() for block in LogReader(path)] == [1] * 5


def test_deletes_share_the_last_append(tmp_path: Path) -> None:
    options = {**BUCKETS, "hoodie.logfile.max.size": "1"}
    table = new_table(tmp_path / "t", schema=FLAGGED, options=options)
    commit = table.upsert(rows(("a", 1, "x", 1), ("b", 1, "x", 1, True), schema=FLAGGED))
    (path,) = logs_of(table, commit)
    assert [block.type for block in LogReader(path)] == [BlockType.AVRO_DATA, BlockType.DELETE]


def test_deletes_by_column_carry_their_ordering_value_and_deletes_by_key_none(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", schema=FLAGGED, options=BUCKETS)
    table.upsert(rows(("a", 1, "x", 1), ("b", 1, "x", 1), schema=FLAGGED))
    by_column = table.upsert(rows(("a", 7, "x", 1, True), schema=FLAGGED))
    by_key = table.delete(rows(("b", 9, "x"), schema=FLAGGED))
    for commit, expected in ((by_column, ("a", "x", 7)), (by_key, ("b", "x", 0))):
        (path,) = logs_of(table, commit)
        (block,) = LogReader(path)
        deletes = block.deletes()
        assert [tuple(row.values()) for row in deletes.to_pylist()] == [expected]
        assert deletes["ordering"].type == (pa.int64() if expected[2] else pa.int32())  # the int 0 is Hudi's for none
        assert block.instant == commit.instant


def test_headers_of_blocks_name_instant_and_schema(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options=BUCKETS)
    commit = table.upsert(keyed(0, 2))
    (path,) = logs_of(table, commit)
    (block,) = LogReader(path)
    assert dict(block.header) == {
        HeaderKey.INSTANT_TIME: commit.instant,
        HeaderKey.SCHEMA: table._context.state().schema.avro_with_meta,
    }


@pytest.mark.parametrize("codec", ["gzip", "zstd", "uncompressed"])
def test_log_blocks_are_of_the_format_that_one_asks_for(tmp_path: Path, codec: str) -> None:
    parquet = {"hoodie.logfile.data.block.format": "parquet", "hoodie.parquet.compression.codec": codec}
    buckets = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"}
    table = new_table(tmp_path / "t", options={**buckets, **parquet})
    table.upsert(rows(("a", 1, "x", 1), ("b", 1, "x", 1)))
    table = open_table(tmp_path / "t", options=buckets)
    table.upsert(rows(("b", 2, "x", 2), ("c", 2, "x", 2)))
    (item,) = table.file_slices()
    logs = [LogReader(tmp_path / "t" / "x" / str(log.name)) for log in item.log_files]
    first, second = (block for log in logs for block in log)
    assert (first.type, second.type) == (BlockType.PARQUET_DATA, BlockType.AVRO_DATA)
    with pq.ParquetFile(pa.BufferReader(first.content)) as file:
        assert file.metadata.row_group(0).column(0).compression == codec.upper()
    assert content(table) == [("a", 1, "x", 1), ("b", 2, "x", 2), ("c", 2, "x", 2)]
