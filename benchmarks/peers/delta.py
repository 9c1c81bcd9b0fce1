"""deltalake's side (delta-rs)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, Field, convert_to_deltalake, write_deltalake
from deltalake.exceptions import DeltaError
from deltalake.query import QueryBuilder

from benchmarks.peers.features import CHANGED, ROWS, Peer, rows, small

CDF = {"delta.enableChangeDataFeed": "true"}


def count(table: DeltaTable, filters: list[tuple[str, str, object]] | None = None) -> Any:
    """How many rows there are."""
    return DeltaTable(table.table_uri).to_pyarrow_table(columns=["id"], filters=filters).num_rows


class DeltaLake(Peer):
    """deltalake."""

    name, package = "deltalake", "deltalake"

    def prepare(self, folder: Path, feature: str) -> DeltaTable:
        """A table with a change data feed where that is asked for."""
        configuration = CDF if feature in ("cdc", "changed", "incremental") else None
        write_deltalake(folder, rows(), partition_by=["p"], configuration=configuration)
        if feature in ("compact", "zorder"):
            for number in range(3):
                write_deltalake(folder, rows(ROWS * (number + 1), CHANGED), mode="append")
        return DeltaTable(folder)

    def create(self, folder: Path) -> Any:
        write_deltalake(folder, rows(), partition_by=["p"])
        return count(DeltaTable(folder))

    def read(self, table: DeltaTable) -> Any:
        return table.to_pyarrow_table().num_rows

    def upsert(self, table: DeltaTable) -> tuple[int, int]:
        source = rows(ROWS - CHANGED // 2, CHANGED, ts=2, v=1)
        merge = table.merge(source, "t.id = s.id and t.p = s.p", source_alias="s", target_alias="t")
        merge.when_matched_update_all().when_not_matched_insert_all().execute()
        return count(table), count(table, [("v", "=", 1)])

    def delete(self, table: DeltaTable) -> Any:
        table.delete("p = '3'")
        return count(table)

    def update(self, table: DeltaTable) -> Any:
        table.update(new_values={"v": 7}, predicate="p = '3'")
        return count(table, [("v", "=", 7)])

    def partial(self, table: DeltaTable) -> tuple[int, int]:
        source = rows(0, CHANGED, v=1).select(["id", "p", "v"])
        merge = table.merge(source, "t.id = s.id and t.p = s.p", source_alias="s", target_alias="t")
        merge.when_matched_update({"v": "s.v"}).execute()
        return count(table, [("v", "=", 1)]), count(table, [("v", "=", 1), ("w", "=", 5)])

    def merge(self, table: DeltaTable) -> tuple[int, int]:
        source = rows(0, CHANGED, v=1)
        merge = table.merge(source, "t.id = s.id and t.p = s.p", source_alias="s", target_alias="t")
        half = f"s.id < '{CHANGED // 2:09d}'"
        merge.when_matched_update({"v": "s.v"}, predicate=half).when_not_matched_insert_all().execute()
        return count(table), count(table, [("v", "=", 1)])

    def overwrite(self, table: DeltaTable) -> Any:
        write_deltalake(table, rows(3, 1), mode="overwrite", predicate="p = '3'")
        return count(table)

    def travel(self, table: DeltaTable) -> Any:
        before = table.version()
        table.delete("p = '3'")
        return DeltaTable(table.table_uri, version=before).to_pyarrow_table().num_rows

    def incremental(self, table: DeltaTable) -> Any:
        write_deltalake(table, rows(ROWS, CHANGED), mode="append")
        return pa.table(DeltaTable(table.table_uri).load_cdf(starting_version=1)).num_rows

    def changed(self, table: DeltaTable) -> Any:
        table.update(new_values={"v": 1}, predicate=f"id < '{CHANGED:09d}'")
        changes = pl.DataFrame(table.load_cdf(starting_version=1))
        return changes.filter(pl.col("_change_type") == "update_postimage").height

    def cdc(self, table: DeltaTable) -> Any:
        table.update(new_values={"v": 1}, predicate=f"id < '{CHANGED:09d}'")
        return pa.table(table.load_cdf(starting_version=1)).num_rows // 2  # a row before, and a row after

    def add_column(self, table: DeltaTable) -> bool:
        table.alter.add_columns(Field("note", "string"))  # type: ignore[arg-type]
        return "note" in [field.name for field in table.schema().fields]

    def compact(self, table: DeltaTable) -> bool:
        before = len(table.file_uris())
        table.optimize.compact()
        return len(table.file_uris()) < before

    def zorder(self, table: DeltaTable) -> bool:
        return bool(table.optimize.z_order(["id", "v"]))

    def clean(self, table: DeltaTable) -> bool:
        table.delete("p = '3'")
        return bool(table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False))

    def restore(self, table: DeltaTable) -> Any:
        table.delete("p = '3'")
        table.restore(0)
        return count(table)

    def constraint(self, table: DeltaTable) -> bool:
        table.alter.add_constraint({"positive": "v >= 0"})
        try:
            write_deltalake(table, rows(ROWS, 1, v=-1), mode="append")
        except DeltaError:
            return True
        return False

    def adopt(self, folder: Path) -> Any:
        folder.mkdir()
        pq.write_table(rows(), folder / "rows.parquet")
        convert_to_deltalake(folder)
        return count(DeltaTable(folder))

    def stream(self, table: DeltaTable) -> Any:
        batches = QueryBuilder().register("t", table).execute("select id from t")
        return sum(batch.num_rows for batch in batches)

    def polars(self, table: DeltaTable) -> tuple[int, int]:
        return small(pl.read_delta(table.table_uri, columns=["v"]))

    def lazy(self, table: DeltaTable) -> Any:
        frame = pl.scan_delta(table.table_uri).filter(pl.col("p") == "3").select(pl.len()).collect()
        return int(frame.item())

    def duckdb(self, table: DeltaTable) -> Any:
        t = table.to_pyarrow_dataset()  # noqa: F841 - DuckDB finds it by its name
        return int(duckdb.sql("select count(*) from t where p = '3'").fetchall()[0][0])

    def writers(self, table: DeltaTable) -> Any:
        with ThreadPoolExecutor() as pool:
            list(
                pool.map(
                    lambda start: write_deltalake(table.table_uri, rows(start, CHANGED), mode="append"),
                    (ROWS, 2 * ROWS),
                )
            )
        return count(table)

    def verify(self, table: DeltaTable) -> bool:
        next(Path(table.table_uri.removeprefix("file://")).rglob("*.parquet")).unlink()
        return bool(table.repair(dry_run=True))
