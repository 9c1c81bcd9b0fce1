"""The tables that the two take turns on, and the options with which each opens them."""

from __future__ import annotations

from dataclasses import dataclass

MOR, COW = "MERGE_ON_READ", "COPY_ON_WRITE"
ALWAYS = frozenset({"files", "column_stats", "partition_stats"})
SECONDARY, EXPRESSION = "secondary_index_by_s", "expr_index_by_upper"
RECORDS = ALWAYS | {"bloom_filters", "record_index", SECONDARY}
TABLES = {"default": ALWAYS, "records": RECORDS, "all": RECORDS | {EXPRESSION}}
"""The indexes of a table with Hudi's default options, of one with all but an expression index, and of one with all."""

_TABLE = {
    "hoodie.table.name": "turns",
    "hoodie.datasource.write.recordkey.field": "k",
    "hoodie.datasource.write.partitionpath.field": "p",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.write.set.null.for.missing.columns": "true",
}
_INDEXES = {
    "hoodie.metadata.index.bloom.filter.enable": "true",
    "hoodie.metadata.global.record.level.index.enable": "true",
    "hoodie.metadata.global.record.level.index.min.filegroup.count": "2",
    "hoodie.index.type": "RECORD_INDEX",
    "hoodie.record.index.update.partition.path": "true",
    # Without the lock, Hudi refuses to create an index by SQL.
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
    "hoodie.cleaner.policy.failed.writes": "LAZY",
}
_NO_CLEANS = {"hoodie.clean.automatic": "false", "hoodie.metadata.index.expression.enable": "true"}
"""Hudi 1.2.0 writes the expression index's records of files that it cleans into the folder of ``column_stats``.

The next write of Hudi's fails there.  Source: HoodieTableMetadataUtil.convertMetadataToExpressionIndexRecords, whose
records have that partition.
"""
OFTEN = {
    "hoodie.clean.commits.retained": "2",
    "hoodie.keep.min.commits": "3",
    "hoodie.keep.max.commits": "4",
    "hoodie.metadata.compact.max.delta.commits": "3",
}
"""Cleaning, archiving, and the services of the metadata table after a few writes, not after Hudi's ten to thirty."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A table that Hudi makes: its type, and which of ``TABLES`` it is."""

    table_type: str
    table: str

    @property
    def is_mor(self) -> bool:
        return self.table_type == MOR

    @property
    def indexes(self) -> frozenset[str]:
        """The partitions of the metadata table, which no step may lose."""
        return TABLES[self.table]

    @property
    def has_records(self) -> bool:
        """Whether it has a record index, with which keys are unique in the table, and a secondary index."""
        return SECONDARY in self.indexes

    @property
    def has_expression(self) -> bool:
        return EXPRESSION in self.indexes

    @property
    def hudis(self) -> dict[str, str]:
        """What Hudi writes with."""
        return {
            **_TABLE,
            "hoodie.datasource.write.table.type": self.table_type,
            **(_INDEXES if self.has_records else {}),
            **(_NO_CLEANS if self.has_expression else {}),
        }

    @property
    def ours(self) -> dict[str, str]:
        """What hudiformat opens the table with."""
        indexed = {
            "hoodie.index.type": "RECORD_INDEX",
            "hoodie.record.index.update.partition.path": "true",
        }
        return {
            "hoodie.write.set.null.for.missing.columns": "true",
            "hudiformat.sync": "false",
            **(indexed if self.has_records else {}),
        }
