"""The partitions ``expr_index_…``: statistics of a function of a column, in each file and in each partition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add

import pyarrow as pa
import pyarrow.types as pat

from hudiformat.codec.statistics import ColumnStatistics, unknown_statistics
from hudiformat.metadata_table.changes import Change, KeyedRecords, Stored
from hudiformat.metadata_table.index_keys import column_id, partition_id
from hudiformat.metadata_table.stat_records import StatEncoder, decode_stat_record, file_key
from hudiformat.metadata_table.value_types import as_kind
from hudiformat.naming.file_names import base_name
from hudiformat.timeline.commit_metadata import IndexedFile

EXPRESSION_INDEX = "expr_index_"
"""The prefix of the names of these partitions."""

_OF_PARTITION = "__partition_stat__"


@dataclass(frozen=True, slots=True)
class ExpressionIndexKind:
    """The index *name* of *column*; the results of its function are of type ``kind``.

    New statistics of a partition are merged into the older ones.  So its bounds never get narrower, and cover all
    files.

    Source: HoodieMetadataPayload.createColumnStatsRecords and createPartitionStatsRecords, Hudi 1.2.0.
    """

    name: str
    column: str
    kind: pa.DataType
    encoder: StatEncoder

    @property
    def is_plain(self) -> bool:
        """See :attr:`IndexKind.is_plain`."""
        return False

    def records(self, change: Change) -> KeyedRecords:
        """Return the statistics of the files with rows and of their partitions, and drop those of deleted files."""
        written: dict[str, bytes] = {}
        for path, stats in change.written.items():
            files: Mapping[str, ColumnStatistics] = {
                base_name(stat.path): stat.indexed.expressions[self.name]
                for stat in stats
                if stat.path and stat.indexed is not None and self._has_rows(stat.indexed)
            }
            for name, found in files.items():
                written[file_key(path, name, self.column)] = self.encoder.of_file(name, self.column, found)
            if files:
                total = reduce(add, files.values())
                written[self._key(path)] = self.encoder.encode_for_partition(path, self.column, total)
        # Hudi narrows the bounds of a partition to its newest files; after a rollback, older files may be the newest
        # again.
        for path in sorted({*change.undone} - {*change.gone, *change.written}):
            written[self._key(path)] = self.encoder.encode_for_partition(
                path, self.column, unknown_statistics(self.kind)
            )
        dropped = [file_key(path, name, self.column) for path, names in change.deleted.items() for name in names]
        return KeyedRecords.of(written, dropped)

    def part_to_hash(self, keys: pa.Array) -> pa.Array:
        """See :meth:`IndexKind.part_to_hash`."""
        return keys

    def merge(self, key: str, older: Stored, newer: Stored) -> Stored:
        """Return the newer record, as :meth:`IndexKind.merge`; statistics that add to a partition are merged."""
        before, after = decode_stat_record(*older), decode_stat_record(*newer)
        is_added = key == self._key(after.name) and not after.is_tight
        if not is_added or before.statistics is None or after.statistics is None:
            return newer
        total = as_kind(before.statistics, after.statistics.kind) + after.statistics
        return Stored(self.encoder.encode_for_partition(after.name, after.column, total), self.encoder.schema)

    def encode_base_record(self, _key: str, record: Stored) -> bytes:
        """See :meth:`IndexKind.encode_base_record`."""
        return record.value

    def _has_rows(self, indexed: IndexedFile) -> bool:
        found = indexed.expressions.get(self.name)
        return found is not None and not pat.is_null(found.kind)

    def _key(self, path: str) -> str:
        return f"{column_id(self.column)}{partition_id(_OF_PARTITION)}{partition_id(path)}"
