"""hudiformat's side; every method is what a user writes."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import hudiformat as hf
from benchmarks.peers.features import CHANGED, PARTITIONS, ROWS, SCHEMA, Peer, rows, small

TOGETHER = {
    "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie.write.num.retries.on.conflict.failures": "5",
}
CHECKS = "hoodie.precommit.validators"
OPTIONS: dict[str, dict[str, str]] = {
    "cdc": {"hoodie.table.cdc.enabled": "true"},
    "rename_column": {"hoodie.schema.on.read.enable": "true"},
}


class HudiFormat(Peer):
    """hudiformat."""

    name, package = "hudiformat", "hudiformat"

    def prepare(self, folder: Path, feature: str) -> hf.Table:
        """A table, copy-on-write unless logs are what is asked for."""
        kind = "MERGE_ON_READ" if feature in ("log_merge", "partial") else "COPY_ON_WRITE"
        keys = {"record_key": "id", "ordering": "ts", "partition_by": "p"}
        options = OPTIONS.get(feature, {})
        table = hf.create_table(folder, name="t", schema=SCHEMA, table_type=kind, options=options, **keys)  # type: ignore[arg-type]
        table = hf.open_table(folder, options=options) if options else table
        table.bulk_insert(rows())
        if feature in ("compact", "zorder"):
            for number in range(3):
                table.bulk_insert(rows(ROWS * (number + 1), CHANGED))
        return table

    def create(self, folder: Path) -> Any:
        table = hf.create_table(folder, name="t", schema=SCHEMA, record_key="id", ordering="ts", partition_by="p")
        table.bulk_insert(rows())
        return table.count()

    def read(self, table: hf.Table) -> Any:
        return table.snapshot(columns=SCHEMA.names).num_rows

    def upsert(self, table: hf.Table) -> tuple[int, int]:
        table.upsert(rows(ROWS - CHANGED // 2, CHANGED, ts=2, v=1))
        return table.count(), table.count("v = 1")

    def delete(self, table: hf.Table) -> Any:
        table.delete(where="p = '3'")
        return table.count()

    def update(self, table: hf.Table) -> Any:
        table.update({"v": 7}, where="p = '3'")
        return table.count("v = 7")

    def merge(self, table: hf.Table) -> tuple[int, int]:
        half = hf.Update({"v": pc.field("source", "v")}, f"source.id < '{CHANGED // 2:09d}'")
        table.merge(rows(0, CHANGED, v=1), when_matched=[half], when_not_matched=[hf.Insert()])
        return table.count(), table.count("v = 1")

    def overwrite(self, table: hf.Table) -> Any:
        table.insert_overwrite(rows(3, 1))
        return table.count()

    def partial(self, table: hf.Table) -> tuple[int, int]:
        fields = [{"name": name, "type": ["null", "long"], "default": None} for name in ("ts", "v")]
        schema = json.dumps({"type": "record", "name": "some", "fields": fields})
        some = hf.open_table(table.path, options={"hoodie.write.partial.update.schema": schema})
        some.upsert(rows(0, CHANGED, ts=2, v=1).drop_columns("w"))
        return table.count("v = 1"), table.count("v = 1 and w = 5")

    def travel(self, table: hf.Table) -> Any:
        before = table.timeline.completed_writes[-1]
        table.delete(where="p = '3'")
        return table.snapshot(as_of=before).num_rows

    def incremental(self, table: hf.Table) -> Any:
        before = table.timeline.completed_writes[-1]
        table.insert(rows(ROWS, CHANGED))
        return table.incremental(before).num_rows

    def changed(self, table: hf.Table) -> Any:
        before = table.timeline.completed_writes[-1]
        table.upsert(rows(0, CHANGED, ts=2, v=1))
        return table.incremental(before).num_rows

    def cdc(self, table: hf.Table) -> Any:
        before = table.timeline.completed_writes[-1]
        table.upsert(rows(0, CHANGED, ts=2, v=1))
        return table.cdc(before, columns=["op", "before", "after"]).num_rows

    def add_column(self, table: hf.Table) -> bool:
        table.evolve(add={"note": pa.string()})
        return "note" in table.schema.names

    def rename_column(self, table: hf.Table) -> bool:
        table.evolve(rename={"v": "amount"})
        return "amount" in table.schema.names

    def widen_column(self, table: hf.Table) -> str:
        table.evolve(add={"n": pa.int32()})
        table.evolve(widen={"n": pa.int64()})
        return str(table.schema.field("n").type)

    def compact(self, table: hf.Table) -> bool:
        before = len(table.file_slices())
        table.cluster()
        return len(table.file_slices()) < before

    def zorder(self, table: hf.Table) -> bool:
        sort = {"hoodie.clustering.plan.strategy.sort.columns": "id,v", "hoodie.layout.optimize.strategy": "z-order"}
        return bool(hf.open_table(table.path, options=sort).cluster())

    def clean(self, table: hf.Table) -> bool:
        table.upsert(rows(0, CHANGED, ts=2, v=1))
        keep = {"hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.clean.fileversions.retained": "1"}
        return hf.open_table(table.path, options=keep).clean() is not None

    def restore(self, table: hf.Table) -> Any:
        before = table.savepoint(table.timeline.completed_writes[-1])
        table.delete(where="p = '3'")
        table.restore(before)
        return table.count()

    def constraint(self, table: hf.Table) -> bool:
        options = {
            CHECKS: "org.apache.hudi.client.validator.SqlQuerySingleResultPreCommitValidator",
            f"{CHECKS}.single.value.sql.queries": "select count(*) from <TABLE_NAME> where v < 0#0",
        }
        try:
            hf.open_table(table.path, options=options).insert(rows(ROWS, 1, v=-1))
        except hf.ValidationError:
            return True
        return False

    def adopt(self, folder: Path) -> Any:
        folder.mkdir()
        pq.write_table(rows(), folder / "rows.parquet")
        return hf.adopt(folder, record_key="id").count()

    def stream(self, table: hf.Table) -> Any:
        return sum(batch.num_rows for batch in table.scan(columns=["id"]))

    def polars(self, table: hf.Table) -> tuple[int, int]:
        return small(table.to_polars(columns=["v"]))

    def lazy(self, table: hf.Table) -> Any:
        return table.lazy().filter(pl.col("p") == "3").select("v").collect().height

    def duckdb(self, table: hf.Table) -> Any:
        t = table.scan(columns=["p"])  # noqa: F841 - DuckDB finds it by its name
        return int(duckdb.sql("select count(*) from t where p = '3'").fetchall()[0][0])

    def writers(self, table: hf.Table) -> Any:
        def write(start: int) -> Any:
            return hf.open_table(table.path, options=TOGETHER).insert(rows(start, CHANGED))

        with ThreadPoolExecutor() as pool:
            list(pool.map(write, (ROWS, 2 * ROWS)))
        return table.count()

    def verify(self, table: hf.Table) -> bool:
        next(Path(table.path).rglob("*.parquet")).unlink()
        return len(table.verify()) == 1

    def simulate(self, table: hf.Table) -> Any:
        return table.simulate(commits=1000).summary["base_files"] >= PARTITIONS

    def log_merge(self, table: hf.Table) -> tuple[int, int]:
        table.upsert(rows(0, CHANGED, ts=2, v=1))
        return table.count(), table.count("v = 1")
