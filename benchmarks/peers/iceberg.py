"""pyiceberg's side, with a catalog in SQLite."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table
from pyiceberg.types import IntegerType, LongType, StringType

from benchmarks.peers.features import CHANGED, ROWS, SCHEMA, Peer, rows, small


def catalog(folder: Path) -> SqlCatalog:
    """A catalog of its own in *folder*."""
    folder.mkdir(exist_ok=True)
    return SqlCatalog("c", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}")


def empty(folder: Path, *, partitioned: bool = True) -> Table:
    """An empty table."""
    made = catalog(folder)
    made.create_namespace("n")
    table = made.create_table("n.t", schema=SCHEMA)
    if partitioned:
        with table.update_spec() as spec:
            spec.add_identity("p")
    return table


def count(table: Table, row_filter: str = "True") -> Any:
    """How many rows there are."""
    table.refresh()
    scan = table.scan() if row_filter == "True" else table.scan(row_filter=row_filter)
    return int(scan.count())


class Iceberg(Peer):
    """pyiceberg."""

    name, package = "pyiceberg", "pyiceberg"

    def prepare(self, folder: Path, feature: str) -> Table:  # noqa: ARG002 - Peer's
        """A partitioned table."""
        table = empty(folder)
        table.append(rows())
        return table

    def create(self, folder: Path) -> Any:
        table = empty(folder)
        table.append(rows())
        return count(table)

    def read(self, table: Table) -> Any:
        return table.scan().to_arrow().num_rows

    def upsert(self, table: Table) -> tuple[int, int]:
        table.upsert(rows(ROWS - CHANGED // 2, CHANGED, ts=2, v=1), join_cols=["id"])
        return count(table), count(table, "v = 1")

    def delete(self, table: Table) -> Any:
        table.delete("p = '3'")
        return count(table)

    def overwrite(self, table: Table) -> Any:
        table.dynamic_partition_overwrite(rows(3, 1))
        return count(table)

    def travel(self, table: Table) -> Any:
        before = table.current_snapshot()
        table.delete("p = '3'")
        return table.scan(snapshot_id=before.snapshot_id).to_arrow().num_rows  # type: ignore[union-attr]

    def incremental(self, table: Table) -> Any:
        before = table.current_snapshot()
        table.append(rows(ROWS, CHANGED))
        scan = table.incremental_append_scan(from_snapshot_id_exclusive=before.snapshot_id)  # type: ignore[union-attr]
        return scan.to_arrow().num_rows

    def add_column(self, table: Table) -> bool:
        with table.update_schema() as change:
            change.add_column("note", StringType())
        return "note" in table.schema().column_names

    def rename_column(self, table: Table) -> bool:
        with table.update_schema() as change:
            change.rename_column("v", "amount")
        return "amount" in table.schema().column_names

    def widen_column(self, table: Table) -> str:
        with table.update_schema() as change:
            change.add_column("n", IntegerType())
        with table.update_schema() as change:
            change.update_column("n", LongType())
        return str(table.schema().as_arrow().field("n").type)

    def restore(self, table: Table) -> Any:
        before = table.current_snapshot()
        table.delete("p = '3'")
        table.manage_snapshots().rollback_to_snapshot(before.snapshot_id).commit()  # type: ignore[union-attr]
        return count(table)

    def branch(self, table: Table) -> bool:
        snapshot = table.current_snapshot()
        table.manage_snapshots().create_branch(snapshot.snapshot_id, "try").commit()  # type: ignore[union-attr]
        table.append(rows(ROWS, CHANGED), branch="try")
        return bool(count(table) == ROWS)

    def adopt(self, folder: Path) -> Any:
        table = empty(folder, partitioned=False)
        pq.write_table(rows(), folder / "rows.parquet")
        table.add_files([f"file://{folder}/rows.parquet"])
        return count(table)

    def stream(self, table: Table) -> Any:
        reader: pa.RecordBatchReader = table.scan(selected_fields=("id",)).to_arrow_batch_reader()
        return sum(batch.num_rows for batch in reader)

    def polars(self, table: Table) -> tuple[int, int]:
        return small(table.scan(selected_fields=("v",)).to_polars())

    def lazy(self, table: Table) -> Any:
        return int(pl.scan_iceberg(table).filter(pl.col("p") == "3").select(pl.len()).collect().item())

    def duckdb(self, table: Table) -> Any:
        connection = table.scan(selected_fields=("p",)).to_duckdb("t")
        return int(connection.execute("select count(*) from t where p = '3'").fetchall()[0][0])

    def writers(self, table: Table) -> Any:
        folder = Path(table.location().removeprefix("file://")).parents[1]

        def write(start: int) -> None:
            while True:  # pyiceberg leaves trying again to its caller
                try:
                    catalog(folder).load_table("n.t").append(rows(start, CHANGED))
                except CommitFailedException:
                    continue
                return

        with ThreadPoolExecutor() as pool:
            list(pool.map(write, (ROWS, 2 * ROWS)))
        return count(table)
