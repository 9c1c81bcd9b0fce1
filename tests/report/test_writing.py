"""A report, and its page on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat import StorageError, Table, TableReport
from hudiformat.report.page import write_page
from tests.tables import new_table, rows


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = new_table(tmp_path / "t", options={"hoodie.index.type": "INMEMORY"})
    for step in range(5):
        table.upsert(rows(("a", step, "x", step)))
    return table


def test_a_report_says_what_to_do_and_where_its_page_is(table: Table, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    found = table.report(path)
    assert isinstance(found, TableReport)
    assert found.headline.startswith("Compact: 1 of 1 file group carries log files")
    assert found.command == f"hudiformat compact -o hudiformat.sync=false {table.path}"
    assert found.path == str(path)
    assert found.facts["layout"]["totals"]["file_groups"] == 1
    assert path.read_text("utf-8").startswith("<!doctype html>")


def test_without_a_path_nothing_is_written(table: Table, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    found = table.report(verify=False)
    assert (found.path, found.facts["findings"]) == (None, None)
    assert sorted(tmp_path.iterdir()) == before


def test_an_old_page_is_replaced(table: Table, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    table.report(str(path))
    assert path.read_text("utf-8") != "old"
    assert sorted(tmp_path.iterdir()) == [path, tmp_path / "t"]


def test_a_page_that_is_there_is_kept_on_request(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(StorageError, match="report.html"):
        write_page("new", path, overwrite=False)
    assert path.read_text() == "old"


def test_a_folder_is_no_file(table: Table, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="is a folder: expected the name of a file"):
        table.report(tmp_path)


def test_no_folder_is_made(table: Table, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="there is no folder"):
        table.report(tmp_path / "none" / "report.html")
