"""A copy-on-write table in partitions, as tests of base files make it and as Hudi writes it."""

import pyarrow as pa

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


def rows(ids: range, ts: int, *, partitions: int) -> pa.Table:
    """Rows of the keys, spread over the partitions."""
    made = [{"id": f"k{one:05}", "ts": ts, "p": f"p{one % partitions}", "x": one + ts / 8} for one in ids]
    return pa.Table.from_pylist(made, SCHEMA)
