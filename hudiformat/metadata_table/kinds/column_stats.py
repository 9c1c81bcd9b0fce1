"""The partition ``column_stats``: the statistics of each column of each file."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from hudiformat.codec.statistics import unknown_statistics
from hudiformat.metadata_table.changes import Change, KeyedRecords, Stored
from hudiformat.metadata_table.column_stats import COLUMN_STATS
from hudiformat.metadata_table.stat_records import StatEncoder, file_key, merge_stat_records
from hudiformat.naming.file_names import base_name


@dataclass(frozen=True, slots=True)
class ColumnStatsKind:
    """Statistics of *columns*.

    Source: HoodieTableMetadataUtil.convertMetadataToColumnStatsRecords.
    """

    columns: tuple[str, ...]
    encoder: StatEncoder

    @property
    def name(self) -> str:
        """See :attr:`IndexKind.name`."""
        return COLUMN_STATS

    @property
    def is_plain(self) -> bool:
        """See :attr:`IndexKind.is_plain`."""
        return False

    def records(self, change: Change) -> KeyedRecords:
        """Return the statistics of the files that were written, and drop those of deleted files.

        Hudi 0.15 takes a column without a record for one of nulls, if the file has a record of another column of the
        condition.  So all older files get records of columns that join; their bounds leave out no value.
        """
        written = {
            file_key(path, base_name(stat.path), column): self.encoder.of_file(base_name(stat.path), column, found)
            for path, stats in change.written.items()
            for stat in stats
            if stat.path and stat.indexed is not None
            for column, found in stat.indexed.columns.items()
        }
        dropped = [
            file_key(path, name, column)
            for path, names in change.deleted.items()
            for name in names
            for column in self.columns
        ]
        unknown = {
            file_key(path, name, column): self.encoder.of_file(name, column, unknown_statistics(kind))
            for path, names in (change.older() if change.joined else ())
            for name in names
            for column, kind in change.joined.items()
        }
        return KeyedRecords.of({**unknown, **written}, dropped)

    def part_to_hash(self, keys: pa.Array) -> pa.Array:
        """See :meth:`IndexKind.part_to_hash`."""
        return keys

    def merge(self, _key: str, older: Stored, newer: Stored) -> Stored:
        """See :meth:`IndexKind.merge`."""
        return merge_stat_records(older, newer, self.encoder)

    def encode_base_record(self, _key: str, record: Stored) -> bytes:
        """See :meth:`IndexKind.encode_base_record`."""
        return record.value
