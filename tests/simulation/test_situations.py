"""Situations that people have asked about in public, and examples of texts about sizing: what happens in each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat import Partitions, Workload, simulate
from hudiformat.api.reading import context_of
from hudiformat.simulation.board import Board
from hudiformat.simulation.by_rules import assign
from hudiformat.simulation.from_table import start_from, workload_from
from hudiformat.simulation.lanes import new_board
from hudiformat.simulation.settings import Settings
from hudiformat.sink.packing import Packing, pack
from tests.simulation.support import SCHEMA, SMALL, rows_of, written_table

MB = 1_000_000
LIMITS = {"hoodie.parquet.max.file.size": str(120 * MB), "hoodie.parquet.small.file.limit": str(100 * MB)}
MOR = "MERGE_ON_READ"


def board_with(*sizes: int, rows: int = 1) -> Board:
    """A table of files of these bytes, whose rows take 1,000 bytes."""
    load = Workload(commits=1, rows=rows, row_bytes=1000.0, file_bytes=0)
    board = new_board(load, Settings.of(LIMITS), seed=1)
    for size in sizes:
        number = board.add_group(0, 0)
        board.groups["fixed"][number] = size
    return board


def test_files_of_40_80_90_130_and_105_mb_with_a_limit_of_100() -> None:
    board = board_with(40 * MB, 80 * MB, 90 * MB, 130 * MB, 105 * MB)
    known, opened = assign(board, 0, 450_000, 1000)
    assert {board.groups.size_of(number) // MB: rows for number, rows in known.items()} == {
        40: 80_000,
        80: 40_000,
        90: 30_000,
    }
    assert opened == [(None, 120_000), (None, 120_000), (None, 60_000)]


def test_300_thousand_rows_that_are_left_over_at_120_thousand_a_file() -> None:
    assert assign(board_with(), 0, 300_000, 1000) == ({}, [(None, 120_000), (None, 120_000), (None, 60_000)])
    found = simulate(
        Workload(commits=1, rows=300_000, row_bytes=1000.0, file_bytes=0),
        options={**LIMITS, "hoodie.copyonwrite.record.size.estimate": "1000"},
    )
    assert found.sizes.to_pydict() == {"bytes": [60 * MB, 120 * MB], "files": [1, 2]}


def test_files_of_5_4_7_11_2_3_and_4_mb_packed_to_10() -> None:
    packed = {way: pack([5, 4, 7, 11, 2, 3, 4], lambda size: size, 10, way) for way in Packing}
    assert packed[Packing.NEXT_FIT] == [[5, 4], [7], [11], [2, 3, 4]]
    assert sorted(packed[Packing.FIRST_FIT]) == [[3, 4], [5, 4], [7, 2], [11]]


def test_files_of_400_kb_at_each_checkpoint() -> None:
    """apache/hudi 10622: Flink's append mode does not fill small files; with upserts they are filled."""
    load = Workload(commits=60, rows=4000, row_bytes=100.0, file_bytes=0)
    appended = simulate(load, engine="flink", writing="bulk_insert")
    assert appended.sizes.to_pydict() == {"bytes": [400_000], "files": [60]}
    assert simulate(load, engine="flink").summary["file_groups"] == 1
    clustered = simulate(load, engine="flink", writing="bulk_insert", options={"hoodie.clustering.inline": "true"})
    assert clustered.summary["file_groups"] <= 5


def test_as_many_files_as_tasks() -> None:
    """apache/hudi 8651: each task of a bulk insert opens a file in each partition that it has rows of."""
    load = Workload(commits=1, rows=100_000, row_bytes=100.0, file_bytes=0, partitions=Partitions(count=10))
    assert simulate(load, writing="bulk_insert", tasks=200).summary["file_groups"] == 2000
    assert simulate(load, writing="bulk_insert", tasks=1).summary["file_groups"] == 10


