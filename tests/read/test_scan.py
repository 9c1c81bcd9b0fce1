"""The answer to a query speaks Arrow's C stream, as often as it is asked."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudiformat import ArgumentError, DecodeError, LogReader, OptionError, Table, encode_block
from hudiformat.file_group.reader import SliceReader, SliceScan
from hudiformat.file_group.slices import BaseFile, FileSlice, LogFile
from hudiformat.naming.file_names import BaseFileName, LogFileName
from hudiformat.read import ahead, scan
from hudiformat.read.ahead import Bounds
from hudiformat.read.explanation import ScanExplanation
from hudiformat.read.scan import Scan
from tests.tables import new_table, rows


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = new_table(tmp_path / "t")
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "y", 2), ("c", 1, "x", 3)))
    table.upsert(rows(("a", 2, "x", 10)))
    return table


def test_a_scan_can_be_read_again_and_in_several_ways(table: Table) -> None:
    scan = table.scan(columns=["k", "v"])
    expected = {("a", 10), ("b", 2), ("c", 3)}
    for found in (pa.table(scan), scan.read_all(), pa.Table.from_batches(scan), scan.reader().read_all()):
        assert found.schema == scan.schema == pa.schema([("k", pa.string()), ("v", pa.int32())]) or found.num_rows
        assert {tuple(row.values()) for row in found.to_pylist()} == expected


def test_a_scan_becomes_a_data_frame(table: Table) -> None:
    frame = table.scan(columns=["k", "v"]).to_pandas()
    assert sorted(frame["v"].tolist()) == [2, 3, 10]


def test_an_empty_scan_has_its_schema() -> None:
    none: list[pa.RecordBatch] = []
    scan = Scan(pa.schema([("k", pa.string())]), lambda: (one for one in none), lambda: ScanExplanation(()))
    assert pa.table(scan).schema == scan.read_all().schema == scan.schema


def test_duckdb_and_polars_take_a_scan(table: Table) -> None:
    duckdb = pytest.importorskip("duckdb")
    polars = pytest.importorskip("polars")
    scan = table.scan(columns=["k", "v"], filter=pa.compute.field("v") > 2)
    assert duckdb.sql("select sum(v) from scan").fetchall() == [(13,)]
    assert polars.DataFrame(scan)["v"].sum() == 13


def test_a_scan_goes_to_other_processes(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options={"hoodie.index.type": "INMEMORY"})
    table.upsert(rows(("a", 1, "x", 1), ("b", 1, "y", 2)))
    scan = pickle.loads(pickle.dumps(table.scan(columns="k", filter="p = 'y'")))
    assert scan.read_all().to_pylist() == [{"k": "b"}]
    assert scan.explain() == table.scan(columns="k", filter="p = 'y'").explain()


@pytest.mark.parametrize(
    ("columns", "filter_", "read"),
    [
        (["k"], pa.compute.field("v") > 2, ["k", "v"]),
        (["k", "v"], "v > 2", ["k", "v"]),
        (["v"], [("k", "=", "a")], ["v", "k"]),
        (["k"], None, ["k"]),
    ],
)
def test_a_filter_reads_its_own_columns_besides_those_asked_for(
    columns: list[str], filter_: Any, read: list[str], table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def prepare(self: SliceReader, columns: list[str], **options: object) -> SliceScan:
        asked.append(columns)
        return prepared(self, columns, **options)  # type: ignore[arg-type]  # passed on as it came

    prepared = SliceReader.prepare
    monkeypatch.setattr(SliceReader, "prepare", prepare)
    table.snapshot(columns=columns, filter=filter_)
    assert asked
    assert all(one == read for one in asked)


@pytest.mark.parametrize("size", [1, 2, 7, 10_000])
def test_batches_have_at_most_the_rows_that_are_asked_for(tmp_path: Path, size: int) -> None:
    table = new_table(tmp_path / "t")
    table.insert(rows(*((f"k{number}", 1, "x", number) for number in range(10))))
    table.upsert(rows(("k3", 2, "x", 30)))
    scan = table.scan(columns="v", filter=[("v", ">=", "1")], batch_size=size)
    for _ in range(2):
        batches = list(scan)
        assert all(0 < batch.num_rows <= size for batch in batches)
        assert sorted(value for batch in batches for value in batch["v"].to_pylist()) == [1, 2, *range(4, 10), 30]
    assert scan.read_all().num_rows == 9
    assert scan.explain() == table.scan(columns="v", filter=[("v", ">=", "1")]).explain()


def test_a_batch_of_no_rows_is_refused(table: Table) -> None:
    with pytest.raises(OptionError, match="batch_size: expected at least 1 row, found 0"):
        table.scan(batch_size=0)
    with pytest.raises(ArgumentError, match="batch_size"):
        table.scan(batch_size="2")  # type: ignore[arg-type]  # wrong on purpose


def _of_slices(path: Path, count: int) -> Table:
    """A table of *count* slices in as many partitions, each with a base file and a log file."""
    table = new_table(path)
    table.insert(rows(*((f"k{number}", 1, f"p{number:02}", number) for number in range(count))))
    table.upsert(rows(*((f"k{number}", 2, f"p{number:02}", 100 + number) for number in range(count))))
    return table


def test_log_files_of_many_slices_are_merged_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = _of_slices(tmp_path / "t", 12)
    asked: list[tuple[int, bool]] = []

    def merge_logs(self: SliceReader, storage: Any, slices: Any, shown: pa.Schema) -> Any:
        found = merged(self, storage, slices, shown)
        asked.append((len(slices), found is not None))
        return found

    merged = SliceReader.merge_logs
    monkeypatch.setattr(SliceReader, "merge_logs", merge_logs)
    assert table.snapshot(columns=["v"])["v"].to_pylist() == list(range(100, 112))
    assert asked == [(12, True)]
    asked.clear()
    assert table.head(1).num_rows == 1
    assert asked == []  # whoever wants some rows does not wait for the log files of other slices


@pytest.mark.parametrize(
    ("query", "by_threads"),
    [
        ({}, True),
        ({"columns": ["k", "ts", "p", "v"]}, False),
        ({"filter": [("v", "=", 5)]}, False),  # the columns of rows that do not match are not decoded
        ({"columns": ["v"], "filter": "k > 'a' and ts > 0 and p > 'a' and v < 5 and _hoodie_commit_time > '2'"}, True),
    ],
)
def test_slices_of_few_bytes_to_decode_are_read_by_one_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: dict[str, Any], by_threads: bool
) -> None:
    table = _of_slices(tmp_path / "t", 4)
    size = sum(one.size for one in table.file_slices()) // 4  # of nine columns
    asked: list[int] = []

    def read_in_order(parts: Any, bounds: Bounds, size: Any) -> Any:
        asked.append(bounds.threads)
        return ahead.read_in_order(parts, bounds, size)

    monkeypatch.setattr("hudiformat.read.scan.read_in_order", read_in_order)
    monkeypatch.setattr(scan, "_WORTH_THREADS", size // 2)
    monkeypatch.setattr(scan, "_SMALL", 1)
    monkeypatch.setattr(pa, "cpu_count", lambda: 2)
    table.snapshot(**query)
    assert asked == [2 if by_threads else 1]


def test_a_damaged_log_file_is_an_error_after_the_rows_of_the_slices_before_it(tmp_path: Path) -> None:
    table = _of_slices(tmp_path / "t", 3)
    [log] = (tmp_path / "t" / "p01").glob(".*.log.*")
    block = next(iter(LogReader(log)))
    damaged = bytes(block.content)[:-1] + b"\x7f\x7f\x7f"
    log.write_bytes(encode_block(block._replace(content=damaged)))
    found: list[list[int]] = []
    with pytest.raises(DecodeError, match=re.escape(log.name)):
        found.extend(batch["v"].to_pylist() for batch in table.scan(columns=["v"]))
    assert found == [[100]]


@pytest.mark.parametrize(
    ("held", "size", "with_logs", "parts"),
    [
        (None, 2 << 20, True, [3, 3, 3, 3]),
        (None, 2 << 20, False, [1] * 12),
        (None, 20 << 20, True, [2] * 6),
        (None, 1000, False, [12]),
        (1 << 25, 2 << 20, True, [1] * 12),
        (1 << 25, 1000, True, [1, 11]),
    ],
    ids=["large", "without log files", "very large", "small", "large ones that wait", "small ones that wait"],
)
def test_slices_are_put_into_parts(held: int | None, size: int, with_logs: bool, parts: list[int]) -> None:
    base = BaseFile(BaseFileName("f", "0-0-0", "1"), size)
    log = LogFile(LogFileName("f", "2", 1, "0-0-0"), 10)
    slices = [FileSlice("p", "f", "1", base, (log,) if with_logs else ())] * 12
    found = scan._parts(
        slices, lambda group: (one for one in group), Bounds(threads=2, cost=1 << 30, held=held, together=64)
    )
    assert [len(list(part.read())) for part in found] == parts
