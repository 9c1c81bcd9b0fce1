"""What Hudi's writer is told in turns on tables of one layout or another."""

from __future__ import annotations


def upsert_options(
    *, version: int, table_type: str = "COPY_ON_WRITE", record_key: str = "k", partition_by: str = "p"
) -> dict[str, str]:
    """Options of an upsert that leaves the table in its version; columns are as Hudi's options have them."""
    return {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.table.type": table_type,
        "hoodie.datasource.write.recordkey.field": record_key,
        "hoodie.datasource.write.partitionpath.field": partition_by,
        "hoodie.datasource.write.precombine.field": "o",
        "hoodie.datasource.write.operation": "upsert",
        "hoodie.write.table.version": str(version),
        "hoodie.write.auto.upgrade": "false",
        "hoodie.upsert.shuffle.parallelism": "1",
        "hoodie.embed.timeline.server": "false",
    }
