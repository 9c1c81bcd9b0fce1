"""Look up many record keys in the partition ``record_index`` at once, as a write does.

The hash of a key determines its file group, which is searched from the newest log block to the base file.  Only the
blocks of an HFile that may hold one of the keys are read.  Records with the same file group and instant are equal
bytes, so each distinct record is decoded once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.errors import UnsupportedFeatureError
from hudiformat.file_group.slices import FileSlice, Visibility
from hudiformat.metadata_table.definitions import load_definitions
from hudiformat.metadata_table.kinds.record_index import RECORD_INDEX, is_partitioned
from hudiformat.metadata_table.partition import OpenMetadata, newest_records, open_metadata
from hudiformat.metadata_table.record_locations import RecordLocation, decode_location, slices_by_path
from hudiformat.metadata_table.updates import file_groups_of
from hudiformat.storage.folder import FolderStorage
from hudiformat.storage.protocol import Storage
from hudiformat.storage.threads import side_by_side
from hudiformat.timeline.config_files import METADATA_FOLDER
from hudiformat.timeline.table_config import TableConfig
from hudiformat.timeline.timeline import Timeline

NOWHERE = -1
"""The code of a key that the index does not have."""

Integers = npt.NDArray[np.int64]


class FoundLocations(NamedTuple):
    """The locations of keys: key i is in the file group ``places[codes[i]]``, or in none if its code is NOWHERE."""

    codes: Integers
    places: tuple[RecordLocation, ...]


@dataclass(frozen=True, slots=True)
class RecordIndex:
    """The record index of a table, at the state of its timelines when it was opened.  It can be pickled.

    A key is unique in the table, or in a partitioned index in its partition path.
    """

    visibility: Visibility
    valid: frozenset[str]
    is_partitioned: bool = False

    @classmethod
    def of(cls, storage: Storage, config: TableConfig, timeline: Timeline, *, partitioned: bool = False) -> RecordIndex:
        """Return the index of the table at the root of *storage*; *config* and *timeline* are those of the table.

        Raises:
            CorruptTableError, DecodeError: the metadata table is damaged.
            UnsupportedFeatureError: the index is partitioned although *partitioned* is false, or cannot be read yet.
        """
        found = is_partitioned(load_definitions(storage, config).get(RECORD_INDEX))
        if found and not partitioned:
            message = (
                f"{storage.root}: expected a global record index, found a partitioned one, which "
                "does not find keys in all partitions; set hoodie.index.type=RECORD_LEVEL_INDEX"
            )
            raise UnsupportedFeatureError(message, feature="a partitioned record index")
        opened = open_metadata(storage, config, timeline)
        return cls(opened.visibility, opened.valid, found)

    def count(self, storage: Storage) -> int:
        """Return the number of file groups of the index; *storage* is that of the table."""
        return len(self._metadata(storage).slices(RECORD_INDEX))

    @staticmethod
    def groups_of(keys: pa.Array, count: int) -> Integers:
        """Return the number of the file group, out of *count*, of each of *keys*."""
        return file_groups_of(keys, count)

    def find(self, storage: Storage, keys: pa.Array) -> FoundLocations:
        """Look up *keys* as :meth:`OpenRecordIndex.find` does; *storage* is that of the table."""
        return self.open(storage).find(keys)

    def open(self, storage: Storage) -> OpenRecordIndex:
        """Return the index with its file groups; *storage* is that of the table.

        Raises:
            CorruptTableError: an index that is not partitioned has no file groups.
        """
        opened = self._metadata(storage)
        return OpenRecordIndex(
            opened, slices_by_path(opened) if self.is_partitioned else {"": opened.slices(RECORD_INDEX)}
        )

    def _metadata(self, storage: Storage) -> OpenMetadata:
        return OpenMetadata(FolderStorage(storage, METADATA_FOLDER), self.visibility, self.valid)


@dataclass(frozen=True, slots=True)
class OpenRecordIndex:
    """A record index whose file groups have been listed: ``groups``, by partition path if it is partitioned."""

    metadata: OpenMetadata
    groups: Mapping[str, Sequence[FileSlice]]

    def counts(self) -> dict[str, int]:
        """Return the number of file groups of each partition path."""
        return {path: len(slices) for path, slices in self.groups.items()}

    def find(self, keys: pa.Array, path: str = "") -> FoundLocations:
        """Look up *keys*, which are distinct texts; in a partitioned index, in the partition *path*.

        Raises:
            CorruptTableError, DecodeError, StorageError: the metadata table is damaged.

        Source: HoodieBackedTableMetadata.readRecordIndexLocationsWithKeys, Hudi 1.2.0.
        """
        slices = self.groups.get(path, ())
        if not slices:
            return FoundLocations(np.full(len(keys), NOWHERE), ())
        groups = file_groups_of(keys, len(slices))
        codes = np.full(len(keys), NOWHERE)
        places: dict[RecordLocation, int] = {}

        def look(number: int) -> list[tuple[Integers, pa.Array, str]]:
            """Return the rows of keys that a file group has, and the values of their records with their schema."""
            rows = np.flatnonzero(groups == number)
            wanted = keys.take(pa.array(rows)).cast(pa.binary())
            order = np.asarray(pc.array_sort_indices(wanted)).astype(np.int64)
            parts = self.metadata.parts_of(slices[number])
            every = newest_records(parts, wanted.take(pa.array(order)))
            return [(rows[order[found]], values, schema) for found, values, schema in every]

        numbers = np.unique(groups).tolist()
        for rows, values, schema in chain.from_iterable(side_by_side(self.metadata.storage, look, numbers)):
            encoded = values.dictionary_encode()
            of_value = [
                places.setdefault(decode_location(value, schema), len(places))
                for value in encoded.dictionary.to_pylist()
            ]
            codes[rows] = np.array(of_value, np.int64)[np.asarray(encoded.indices)]
        return FoundLocations(codes, tuple(places))


def record_locations(
    storage: Storage, config: TableConfig, timeline: Timeline, keys: Collection[str]
) -> dict[str, RecordLocation]:
    """Look up *keys* in the record index of the table at the root of *storage*; missing keys are left out.

    *config* and *timeline* are those of the table.

    Raises:
        CorruptTableError, DecodeError, StorageError: as ``open_partition``.
        UnsupportedFeatureError: the index is partitioned, or cannot be read yet.
    """
    return _locate(RecordIndex.of(storage, config, timeline).open(storage), keys)


def partitioned_locations(
    storage: Storage, config: TableConfig, timeline: Timeline, keys: Collection[str], paths: Collection[str]
) -> set[RecordLocation]:
    """Return the file groups that have any of *keys* in any of the partitions *paths*, by a partitioned record index.

    Raises:
        CorruptTableError, DecodeError, StorageError, UnsupportedFeatureError: as for :func:`record_locations`.
    """
    index = RecordIndex.of(storage, config, timeline, partitioned=True).open(storage)
    return {place for path in paths for place in _locate(index, keys, path).values()}


def locations_of(opened: OpenMetadata, keys: Collection[str]) -> dict[str, RecordLocation]:
    """Look up *keys* as :func:`record_locations` does, in a metadata table that is open already."""
    return _locate(OpenRecordIndex(opened, {"": opened.slices(RECORD_INDEX)}), keys)


def _locate(index: OpenRecordIndex, keys: Collection[str], path: str = "") -> dict[str, RecordLocation]:
    texts = sorted(keys)
    codes, places = index.find(pa.array(texts, pa.string()), path)
    return {key: places[code] for key, code in zip(texts, codes, strict=True) if code != NOWHERE}
