"""A table in partitions, as tests of base files make it and as Hudi writes it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import hudiformat as hf
from tests.conformance.hudi import RealHudi
from tests.rows import assert_same_rows

SCHEMA = pa.schema([("id", pa.string()), ("ts", pa.int64()), ("p", pa.string()), ("x", pa.float64())])
KEY = ("_hoodie_partition_path", "_hoodie_record_key")
HUDI = {
    "hoodie.table.name": "t",
    "hoodie.datasource.write.table.type": "COPY_ON_WRITE",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.table.ordering.fields": "ts",
    "hoodie.datasource.write.partitionpath.field": "p",
    "hoodie.datasource.write.operation": "upsert",
    "hoodie.metadata.enable": "false",
}
"""What Hudi's writer is told."""


def table_of(path: Path, *, kind: str = "COPY_ON_WRITE", version: int = 9, schema: pa.Schema = SCHEMA) -> hf.Table:
    """Make the table, without rows."""
    return hf.create_table(
        path,
        name="t",
        schema=schema,
        record_key=["id"],
        ordering=["ts"],
        partition_by=["p"],
        table_type=kind,
        version=version,
    )


def same(hudi: RealHudi, path: Path) -> pa.Table:
    """Return the rows, which are those that Hudi reads."""
    found = hf.open_table(path).snapshot()
    assert_same_rows(hudi.read(path), found, key=KEY)
    return found


def rows(ids: range, ts: int, *, partitions: int) -> pa.Table:
    """Rows of the keys, spread over the partitions."""
    made = [{"id": f"k{one:05}", "ts": ts, "p": f"p{one % partitions}", "x": one + ts / 8} for one in ids]
    return pa.Table.from_pylist(made, SCHEMA)
