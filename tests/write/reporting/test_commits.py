"""A commit is one line of the log, and the root logger gets nothing of its own."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest

from tests.tables import new_table, rows


def test_each_commit_is_a_line_with_rows_files_bytes_and_seconds(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "hudiformat")
    table = new_table(tmp_path / "t", options={"hoodie.index.type": "SIMPLE"})
    first = table.upsert(rows(("a", 1, "x", 1), ("b", 1, "x", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    table.compact()
    lines = [record.getMessage() for record in caplog.records]
    written = rf"{re.escape(table.path)} {first.instant} upsert: 2 rows \(2 new, 0 updated, 0 deleted\), 1 files, "
    assert re.fullmatch(written + r"\d+ bytes; write \d+\.\d\d s, commit \d+\.\d\d s", lines[0])
    assert "(0 new, 1 updated, 0 deleted)" in lines[1]
    assert " compact: " in lines[2]
    assert len(lines) == 3
    assert {record.name for record in caplog.records} == {"hudiformat"}


def test_nothing_is_logged_unless_somebody_listens(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    new_table(tmp_path / "t").insert(rows(("a", 1, "x", 1)))
    assert caplog.records == []
    assert any(isinstance(one, logging.NullHandler) for one in logging.getLogger("hudiformat").handlers)


def test_a_write_says_why_file_groups_take_new_rows_or_none(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = new_table(tmp_path / "t", table_type="COPY_ON_WRITE", options={"hoodie.parquet.small.file.limit": "0"})
    (first,) = table.insert(rows(("a", 1, "x", 1))).stats
    caplog.set_level(logging.DEBUG, "hudiformat")
    commit = table.insert(rows(("b", 1, "x", 1), ("c", 1, "x", 1)))
    (line,) = [one.getMessage() for one in caplog.records if one.levelno == logging.DEBUG]
    assert line.startswith(
        f"{table.path} {commit.instant} x: 2 new rows: {first.file_id} takes none: small files are turned"
    )
    assert "hoodie.parquet.small.file.limit would have to be above 0; a new file group takes 2 records: " in line
