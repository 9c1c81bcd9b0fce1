"""Correct the indexes of single records after the rollback of a write that is already in their base files.

The changes that such a write has made in an index cannot be removed one by one.  So the entries of its file groups are
replaced by entries of the rows that the file groups have without the write.  Hudi refuses such a rollback.

Source: HoodieBackedTableMetadataWriter.validateRollback, Hudi 1.2.0.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.file_group.slices import Visibility
from hudiformat.metadata_table.changes import Change, IndexKind, KeyedRecords
from hudiformat.metadata_table.kinds.record_index import RECORD_INDEX
from hudiformat.metadata_table.kinds.secondary_index import SecondaryIndexKind
from hudiformat.metadata_table.merging import merge_records
from hudiformat.metadata_table.partition import OpenMetadata
from hudiformat.metadata_table.record_locations import RecordLocation, decode_location
from hudiformat.metadata_table.secondary_index import record_keys_of
from hudiformat.schema.meta_fields import RECORD_KEY
from hudiformat.timeline.commit_metadata import IndexedFile, WriteStat
from hudiformat.write.metadata.changes import MetadataChanges


@dataclass(frozen=True, slots=True)
class Correction:
    """Replaces the entries of the file groups *touched* by entries of the rows that they have with *visibility*.

    A file group without entries is touched as well: the write that is undone may have removed it from the table.
    *opened* is the metadata table, and *schema* the Avro schema of its records.  Memory holds one file group of an
    index at a time, and the keys of the touched file groups of the table, with values if there is a secondary index.
    """

    changes: MetadataChanges
    opened: OpenMetadata
    schema: str
    touched: Collection[RecordLocation]
    visibility: Visibility

    def records(self, kinds: Sequence[IndexKind], time: str) -> Iterator[tuple[IndexKind, KeyedRecords]]:
        """Yield the records that correct the indexes of single records among *kinds*, at *time*."""
        by_name = {kind.name: kind for kind in kinds}
        index = by_name.get(RECORD_INDEX)
        if index is None:
            return
        secondary = [kind for kind in kinds if isinstance(kind, SecondaryIndexKind)]
        stored = self._stored(index)
        rows = list(self._rows([kind.column for kind in secondary], stored.known))
        yield index, index.records(_change(rows, stored.keys, time))
        every = [found.cast(pa.string()) for some in stored.keys.values() for found in some]
        every += [found[RECORD_KEY].combine_chunks().cast(pa.string()) for _, found in rows]
        keys = pc.unique(pa.chunked_array(every, pa.string()))
        for kind in secondary:
            yield kind, kind.corrections(self._entries_of(kind, keys), [found for _, found in rows])

    def _stored(self, index: IndexKind) -> _Stored:
        """Return the entries of the touched file groups, and which file groups have entries."""
        found = _Stored()
        for one in self.opened.slices(index.name):
            keys, values = merge_records(self.opened.parts_of(one), index, self.schema)
            encoded = values.dictionary_encode()
            places = [decode_location(value, self.schema) for value in encoded.dictionary.to_pylist()]
            found.known.update(places)
            codes = encoded.indices.to_numpy(zero_copy_only=False)
            for path in {place.partition_path for place in places}:
                numbers = [at for at, place in enumerate(places) if place in self.touched and place[0] == path]
                rows = np.flatnonzero(np.isin(codes, numbers))
                if len(rows):
                    found.keys[path].append(keys.take(pa.array(rows)))
        return found

    def _rows(self, columns: Sequence[str], known: Collection[RecordLocation]) -> Iterator[tuple[WriteStat, pa.Table]]:
        """Yield the rows of the touched file groups that exist, each group with a statistic that names it."""
        for path, _ in self.changes.outer.files():
            for one in self.changes.slices(path, self.visibility):
                place = RecordLocation(path, one.file_id)
                if place in self.touched or place not in known:
                    rows = self.changes.values(one, self.visibility, list(dict.fromkeys(columns)))
                    keys = rows[RECORD_KEY].combine_chunks().cast(pa.string())
                    stat = WriteStat(file_id=one.file_id, partition_path=path, indexed=IndexedFile(keys=keys))
                    yield stat, rows

    def _entries_of(self, kind: SecondaryIndexKind, keys: pa.Array) -> pa.Array:
        """Return the entries of *keys* in a secondary index."""
        found = [pa.array([], pa.string())]
        for one in self.opened.slices(kind.name):
            stored, _ = merge_records(self.opened.parts_of(one), kind, self.schema)
            found.append(stored.filter(pc.is_in(record_keys_of(stored), keys)))
        return pa.chunked_array(found).combine_chunks()


@dataclass(slots=True)
class _Stored:
    """What the record index holds: ``keys`` of the touched file groups by partition path, and its groups, ``known``."""

    keys: defaultdict[str, list[pa.Array]] = field(default_factory=lambda: defaultdict(list))
    known: set[RecordLocation] = field(default_factory=set)


def _change(rows: Sequence[tuple[WriteStat, pa.Table]], stored: Mapping[str, Sequence[pa.Array]], time: str) -> Change:
    written: defaultdict[str, list[WriteStat]] = defaultdict(list)
    for stat, _ in rows:
        written[stat.partition_path or ""].append(stat)
    dropped = [(path, keys) for path, found in stored.items() for keys in found]
    return Change(time=time, written=written, replaced_keys=lambda: dropped)
