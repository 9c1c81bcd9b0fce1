"""The command ``hudiformat simulate`` and its page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click
import pyarrow as pa
import pytest
from click.testing import CliRunner, Result

import hudiformat
from hudiformat.cli.sizing.simulate import simulate
from hudiformat.errors import ArgumentError, StorageError
from tests.simulation.support import written_table

SIZES = ["--option", "hoodie.parquet.max.file.size=200000", "-w", "file_bytes=0", "-w", "commits=50", "-w", "rows=800"]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(simulate, arguments, catch_exceptions=False, standalone_mode=False)


def test_a_workload_is_played_and_its_numbers_are_printed() -> None:
    result = run(*SIZES)
    assert result.return_value == 0
    assert "rows: 40,000\n" in result.output
    assert "bytes in: 4.0 MB\n" in result.output


def test_json_has_the_summary_and_the_layout() -> None:
    found = json.loads(run("--json", *SIZES).output)
    assert found["summary"]["rows"] == 40_000
    assert found["layout"][-1]["commit"] == 50
    assert sum(one["files"] for one in found["sizes"]) == found["summary"]["base_files"]


def test_settings_are_varied_and_the_best_are_marked() -> None:
    vary = ["--vary", "hoodie.parquet.small.file.limit=0,50KB,150KB"]
    lines = [json.loads(line) for line in run("--json", *vary, *SIZES).output.splitlines()]
    limits = [one["settings"]["hoodie.parquet.small.file.limit"] for one in lines]
    assert limits == ["0", "51200", "153600"]
    best = [one["is_best"] for one in lines]
    assert any(best)
    written = [one["summary"]["written_bytes"] for one in lines]
    files = [one["summary"]["read_files"] for one in lines]
    assert best[written.index(min(written))]
    assert files[0] > files[-1]
    printed = run(*vary, *SIZES).output.splitlines()
    assert len(printed) == 4
    assert sum(line.startswith("*") for line in printed) == sum(best)


def test_properties_files_are_compared(tmp_path: Path) -> None:
    for name, limit in (("a", 0), ("b", 150_000)):
        (tmp_path / f"{name}.properties").write_text(f"# limits\nhoodie.parquet.small.file.limit={limit}\n")
    compare = [part for name in "ab" for part in ("--compare", str(tmp_path / f"{name}.properties"))]
    lines = [json.loads(line) for line in run("--json", *compare, *SIZES).output.splitlines()]
    assert [one["settings"]["settings"] for one in lines] == ["a.properties", "b.properties"]
    assert lines[0]["summary"]["file_groups"] > lines[1]["summary"]["file_groups"]


def test_a_table_is_continued(tmp_path: Path) -> None:
    written_table(tmp_path / "t", commits=3, rows=500)
    found = json.loads(run("--json", "--commits", "4", str(tmp_path / "t")).output)
    assert found["layout"][-1]["rows"] == 7 * 500


def test_a_trace_has_the_rows_of_each_commit(tmp_path: Path) -> None:
    (tmp_path / "trace.csv").write_text("rows,when\n10,a\n30,b\n")
    found = json.loads(run("--json", "--trace", str(tmp_path / "trace.csv"), "-w", "commits=4").output)
    assert found["summary"]["rows"] == 80


def test_the_page_has_the_runs_and_is_not_replaced(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    arguments = ["--vary", "hoodie.parquet.small.file.limit=0,150KB", "-o", str(page), *SIZES]
    assert f"written: {page}" in run(*arguments).output
    text = page.read_text("utf-8")
    data = text.split('<script type="application/json" id="facts">')[1].split("</script>")[0]
    assert [run["name"] for run in json.loads(data)["runs"]] == [
        "hoodie.parquet.small.file.limit=0",
        "hoodie.parquet.small.file.limit=153600",
    ]
    with pytest.raises(StorageError, match="--force replaces it"):
        run(*arguments)
    run("--force", *arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-w", "color=red"], "color: no such part of a workload"),
        (["-w", "rows=many"], "rows: expected a whole number, found 'many'"),
        (["-w", "row_bytes=much"], "row_bytes: expected a number, found 'much'"),
        (["-w", "trace=1,x"], "trace: expected numbers, separated by commas"),
        (["-w", "partitions.spread=odd"], "partitions.spread: expected even or zipf or day, found 'odd'"),
        (["-w", "update_spread=odd"], "update_spread: expected uniform or zipf or newest, found 'odd'"),
        (["--vary", "hoodie.keep.max.commits=" + ",".join(map(str, range(40, 10_050)))], "at most 10,000 combinations"),
    ],
)
def test_bad_parts_are_errors_by_name(arguments: Sequence[str], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        run(*arguments)


def test_files_that_cannot_be_read_are_errors(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"no\.csv: cannot be read"):
        run("--trace", str(tmp_path / "no.csv"))
    with pytest.raises(StorageError, match=r"no\.properties: cannot be read"):
        run("--compare", str(tmp_path / "no.properties"))
    (tmp_path / "bad.csv").write_text("rows\nmany\n")
    with pytest.raises(ArgumentError, match=r"bad\.csv, line 2: expected a number of rows"):
        run("--trace", str(tmp_path / "bad.csv"))


def test_parts_of_the_workload_of_a_table_are_changed(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    written_table(tmp_path / "t", commits=3, rows=500)
    as_it_is, twice = (
        json.loads(run("--json", "--commits", "4", *more, path).output)["summary"] for more in ([], ["-w", "rows=1000"])
    )
    assert twice["rows"] == as_it_is["rows"] + 4 * 500
    assert twice["bytes_in"] / as_it_is["bytes_in"] == pytest.approx(twice["rows"] / as_it_is["rows"], rel=0.01)
    with pytest.raises(ArgumentError, match=r"partitions\.count: expected no partitions with a table"):
        run("-w", "partitions.count=3", path)


def test_a_table_without_commits_of_rows_takes_a_workload(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64())])
    hudiformat.create_table(tmp_path / "t", name="t", schema=schema, record_key="id", table_type="COPY_ON_WRITE")
    found = json.loads(run("--json", "-w", "commits=2", "-w", "rows=7", str(tmp_path / "t")).output)
    assert found["summary"]["rows"] == 14


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "hoodie.clean.commits.retained=3"], "expected a file, found an option; write --option hoodie"),
        (["-w", "rows"], "-w rows: expected KEY=VALUE"),
        (["--vary", "rows"], "--vary rows: expected KEY=VALUE"),
    ],
)
def test_wrong_usage_is_said(arguments: Sequence[str], message: str) -> None:
    with pytest.raises(click.UsageError, match=message):
        run(*arguments)
