"""The partitions ``secondary_index_…``: the record keys of each value of a column."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.metadata_table.changes import Change, KeyedRecords, Stored
from hudiformat.metadata_table.records import encode_record
from hudiformat.metadata_table.secondary_index import prefixes_of, secondary_keys
from hudiformat.schema.meta_fields import RECORD_KEY

_NUMBER, _FIELD, _NAME = 7, "SecondaryIndexMetadata", "HoodieSecondaryIndexInfo"


@dataclass(frozen=True, slots=True)
class SecondaryIndexKind:
    """The index *name* of *column*, a dotted path; *by_value* says whether all keys of a value are in one file group.

    A row whose value has not changed adds no record.

    Source: SecondaryIndexRecordGenerationUtils, SecondaryIndexStreamingTracker,
    HoodieTableMetadataUtil.getSecondaryKeyToFileGroupMappingFunction.
    """

    name: str
    column: str
    schema: str
    by_value: bool

    @property
    def is_plain(self) -> bool:
        """See :attr:`IndexKind.is_plain`."""
        return True

    def records(self, change: Change) -> KeyedRecords:
        """Return the keys of values that rows got, and drop the keys of values that rows no longer have."""
        added: list[pa.Array] = []
        dropped = [self._keys(rows) for rows in change.replaced_values(self.column)]
        for stats in change.written.values():
            for stat in stats:
                if stat.indexed is not None and stat.indexed.values is not None:
                    added.append(self._keys(stat.indexed.values))
                if stat.indexed is not None and stat.indexed.lost is not None:
                    dropped.append(self._keys(stat.indexed.lost))
        for before, after in change.logged_values(self.column):
            gone, there = self._keys(before), self._keys(after)
            added.append(_without(there, gone))
            dropped.append(_without(gone, there))
        new, old = _unique(added), _unique(dropped)
        return self._records(_without(new, old), _without(old, new))

    def corrections(self, stored: pa.Array, rows: Iterable[pa.Table]) -> KeyedRecords:
        """Return the changes that turn the keys *stored* in the partition into those of *rows*.

        *rows* have the record keys and the column.
        """
        old, new = _unique([stored]), _unique(self._keys(some) for some in rows)
        return self._records(_without(new, old), _without(old, new))

    def part_to_hash(self, keys: pa.Array) -> pa.Array:
        """See :meth:`IndexKind.part_to_hash`."""
        return prefixes_of(keys) if self.by_value else keys

    def merge(self, _key: str, _older: Stored, newer: Stored) -> Stored:
        """See :meth:`IndexKind.merge`."""
        return newer

    def encode_base_record(self, _key: str, record: Stored) -> bytes:
        """See :meth:`IndexKind.encode_base_record`."""
        return record.value

    def _records(self, keys: pa.Array, dropped: pa.Array) -> KeyedRecords:
        value = pa.scalar(encode_record(_NUMBER, _FIELD, _NAME, {"isDeleted": False}, self.schema), pa.binary())
        return KeyedRecords(keys, pa.repeat(value, len(keys)), dropped)

    def _keys(self, rows: pa.Table) -> pa.Array:
        return secondary_keys(rows[self.column].combine_chunks(), rows[RECORD_KEY].combine_chunks().cast(pa.string()))


def _unique(keys: Iterable[pa.Array]) -> pa.Array:
    return pc.unique(pa.chunked_array([pa.array([], pa.string()), *keys]))


def _without(keys: pa.Array, others: pa.Array) -> pa.Array:
    return keys.filter(pc.invert(pc.is_in(keys, others)))
