"""``hudiformat sql``: queries are printed as read prints rows, statements as write prints commits."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

import hudiformat as hf
from tests.cli.support import Command
from tests.tables import new_table, rows


@pytest.fixture
def table(tmp_path: Path) -> hf.Table:
    made = new_table(tmp_path / "t")
    made.upsert(rows(("a", 1, "x", 1), ("b", 1, "y", 2)))
    return made


def test_a_query_is_printed_or_written(command: Command, table: hf.Table, tmp_path: Path) -> None:
    text = f"select k, v from '{table.path}' where v > 1"
    assert [line.split() for line in command("sql", text).lines] == [["k", "v"], ["b", "2"]]
    assert command("sql", "--json", text).json == [{"k": "b", "v": 2}]
    file = tmp_path / "rows.parquet"
    assert command("sql", text, "-o", file).out == f"1 rows in {file}\n"
    assert pq.read_table(file).to_pylist() == [{"k": "b", "v": 2}]
    first = table.timeline.completed[0].time
    table.upsert(rows(("b", 2, "y", 9)))
    assert command("sql", "--json", "--as-of", first, text).json == [{"k": "b", "v": 2}]


def test_a_statement_changes_the_table(command: Command, table: hf.Table) -> None:
    result = command("sql", f"update '{table.path}' set v = 7 where k = 'a'")
    assert (result.code, result.err) == (0, "")
    assert "1 written, 0 deleted" in result.lines[0]
    [commit] = command("sql", "--json", f"\n delete from '{table.path}' where v = 7").json
    assert (commit["deletes"], table.count()) == (1, 1)


def test_errors_of_queries_and_statements(command: Command, table: hf.Table) -> None:
    result = command("sql", f"select gone from '{table.path}'")
    assert result.code == 2
    assert "expected a query of DuckDB's" in result.err
    result = command("sql", f"delete from '{table.path}' returning k")
    assert result.code == 2
    assert "returning of delete" in result.err
    result = command("sql", "--as-of", "2024-01-01", f"delete from '{table.path}'")
    assert result.code == 2
    assert "--as-of and -o go with a query" in result.err
    assert table.count() == 2
