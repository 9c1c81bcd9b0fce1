"""The operation ``delete_partition`` of the data source: tasks collect the partition paths of their rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from hudiformat.api.reading import context_of
from hudiformat.api.table import Table
from hudiformat.schema.table_schema import RowKeys, TableSchema
from hudiformat.spark.errors import hide_frames
from hudiformat.spark.options import SourceOptions
from hudiformat.spark.source.messages import results_of
from hudiformat.spark.write.schema import fit_shown
from hudiformat.timeline.table_config import TableConfig
from hudiformat.write.delete_partitions import matching_partitions


@dataclass
class Paths(WriterCommitMessage):
    """The partition paths of a task's rows."""

    paths: Sequence[str]


class PartitionDeleter(DataSourceArrowWriter):
    """The writer that deletes the partitions that the options name, or else the partitions of the rows."""

    def __init__(self, options: SourceOptions, config: TableConfig, schema: TableSchema) -> None:
        self._options = options
        self._named = options.partitions_to_delete
        self._config = config
        self._keys = schema.only(list(RowKeys.of(config).partition_columns))

    @hide_frames
    def write(  # type: ignore[override]  # a writer of Arrow is given batches
        self, iterator: Iterator[pa.RecordBatch]
    ) -> WriterCommitMessage:
        """Return the partition paths of a task's rows; nothing if the options name partitions."""
        found: set[str] = set()
        for batch in iterator:
            if self._named is None:
                rows = fit_shown(self._keys, batch.select(self._keys.arrow.names))
                found.update(RowKeys.of(self._config).partition_paths(rows).unique().to_pylist())
        return Paths(sorted(found))

    @hide_frames
    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Delete the partitions, in one commit."""
        table: Table = self._options.table()
        paths = {path for one in results_of(messages, Paths) for path in one.paths}
        state, named = context_of(table).state(), self._named
        table.delete_partitions(sorted(paths) if named is None else matching_partitions(state, named))