def test_a_clustering_that_reaches_one_partition_of_many() -> None:
    """apache/hudi 13475: a plan has 30 groups at most, from the first partitions on; it never reaches the others."""
    load = Workload(commits=12, rows=200_000, row_bytes=100.0, file_bytes=0, partitions=Partitions(count=50))
    options = {
        "hoodie.parquet.small.file.limit": "0",
        "hoodie.clustering.inline": "true",
        "hoodie.clustering.plan.strategy.max.num.groups": "1",
    }
    found = simulate(load, options=options)
    assert found.summary["clusterings"] == 3
    assert found.summary["file_groups"] == 49 * 12 + 1
    more = simulate(load, options={**options, "hoodie.clustering.plan.strategy.max.num.groups": "50"})
    assert more.summary["file_groups"] == 50


def test_how_many_buckets() -> None:
    """apache/hudi 8459: far more buckets than the data need leave files that no writer fills."""
    load = Workload(commits=20, rows=50_000, row_bytes=100.0, file_bytes=0)
    medians = {}
    for count in ("1", "4", "256"):
        options = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": count}
        medians[count] = simulate(load, options=options).summary["base_file_p50"]
    assert medians == {"1": 100 * MB, "4": 25 * MB, "256": 100 * MB // 256}


def test_a_tail_file_that_is_rewritten_for_ever() -> None:
    """apache/hudi 14086: a few rows a commit rewrite the tail file; without small files there are many."""
    load = Workload(commits=500, rows=10, row_bytes=100.0, file_bytes=400_000)
    tail, none = simulate(load), simulate(load, options={"hoodie.parquet.small.file.limit": "0"})
    assert tail.summary["file_groups"] == 1
    assert none.summary["file_groups"] == 500
    assert tail.summary["written_bytes"] == sum(400_000 + 1000 * number for number in range(1, 501))
    assert none.summary["written_bytes"] == 500 * 401_000
    assert tail.summary["read_files"] == 1


def test_small_files_that_no_writer_fills_without_compaction() -> None:
    """apache/hudi 19629: a file group with log files takes no new rows, as the index does not see them."""
    load = Workload(commits=60, rows=2000, updates=0.5, row_bytes=100.0, file_bytes=0, update_spread="uniform")
    options = {**LIMITS, "hoodie.index.type": "INMEMORY"}
    never = simulate(load, table_type=MOR, options=options)
    often = simulate(load, table_type=MOR, options={**options, "hoodie.compact.inline": "true"})
    assert never.summary["never_compacted_bytes"] == never.summary["log_bytes"] > 0
    assert never.summary["log_files"] > 50
    assert often.summary["never_compacted_bytes"] == 0
    assert often.summary["log_files"] < 10


def test_late_rows_open_small_files_in_old_partitions() -> None:
    load = Workload(
        commits=96,
        rows=1000,
        interval=3600.0,
        row_bytes=100.0,
        file_bytes=0,
        partitions=Partitions(spread="day", late=0.1, late_days=2),
    )
    found = simulate(load, options={"hoodie.parquet.small.file.limit": "0"})
    assert found.layout["partitions"][-1].as_py() == 4
    assert found.summary["file_groups"] == 24 + 48 + 72 + 72


def test_the_plan_of_one_commit_is_the_plan_of_the_writer(tmp_path: Path) -> None:
    table = written_table(tmp_path / "t", commits=4, rows=900)
    for count in (10, 1500, 9000):
        (plan,) = table.plan_inserts({"": count})
        state = context_of(table).state()
        load = workload_from(state, commits=1)
        settings = Settings.of({}, table_type="COPY_ON_WRITE", onto=state.options)
        board = new_board(load, settings, seed=1, start=start_from(state, load))
        known, opened = assign(board, 0, count, board.recent.average())
        assert {board.groups.ids[number]: rows for number, rows in known.items()} == {
            one.file_id: one.records for one in plan.buckets if one.file_id is not None
        }
        assert [rows for _, rows in opened] == [one.records for one in plan.buckets if one.file_id is None]


def test_a_table_goes_on_as_its_history_says(tmp_path: Path) -> None:
    table = written_table(tmp_path / "t", commits=6, rows=900)
    before = sorted(one.base_file.size for one in table.file_slices() if one.base_file is not None)
    played = table.simulate(commits=6)
    assert played.workload.rows == 900
    assert played.layout["rows"][-1].as_py() == 12 * 900
    for number in range(6, 12):
        table.insert(rows_of(number, 900))
    after = sorted(one.base_file.size for one in table.file_slices() if one.base_file is not None)
    assert len(after) >= len(before)
    assert played.summary["base_files"] == pytest.approx(len(after), abs=1)
    assert played.summary["base_bytes"] == pytest.approx(sum(after), rel=0.1)


def test_buckets_of_consistent_hashing_go_on_as_the_table_does(tmp_path: Path) -> None:
    options = {
        **SMALL,
        "hoodie.index.type": "BUCKET",
        "hoodie.index.bucket.engine": "CONSISTENT_HASHING",
        "hoodie.bucket.index.num.buckets": "2",
        "hoodie.bucket.index.max.num.buckets": "32",
        "hoodie.compact.inline": "true",
        "hoodie.clustering.inline": "true",
    }
    path = tmp_path / "t"
    table = hf.create_table(
        path, name="t", schema=SCHEMA, record_key=["k"], table_type="MERGE_ON_READ", options=options
    )
    for number in range(16):
        table.insert(rows_of(number, 2500))
    before = len(table.file_slices())
    assert before > 2
    played = hf.open_table(path, options=options).simulate(commits=20)
    assert played.workload.updates == 0  # though the commits count rows for buckets that exist as updates
    for number in range(16, 36):
        table.insert(rows_of(number, 2500))
    after = len(table.file_slices())
    assert after > before
    assert played.summary["file_groups"] == pytest.approx(after, abs=2)
    whole = hf.simulate(replace(played.workload, commits=36), options=options, table_type="MERGE_ON_READ")
    assert whole.summary["file_groups"] == pytest.approx(after, abs=2)


def test_a_table_without_rows_has_no_workload(tmp_path: Path) -> None:
    table = hf.create_table(
        tmp_path / "t", name="t", schema=pa.schema([("k", pa.string())]), record_key=["k"], table_type="COPY_ON_WRITE"
    )
    with pytest.raises(hf.UnsupportedFeatureError, match="cannot take a workload from the table"):
        table.simulate()
    assert table.simulate(Workload(commits=3, rows=10)).summary["rows"] == 30


def advised(table: hf.Table, options: dict[str, str]) -> list[str]:
    return [one.finding for one in hf.open_table(table.path, options={**SMALL, **options}).advise(commits=20)]


def test_advise_on_small_files_of_appends(tmp_path: Path) -> None:
    """apache/hudi 10622, 8651: appended files are clustered, as no writer fills them."""
    table = written_table(tmp_path / "t", commits=0, rows=0)
    for number in range(10):
        table.bulk_insert(rows_of(number, 50))
    assert advised(table, {"hoodie.copyonwrite.record.size.estimate": "50"})[0] == "unfilled-small-files"


def test_advise_on_a_tail_file_that_is_rewritten_for_ever(tmp_path: Path) -> None:
    """apache/hudi 14086: a few rows a commit rewrite the tail file; written and clustered apart they cost half."""
    options = {"hoodie.copyonwrite.record.size.estimate": "50"}
    table = written_table(tmp_path / "t", commits=0, rows=0)
    for number in range(9):
        hf.open_table(table.path, options={**SMALL, **options}).insert(rows_of(number, 5 if number else 1200))
    assert advised(table, options)[0] == "better-settings"


def test_advise_on_small_files_that_no_writer_fills_without_compaction(tmp_path: Path) -> None:
    """apache/hudi 19629: log files that are never compacted are found, whatever the small files."""
    options = {**SMALL, "hoodie.index.type": "INMEMORY"}
    table = hf.create_table(tmp_path / "t", name="t", schema=SCHEMA, record_key="k", table_type=MOR, options=options)
    for number in range(10):
        table.upsert(rows_of(number % 2, 50))
    assert advised(table, {})[0] == "compaction-not-run"


def table_with_files(path: Path, *sizes: int, options: dict[str, str]) -> hf.Table:
    """A table with base files of about so many bytes, each of one bulk insert; its footers have 2 kB."""
    plain = {**SMALL, "hoodie.parquet.bloom.filter.enabled": "false", **options}
    table = hf.create_table(path, name="t", schema=SCHEMA, record_key="k", table_type="COPY_ON_WRITE", options=plain)
    for number, size in enumerate(sizes):
        table.bulk_insert(rows_of(number, (size - 2000) // 34))
    found = [one.base_file.size for one in table.file_slices() if one.base_file is not None]
    assert sorted(found) == pytest.approx(sorted(sizes), rel=0.15)
    return hf.open_table(path, options=plain)


def test_advise_on_files_of_40_80_90_130_and_105_kb_with_a_limit_of_100(tmp_path: Path) -> None:
    """Three are filled by the next rows; five files are no reason to do anything."""
    sizes = [one * 1000 for one in (40, 80, 90, 130, 105)]
    table = table_with_files(tmp_path / "t", *sizes, options={"hoodie.copyonwrite.record.size.estimate": "40"})
    found = table.advise(commits=5)
    assert found == []
    assert found.headline == "Nothing to do"
    (plan,) = table.plan_inserts({"": 4000})
    assert sum(one.file_id is not None for one in plan.buckets) == 3


@pytest.mark.parametrize(("estimate", "finding"), [("40", []), ("1024", ["record-size-estimate"])])
def test_advise_on_rows_that_are_left_over(tmp_path: Path, estimate: str, finding: list[str]) -> None:
    """300 rows are left over, 120 of which fill a file; by a wrong estimate each file takes 117 of 3,000."""
    options = {**SMALL, "hoodie.copyonwrite.record.size.estimate": estimate}
    options["hoodie.record.size.estimation.threshold"] = "100"
    table = written_table(tmp_path / "t", commits=0, rows=0)
    for number in range(2):
        hf.open_table(table.path, options=options).insert(rows_of(number, 3000))
    found = hf.open_table(table.path, options=options).advise(commits=2)
    assert [one.finding for one in found][:1] == finding


def test_advise_on_files_of_5_4_7_11_2_3_and_4_packed_to_10(tmp_path: Path) -> None:
    """Packing makes four or five of seven files: nothing that anybody would notice.  Of seventy, it is advised."""
    sizes = [one * 10_000 for one in (5, 4, 7, 11, 2, 3, 4)]
    limits = {"hoodie.parquet.max.file.size": "100000", "hoodie.copyonwrite.record.size.estimate": "40"}
    assert table_with_files(tmp_path / "few", *sizes, options=limits).advise(commits=5) == []
    many = table_with_files(tmp_path / "many", *(sizes * 3), options=limits)
    assert [one.finding for one in many.advise(commits=5)][:1] == ["unfilled-small-files"]


@pytest.mark.parametrize(("limit", "finding"), [("0", ["unfilled-small-files"]), ("100000", [])])
def test_advise_on_late_rows(tmp_path: Path, limit: str, finding: list[str]) -> None:
    """Late rows open small files in old partitions where these are not filled; else there is nothing to do."""
    options = {**SMALL, "hoodie.parquet.small.file.limit": limit, "hoodie.copyonwrite.record.size.estimate": "50"}
    schema = SCHEMA.append(pa.field("day", pa.string()))
    table = hf.create_table(
        tmp_path / "t",
        name="t",
        schema=schema,
        record_key="k",
        partition_by="day",
        table_type="COPY_ON_WRITE",
        options=options,
    )
    for number in range(16):
        rows = rows_of(number, 2400)
        days = pa.array([f"d{number // 4 - (at % 10 == 0 and number >= 4)}" for at in range(len(rows))])
        table.insert(rows.append_column("day", days))
    found = hf.open_table(table.path, options=options).advise(commits=4)
    assert [one.finding for one in found][:1] == finding
