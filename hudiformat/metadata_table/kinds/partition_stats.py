"""The partition ``partition_stats``: the statistics of each column in all files of a partition of the table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from hudiformat.codec.statistics import NO_ROWS, ColumnStatistics, unknown_statistics
from hudiformat.metadata_table.changes import Change, FileStatistics, KeyedRecords, Stored
from hudiformat.metadata_table.column_stats import PARTITION_STATS
from hudiformat.metadata_table.stat_records import StatEncoder, merge_stat_records, partition_key
from hudiformat.metadata_table.value_types import as_kind
from hudiformat.naming.file_names import base_name


@dataclass(frozen=True, slots=True)
class PartitionStatsKind:
    """Statistics of columns, whose types are in *kinds*.

    A record replaces the one before it, and covers all files that readers need.  If an action only adds files, the new
    record is the old one merged with their statistics.  Otherwise it is computed from the statistics of all files.

    Source: HoodieMetadataWriteUtils.convertMetadataToPartitionStatRecords.
    """

    kinds: Mapping[str, pa.DataType]
    encoder: StatEncoder

    @property
    def name(self) -> str:
        """See :attr:`IndexKind.name`."""
        return PARTITION_STATS

    @property
    def is_plain(self) -> bool:
        """See :attr:`IndexKind.is_plain`."""
        return False

    def records(self, change: Change) -> KeyedRecords:
        """Return the statistics of the partitions that the action has changed."""
        empty = {*change.gone, *change.emptied}
        found: dict[str, bytes] = {}
        for path in dict.fromkeys([*change.written, *change.undone]):
            if path in empty:
                continue
            for column, statistics in self._of_partition(path, change).items():
                found[partition_key(path, column)] = self.encoder.of_partition(path, column, statistics)
        return KeyedRecords.of(found, [partition_key(path, column) for path in sorted(empty) for column in self.kinds])

    def part_to_hash(self, keys: pa.Array) -> pa.Array:
        """See :meth:`IndexKind.part_to_hash`."""
        return keys

    def merge(self, _key: str, older: Stored, newer: Stored) -> Stored:
        """See :meth:`IndexKind.merge`."""
        return merge_stat_records(older, newer, self.encoder)

    def encode_base_record(self, _key: str, record: Stored) -> bytes:
        """See :meth:`IndexKind.encode_base_record`."""
        return record.value

    def _of_partition(self, path: str, change: Change) -> dict[str, ColumnStatistics]:
        written: FileStatistics = {
            base_name(stat.path): {} if stat.indexed is None else stat.indexed.columns
            for stat in change.written.get(path, ())
            if stat.path
        }
        if change.adds_only(path):
            before = change.of_partition(path)
            if all(column in before for column in self.kinds):
                return self._total([before, *written.values()])
        files = {**change.known(path), **written}
        return self._total([files.get(name, {}) for name in change.live(path)])

    def _total(self, files: Iterable[Mapping[str, ColumnStatistics | None]]) -> dict[str, ColumnStatistics]:
        total = dict.fromkeys(self.kinds, NO_ROWS)
        for columns in files:
            for column, kind in self.kinds.items():
                total[column] += _of_column(columns, column, kind)
        return total


def _of_column(columns: Mapping[str, ColumnStatistics | None], column: str, kind: pa.DataType) -> ColumnStatistics:
    """Return the statistics of a column in a file.

    If the file has statistics of other columns only, it was written without the column: all its values are null.
    """
    if column in columns:
        found = columns[column]
        return unknown_statistics(kind) if found is None else as_kind(found, kind)
    rows = max((found.values for found in columns.values() if found is not None), default=None)
    return unknown_statistics(kind) if rows is None else ColumnStatistics(kind, values=rows, nulls=rows)
