"""Spark's catalog as a metastore, in which a file sink registers its partitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import SparkSession

from hudiformat.naming.keys import DEFAULT_PARTITION


@dataclass(frozen=True, slots=True)
class CatalogMetastore:
    """A partitioned table of Spark's catalog, with any catalog behind it, as a :class:`~hudiformat.sink.Metastore`.

    Source: TableMetaStore and MetastoreCommitPolicy, Flink 1.20.0.
    """

    spark: SparkSession
    table: str

    def create_or_alter_partition(self, values: Mapping[str, str], path: str) -> None:
        """Add the partition, or change its folder, and drop Spark's cached metadata of the table.

        Raises:
            AnalysisException: there is no such table, or it has other partition columns.
        """
        spec = ", ".join(f"`{name.replace('`', '``')}` = {_literal(value)}" for name, value in values.items())
        location = _quoted(path)
        self.spark.sql(f"ALTER TABLE {self.table} ADD IF NOT EXISTS PARTITION ({spec}) LOCATION {location}")
        self.spark.sql(f"ALTER TABLE {self.table} PARTITION ({spec}) SET LOCATION {location}")
        self.spark.catalog.refreshTable(self.table)


def _literal(value: str) -> str:
    return "null" if value == DEFAULT_PARTITION else _quoted(value)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
