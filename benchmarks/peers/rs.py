"""hudi-rs's side, the package ``hudi``: it reads; hudiformat makes its tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
from hudi import HudiQueryType, HudiReadOptions, HudiTable

import hudiformat as hf
from benchmarks.peers.features import CHANGED, ROWS, Peer, rows, small
from benchmarks.peers.ours import HudiFormat


def table_of(table: HudiTable, options: HudiReadOptions | None = None) -> pa.Table:
    """The rows of a read."""
    return pa.Table.from_batches(table.read(options))


class HudiRs(Peer):
    """hudi-rs."""

    name, package = "hudi-rs", "hudi"

    def prepare(self, folder: Path, feature: str) -> HudiTable:
        """A table that hudiformat made, with what the feature reads."""
        table = HudiFormat().prepare(folder, feature)
        if feature == "travel":
            table.delete(where="p = '3'")
        if feature == "incremental":
            table.insert(rows(ROWS, CHANGED))
        if feature in ("changed", "log_merge"):
            table.upsert(rows(0, CHANGED, ts=2, v=1))
        return HudiTable(str(folder))

    def read(self, table: HudiTable) -> Any:
        return table_of(table).num_rows

    def travel(self, table: HudiTable) -> Any:
        return table_of(table, HudiReadOptions().with_as_of_timestamp(first(table))).num_rows

    def incremental(self, table: HudiTable) -> Any:
        return table_of(table, since(table)).num_rows

    def changed(self, table: HudiTable) -> Any:
        return table_of(table, since(table)).num_rows

    def stream(self, table: HudiTable) -> Any:
        return sum(batch.num_rows for batch in table.read_stream(None))

    def polars(self, table: HudiTable) -> tuple[int, int]:
        return small(pl.DataFrame(table_of(table)))

    def duckdb(self, table: HudiTable) -> Any:
        t = table_of(table)  # noqa: F841 - DuckDB finds it by its name
        return int(duckdb.sql("select count(*) from t where p = '3'").fetchall()[0][0])

    def log_merge(self, table: HudiTable) -> tuple[int, int]:
        found = table_of(table)
        return found.num_rows, sum(found["v"].to_pylist())


def first(table: HudiTable) -> str:
    """The first commit, which hudiformat reads from the timeline."""
    return hf.open_table(str(table.base_url)).timeline.completed_writes[0].time


def since(table: HudiTable) -> HudiReadOptions:
    """Options for what was written after the first commit was completed."""
    completed = hf.open_table(str(table.base_url)).timeline.completed_writes[0].completion_time
    return HudiReadOptions().with_query_type(HudiQueryType.Incremental).with_start_timestamp(str(completed))
