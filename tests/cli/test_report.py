"""``hudiformat report``."""

from __future__ import annotations

import os
import re
import shlex
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hudiformat import Table
from hudiformat.cli.app import _COMMANDS
from tests.cli.support import Command, start
from tests.tables import new_table, rows


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Table:
    monkeypatch.chdir(tmp_path)
    table = new_table(tmp_path / "t", options={"hoodie.index.type": "INMEMORY"})
    table.bulk_insert(rows(("a", 1, "x", 1)))
    for step in range(2, 7):
        table.upsert(rows(("a", step, "x", step)))
    return table


def test_the_page_is_written_and_the_advice_printed(command: Command, table: Table) -> None:
    result = command("report", table.path)
    assert (result.code, result.err) == (0, "")
    headline, advised, written = result.lines
    assert headline.startswith("Compact: 1 of 1 file group carries log files")
    assert advised == f"  hudiformat compact {table.path}"
    assert written == "written: report.html"
    assert Path("report.html").read_text("utf-8").startswith("<!doctype html>")


def test_a_file_that_is_there_is_replaced_on_request_alone(command: Command, table: Table) -> None:
    Path("page.html").write_text("old")
    result = command("report", table.path, "-o", "page.html")
    assert result.code == 2
    assert result.err == "hudiformat: page.html exists: --force replaces it, -o names another file\n"
    assert Path("page.html").read_text() == "old"
    assert command("report", table.path, "-o", "page.html", "--force").code == 0
    assert Path("page.html").read_text("utf-8") != "old"


@pytest.mark.slow
def test_a_hyphen_is_standard_output(table: Table) -> None:
    process = start("report", table.path, "-o", "-")
    out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    assert out.startswith("<!doctype html>")
    assert not Path("report.html").exists()


def test_the_facts_as_one_object(command: Command, table: Table) -> None:
    result = command("report", "--json", "--no-verify", table.path)
    (facts,) = result.json
    assert facts["identity"]["path"] == table.path
    assert facts["findings"] is None
    assert facts["layout"]["totals"]["log_files"] == 5
    assert not Path("report.html").exists()


def test_options_say_what_the_table_is_measured_by(command: Command, table: Table) -> None:
    (facts,) = command("report", "--json", "--option", "hoodie.parquet.small.file.limit=7", table.path).json
    assert facts["limits"]["small"] == 7


def test_damage_is_a_finding(command: Command, table: Table) -> None:
    (base,) = Path(table.path, "x").glob("*.parquet")
    base.write_bytes(b"PAR1 no longer")
    result = command("report", table.path)
    assert (result.code, result.lines[0]) == (1, "Repair: 1 damaged file")
    assert command("report", "--json", table.path).code == 1
    assert command("report", "--no-verify", "--force", table.path).code == 0


def test_nothing_to_do_has_no_command(command: Command, table: Table, tmp_path: Path) -> None:
    new_table(tmp_path / "empty")
    assert command("report", tmp_path / "empty").lines == ["Nothing to do", "written: report.html"]


def test_no_table_is_an_error(command: Command, tmp_path: Path) -> None:
    result = command("report", tmp_path / "none", "-o", tmp_path / "page.html")
    assert (result.code, (tmp_path / "page.html").exists()) == (2, False)


def test_what_is_advised_can_be_run_until_nothing_is_left(command: Command, table: Table) -> None:
    time = str(int(table.timeline.latest_instant_time or "0") + 1000)
    timeline = Path(table.path, table.config.timeline_folder)
    for state in ("requested", "inflight"):
        (timeline / f"{time}.deltacommit.{state}").touch()
    done = []
    while (first := command("report", "--json", table.path).json[0]["advice"][0])["command"]:
        done.append(first["verb"])
        assert command(*shlex.split(first["command"])[1:]).code == 0
    assert done == ["Roll back", "Compact"]


def test_damage_is_repaired_on_advice(command: Command, table: Table) -> None:
    log = max(Path(table.path, "x").glob(".*.log*"), key=lambda one: one.stat().st_mtime)
    log.write_bytes(log.read_bytes()[:-9])
    (first, *_) = command("report", "--json", table.path).json[0]["advice"]
    assert first["headline"] == "Repair: 1 damaged file"
    assert command(*shlex.split(first["command"])[1:], "--apply", "--dead-after", "0").code == 0
    assert command("report", "--json", table.path).json[0]["findings"]["counts"] == {}


def test_many_small_files_are_clustered_on_advice(command: Command, tmp_path: Path) -> None:
    table = new_table(tmp_path / "small", table_type="COPY_ON_WRITE")
    for step in range(9):
        table.bulk_insert(rows((f"k{step}", step, "x", step)))
    (first,) = command("report", "--json", table.path).json[0]["advice"]
    assert first["headline"].startswith("Cluster: 9 of 9 file groups are below 105 MB, and no writer fills them")
    assert command(*shlex.split(first["command"])[1:]).code == 0
    assert [one["headline"] for one in command("report", "--json", table.path).json[0]["advice"]] == ["Nothing to do"]


def test_every_command_that_is_advised_is_one() -> None:
    package = Path(__file__).parents[2] / "hudiformat"
    texts = [
        path.read_text("utf-8") for path in (package / "report" / "advice.py", *(package / "advice").rglob("*.py"))
    ]
    patterns = (r'f"hudiformat (\w+)', r'run\(facts, f?"(\w+)')
    advised = {name for text in texts for pattern in patterns for name in re.findall(pattern, text)}
    assert advised == {
        "clean",
        "cluster",
        "compact",
        "create",
        "maintain",
        "read",
        "repair",
        "rollback",
        "savepoint",
        "write",
    }
    assert advised <= set(_COMMANDS)


def test_a_pipe_is_written_to_and_not_replaced(command: Command, table: Table, tmp_path: Path) -> None:
    pipe = tmp_path / "page.html"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as reader:
        page = reader.submit(pipe.read_text, "utf-8")
        assert command("report", "--force", "-o", pipe, table.path).code == 0
        assert page.result().startswith("<!doctype html>")
    assert pipe.is_fifo()
