"""Looking many record keys up in the partition ``record_index`` at once, as a write does.

Each key is looked for in the one file group that its hash says, and there from the newest log block to the base file,
until one has it.  Of an HFile only the blocks are read that may hold some of the keys.  Records of one file group and
instant are the same bytes, so each is decoded once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
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
from hudiformat.timeline.config_files import METADATA_FOLDER
from hudiformat.timeline.table_config import TableConfig
from hudiformat.timeline.timeline import Timeline

NOWHERE = -1
"""The code of a key that the index does not have."""

Integers = npt.NDArray[np.int64]


class FoundLocations(NamedTuple):
    """The key i is in the file group ``places[codes[i]]``, or in none where the code is NOWHERE."""

    codes: Integers
    places: tuple[RecordLocation, ...]


@dataclass(frozen=True, slots=True)
class RecordIndex:
    """The record index of a table as one look at its timelines sees it.  It can be pickled.

    A key is one in the table, or in a partitioned index one in its partition path.
    """

    visibility: Visibility
    valid: frozenset[str]
    is_partitioned: bool = False

    @classmethod
    def of(cls, storage: Storage, config: TableConfig, timeline: Timeline, *, partitioned: bool = False) -> RecordIndex:
        """That of the table at the root of *storage*, which has one; *config* and *timeline* are the table's.

        Raises:
            CorruptTableError, DecodeError: the metadata table is damaged.
            UnsupportedFeatureError: the index is partitioned and no *partitioned* one is asked for, or it cannot be
                read yet.
        """
        found = is_partitioned(load_definitions(storage, config).get(RECORD_INDEX))
        if found and not partitioned:
            message = f"{storage.root}: a partitioned record index does not find keys in all partitions"
            raise UnsupportedFeatureError(message, feature="a partitioned record index")
        opened = open_metadata(storage, config, timeline)
        return cls(opened.visibility, opened.valid, found)

    def count(self, storage: Storage) -> int:
        """The number of its file groups, of which each has to be there; *storage* is that of the table."""
        return len(self._metadata(storage).slices(RECORD_INDEX))

    @staticmethod
    def groups_of(keys: pa.Array, count: int) -> Integers:
        """The number of the file group of each of *keys*, of *count*."""
        return file_groups_of(keys, count)

    def find(self, storage: Storage, keys: pa.Array) -> FoundLocations:
        """As :meth:`OpenRecordIndex.find`; *storage* is that of the table."""
        return self.opened(storage).find(keys)

    def opened(self, storage: Storage) -> OpenRecordIndex:
        """The index with its file groups; *storage* is that of the table.

        Raises:
            CorruptTableError: it has none, and is not partitioned.
        """
        opened = self._metadata(storage)
        return OpenRecordIndex(
            opened, slices_by_path(opened) if self.is_partitioned else {"": opened.slices(RECORD_INDEX)}
        )

    def _metadata(self, storage: Storage) -> OpenMetadata:
        return OpenMetadata(FolderStorage(storage, METADATA_FOLDER), self.visibility, self.valid)


@dataclass(frozen=True, slots=True)
class OpenRecordIndex:
    """A record index whose file groups have been listed: ``groups``, by partition path where it is partitioned."""

    metadata: OpenMetadata
    groups: Mapping[str, Sequence[FileSlice]]

    def counts(self) -> dict[str, int]:
        """The number of file groups of each partition path."""
        return {path: len(slices) for path, slices in self.groups.items()}

    def find(self, keys: pa.Array, path: str = "") -> FoundLocations:
        """Where each of *keys* is, texts that differ, of the partition *path* where the index is partitioned.

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
        for number, file_slice in enumerate(slices):
            rows = np.flatnonzero(groups == number)
            if not len(rows):
                continue
            wanted = keys.take(pa.array(rows)).cast(pa.binary())
            order = np.asarray(pc.array_sort_indices(wanted)).astype(np.int64)
            for found, values, schema in newest_records(
                self.metadata.parts_of(file_slice), wanted.take(pa.array(order))
            ):
                encoded = values.dictionary_encode()
                of_value = [
                    places.setdefault(decode_location(value, schema), len(places))
                    for value in encoded.dictionary.to_pylist()
                ]
                codes[rows[order[found]]] = np.array(of_value, np.int64)[np.asarray(encoded.indices)]
        return FoundLocations(codes, tuple(places))


def record_locations(
    storage: Storage, config: TableConfig, timeline: Timeline, keys: Collection[str]
) -> dict[str, RecordLocation]:
    """Look *keys* up in the record index of the table at the root of *storage*; those that it lacks are left out.

    *config* and *timeline* are those of the table.

    Raises:
        CorruptTableError, DecodeError, StorageError: as ``open_partition``.
        UnsupportedFeatureError: the index is partitioned, or cannot be read yet.
    """
    return _located(RecordIndex.of(storage, config, timeline).opened(storage), keys)


def partitioned_locations(
    storage: Storage, config: TableConfig, timeline: Timeline, keys: Collection[str], paths: Collection[str]
) -> set[RecordLocation]:
    """Look *keys* up in a partitioned record index, in each of the partition *paths*; the file groups that have any.

    Raises:
        CorruptTableError, DecodeError, StorageError, UnsupportedFeatureError: as for :func:`record_locations`.
    """
    index = RecordIndex.of(storage, config, timeline, partitioned=True).opened(storage)
    return {place for path in paths for place in _located(index, keys, path).values()}


def locations_of(opened: OpenMetadata, keys: Collection[str]) -> dict[str, RecordLocation]:
    """As :func:`record_locations`, in a metadata table that is open already."""
    return _located(OpenRecordIndex(opened, {"": opened.slices(RECORD_INDEX)}), keys)


def _located(index: OpenRecordIndex, keys: Collection[str], path: str = "") -> dict[str, RecordLocation]:
    texts = sorted(keys)
    codes, places = index.find(pa.array(texts, pa.string()), path)
    return {key: places[code] for key, code in zip(texts, codes, strict=True) if code != NOWHERE}
