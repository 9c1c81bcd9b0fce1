"""pypaimon's side: tables with primary keys, and tables without, whose rows have numbers, where these can do more."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
from pypaimon import CatalogFactory, Schema
from pypaimon.schema.data_types import AtomicType
from pypaimon.schema.schema_change import SchemaChange
from pypaimon.table.data_evolution_merge_into import WhenMatched, WhenNotMatched

from benchmarks.peers.features import CHANGED, ROWS, SCHEMA, Peer, rows, small

KEYS = {"bucket": "1"}
NUMBERED = {"row-tracking.enabled": "true", "data-evolution.enabled": "true", "deletion-vectors.enabled": "true"}
BY_NUMBER = ("update", "partial", "merge")
"""What only tables without primary keys can do."""


def catalog(folder: Path) -> Any:
    """The catalog of the tables in *folder*."""
    return CatalogFactory.create({"warehouse": str(folder)})


def empty(folder: Path, *, keys: bool = True) -> Any:
    """An empty partitioned table."""
    made = catalog(folder)
    made.create_database("n", True)
    primary, options = (["p", "id"], KEYS) if keys else (None, NUMBERED)
    schema = Schema.from_pyarrow_schema(SCHEMA, partition_keys=["p"], primary_keys=primary, options=options)
    made.create_table("n.t", schema, False)
    return made.get_table("n.t")


def write(table: Any, data: pa.Table, *, overwrite: Mapping[str, str] | None = None) -> None:
    """Add rows, and replace those with their keys; or replace the rows of a partition."""
    builder = table.new_batch_write_builder()
    if overwrite is not None:
        builder = builder.overwrite(dict(overwrite))
    writer, commit = builder.new_write(), builder.new_commit()
    writer.write_arrow(data)
    commit.commit(writer.prepare_commit())


def change(table: Any, how: Callable[[Any, Any], Any]) -> None:
    """Commit what *how* makes of an update and a builder of predicates."""
    builder = table.new_batch_write_builder()
    messages = how(builder.new_update(), table.new_read_builder().new_predicate_builder())
    builder.new_commit().commit(messages)


def read(table: Any, columns: list[str] | None = None, **equal: object) -> pa.Table:
    """The rows whose columns have the values *equal*."""
    builder = table.new_read_builder()
    for name, value in equal.items():
        builder = builder.with_filter(builder.new_predicate_builder().equal(name, value))
    if columns:
        builder = builder.with_projection(columns)
    found: pa.Table = builder.new_read().to_arrow(builder.new_scan().plan().splits())
    return found


def moment(table: Any) -> int:
    """The time of the newest snapshot, which the next one does not have."""
    found = int(table.snapshot_manager().get_latest_snapshot().time_millis)
    time.sleep(0.002)
    return found


def between(table: Any, before: int) -> pa.Table:
    """The rows that were written after a moment."""
    return read(table.copy({"incremental-between-timestamp": f"{before},{moment(table)}"}))


class Paimon(Peer):
    """pypaimon."""

    name, package = "pypaimon", "pypaimon"

    def prepare(self, folder: Path, feature: str) -> Any:
        """A table of the kind that the feature needs."""
        table = empty(folder, keys=feature not in BY_NUMBER)
        write(table, rows())
        return table

    def create(self, folder: Path) -> Any:
        table = empty(folder)
        write(table, rows())
        return read(table, ["id"]).num_rows

    def read(self, table: Any) -> Any:
        return read(table).num_rows

    def upsert(self, table: Any) -> tuple[int, int]:
        write(table, rows(ROWS - CHANGED // 2, CHANGED, ts=2, v=1))
        return read(table, ["id"]).num_rows, read(table, v=1).num_rows

    def delete(self, table: Any) -> Any:
        change(table, lambda update, where: update.delete_by_predicate(where.equal("p", "3")))
        return read(table, ["id"]).num_rows

    def update(self, table: Any) -> Any:
        change(table, lambda update, where: update.update_by_predicate(where.equal("p", "3"), {"v": 7}))
        return read(table, v=7).num_rows

    def partial(self, table: Any) -> tuple[int, int]:
        source = rows(0, CHANGED, v=1).select(["id", "p", "v"])
        change(table, lambda update, _: update.with_update_type(["v"]).upsert_by_arrow_with_key(source, ["id"]))
        found = read(table, v=1)
        return found.num_rows, found["w"].to_pylist().count(5)

    def merge(self, table: Any) -> tuple[int, int]:
        half = WhenMatched.update({"v": "s.v"}, condition=f"s.id < '{CHANGED // 2:09d}'")
        source, new = rows(0, CHANGED, v=1), WhenNotMatched(insert="*")
        merged = {"on": ["id"], "when_matched": [half], "when_not_matched": [new]}
        change(table, lambda update, _: update.merge_into(source, **merged))
        return read(table, ["id"]).num_rows, read(table, v=1).num_rows

    def overwrite(self, table: Any) -> Any:
        write(table, rows(3, 1), overwrite={"p": "3"})
        return read(table, ["id"]).num_rows

    def travel(self, table: Any) -> Any:
        write(table, rows(3, 1), overwrite={"p": "3"})
        return read(table.copy({"scan.snapshot-id": "1"})).num_rows

    def incremental(self, table: Any) -> Any:
        before = moment(table)
        write(table, rows(ROWS, CHANGED))
        return between(table, before).num_rows

    def changed(self, table: Any) -> Any:
        before = moment(table)
        write(table, rows(0, CHANGED, ts=2, v=1))
        return between(table, before).num_rows

    def add_column(self, table: Any) -> bool:
        home = catalog(Path(table.table_path).parents[1])
        home.alter_table("n.t", [SchemaChange.add_column("note", AtomicType("STRING"))], False)
        return "note" in [field.name for field in home.get_table("n.t").fields]

    def rename_column(self, table: Any) -> bool:
        home = catalog(Path(table.table_path).parents[1])
        home.alter_table("n.t", [SchemaChange.rename_column("v", "amount")], False)
        return "amount" in read(home.get_table("n.t")).schema.names

    def widen_column(self, table: Any) -> str:
        home = catalog(Path(table.table_path).parents[1])
        home.alter_table("n.t", [SchemaChange.add_column("n", AtomicType("INT"))], False)
        home.alter_table("n.t", [SchemaChange.update_column_type("n", AtomicType("BIGINT"))], False)
        return str(read(home.get_table("n.t")).schema.field("n").type)

    def restore(self, table: Any) -> Any:
        write(table, rows(3, 1), overwrite={"p": "3"})
        table.rollback_to(1)
        return read(table, ["id"]).num_rows

    def branch(self, table: Any) -> bool:
        table.create_tag("before")
        table.branch_manager().create_branch("try", "before")
        write(catalog(Path(table.table_path).parents[1]).get_table("n.t$branch_try"), rows(ROWS, CHANGED))
        return bool(read(table, ["id"]).num_rows == ROWS)

    def stream(self, table: Any) -> Any:
        builder = table.new_read_builder().with_projection(["id"])
        reader = builder.new_read().to_arrow_batch_reader(builder.new_scan().plan().splits())
        return sum(batch.num_rows for batch in reader)

    def polars(self, table: Any) -> tuple[int, int]:
        return small(pl.DataFrame(read(table, ["v"])))

    def duckdb(self, table: Any) -> Any:
        builder = table.new_read_builder().with_projection(["p"])
        connection = builder.new_read().to_duckdb(builder.new_scan().plan().splits(), "t")
        return int(connection.execute("select count(*) from t where p = '3'").fetchall()[0][0])

    def writers(self, table: Any) -> Any:
        folder = Path(table.table_path).parents[1]

        def add(start: int) -> None:
            write(catalog(folder).get_table("n.t"), rows(start, CHANGED))

        with ThreadPoolExecutor() as pool:
            list(pool.map(add, (ROWS, 2 * ROWS)))
        return read(table, ["id"]).num_rows

    def log_merge(self, table: Any) -> tuple[int, int]:
        write(table, rows(0, CHANGED, ts=2, v=1))
        return read(table, ["id"]).num_rows, read(table, v=1).num_rows
