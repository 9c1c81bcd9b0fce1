"""DuckDB and Polars ask a table for the columns and rows of a query alone."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import hudiformat as hf
from hudiformat.read.dataset import TableDataset
from tests.tables import new_table, rows


class Asked(hf.Table):
    """A table that notes what it is asked for."""

    asked: list[tuple[list[str] | None, Any]] = []  # noqa: RUF012 - one list for all of a test

    def scan(self, **query: Any) -> hf.Scan:
        self.asked.append((query.get("columns"), query.get("filter")))
        return super().scan(**query)


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Asked]:
    made = new_table(tmp_path / "t", options={"hoodie.index.type": "INMEMORY"})
    made.upsert(rows(("a", 1, "x", 1), ("b", 1, "y", 2)))
    made.upsert(rows(("c", 2, "y", 3)))
    found = Asked(made._context)
    Asked.asked.clear()
    yield found
    Asked.asked.clear()


def test_duckdb_pushes_columns_and_filters_down(table: Asked) -> None:
    connection = duckdb.connect()
    relation = connection.from_arrow(table.dataset())
    Asked.asked.clear()
    assert relation.filter("p = 'y' and v > 2").project("k, ts").fetchall() == [("c", 2)]
    [(columns, condition)] = Asked.asked
    assert sorted(columns or []) == ["k", "p", "ts", "v"] or sorted(columns or []) == ["k", "ts"]
    assert isinstance(condition, pc.Expression)
    assert relation.aggregate("count(*)").fetchall() == [(3,)]
    things = table.dataset()
    assert connection.register("things", things).execute("select max(v) from things").fetchone() == (3,)


def test_a_dataset_is_of_now_or_of_a_moment(table: Asked) -> None:
    first = table.timeline.completed[0]
    assert table.dataset().count_rows() == 3
    assert table.dataset(as_of=first).to_table(columns=["k"]).sort_by("k")["k"].to_pylist() == ["a", "b"]
    assert table.dataset(as_of=first).count_rows() == 2
    assert table.dataset(as_of=first).count_rows(pc.field("v") > 1) == 1
    assert table.dataset(as_of=first).head(9, columns=["v"])["v"].to_pylist() == [1, 2]
    now = table.dataset()
    table.upsert(rows(("d", 3, "x", 4)))
    assert now.count_rows() == 4
    assert now.count_rows(pc.field("v") > 3) == 1


def test_what_arrow_itself_asks_of_a_dataset(table: Asked) -> None:
    found = table.dataset()
    assert found.schema == table.scan().schema
    assert found.head(1, columns=["k"]).num_rows == 1
    assert sum(batch.num_rows for batch in found.to_batches(filter=pc.field("p") == "y")) == 2
    assert pa.Table.from_batches(found.scanner(columns=["v"]).to_batches())["v"].to_pylist() == [1, 2, 3]
    assert repr(found).startswith("<TableDataset of <Table")
    again = pickle.loads(pickle.dumps(found))
    assert isinstance(again, TableDataset)
    assert again.count_rows() == 3
    with pytest.raises(NotImplementedError, match="has no fragments"):
        found.get_fragments()
    with pytest.raises(hf.ArgumentError, match="columns: expected names, found dict"):
        found.scanner(columns={"k": pc.field("k")})  # type: ignore[arg-type]  # it is only refused
