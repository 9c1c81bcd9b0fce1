"""Queries of DuckDB name tables by their paths, and open the files of the partitions that they ask for alone."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import hudiformat as hf
from hudiformat.duckdb import query
from hudiformat.duckdb.queries import is_path
from tests.requests import RecordingStorage, data_files
from tests.tables import table_to_merge


@pytest.fixture
def table(tmp_path: Path) -> hf.Table:
    return table_to_merge(tmp_path / "t")


def test_a_table_is_named_by_its_path(table: hf.Table) -> None:
    found = query(f"select p, sum(v) from '{table.path}' group by p order by p")
    assert found.fetchall() == [("x", 10), ("y", 5)]
    connection = duckdb.connect()
    connection.execute("create table people as select 'a' as k, 'first' as name")
    text = f"with t as (from '{table.path}') select name, v from t join people using (k)"
    assert query(text, connection=connection).fetchall() == [("first", 10)]
    first = table.timeline.completed[0]
    assert query(f"select v from '{table.path}' where k = 'a'", as_of=first).fetchall() == [(1,)]


@pytest.mark.parametrize(
    ("condition", "partitions"),
    [
        ("p = 'y'", {"y"}),
        ("p in ('y')", {"y"}),
        ("p >= 'x' and p < 'y'", {"x"}),
        ("p > 'y'", set()),
        ("v + 0 > 1", {"x", "y"}),
    ],
)
def test_a_filter_on_a_partition_opens_the_files_of_that_partition_alone(
    table: hf.Table, condition: str, partitions: set[str]
) -> None:
    storage = RecordingStorage(hf.open_storage(table.path))
    connection = duckdb.connect()
    relation = hf.open_table(storage).to_duckdb(connection)
    storage.clear()
    assert sorted(relation.filter(condition).project("k").fetchall()) == sorted(
        connection.from_arrow(table.snapshot()).filter(condition).project("k").fetchall()
    )
    assert {path.partition("/")[0] for path in data_files(storage.requests)} == partitions


def test_only_names_with_a_slash_that_are_no_files_are_paths() -> None:
    assert [is_path(name) for name in ("./t", "s3://b/t", "glue://db.t", "hive://h:9083/db.t", "/a/b.c/t")] == [
        True
    ] * 5
    assert [is_path(name) for name in ("t", "a/b.parquet", "a/*", "a/b.csv.gz", "s3://b/c.json?x=y")] == [False] * 5


def test_what_is_no_query_is_an_error(table: hf.Table, tmp_path: Path) -> None:
    with pytest.raises(hf.ArgumentError, match="expected one query, found .delete .*; call execute"):
        query(f"delete from '{table.path}'")
    with pytest.raises(hf.ArgumentError, match="expected one query, found 'select 1; select 2': 2 statements"):
        query("select 1; select 2")
    with pytest.raises(hf.ArgumentError, match="0 statements"):
        query("")
    with pytest.raises(hf.ArgumentError, match="expected one query, found 'selec 1': .*selec"):
        query("selec 1")
    with pytest.raises(hf.ArgumentError, match='"gone" not found'):
        query(f"select gone from '{table.path}'")
    with pytest.raises(hf.NotATableError):
        query(f"from '{tmp_path}/nothing'")
