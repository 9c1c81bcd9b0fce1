"""Looking many record keys up in the partition ``record_index`` at once, as a write does.

Each key is looked for in the one file group that its hash says, and there from the newest log block to the base file,
until one has it.  Of an HFile only the blocks are read that may hold some of the keys.  Records of one file group and
instant are the same bytes, so each is decoded once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.errors import UnsupportedFeatureError
from hudiformat.metadata.definitions import load_definitions
from hudiformat.metadata.kinds import RECORD_INDEX
from hudiformat.metadata.partition import OpenMetadata, newest_records, open_metadata
from hudiformat.metadata.record_locations import RecordLocation, decode_location
from hudiformat.metadata.updates import file_groups_of
from hudiformat.storage import FolderStorage, Storage
from hudiformat.timeline import METADATA_FOLDER, TableConfig, Timeline
from hudiformat.view import Visibility

NOWHERE = -1
"""The code of a key that the index does not have."""

Integers = npt.NDArray[np.int64]


class FoundLocations(NamedTuple):
    """The key i is in the file group ``places[codes[i]]``, or in none where the code is NOWHERE."""

    codes: Integers
    places: tuple[RecordLocation, ...]


@dataclass(frozen=True, slots=True)
class RecordIndex:
    """The record index of a table as one look at its timelines sees it.  It can be pickled."""

    visibility: Visibility
    valid: frozenset[str]

    @classmethod
    def of(cls, storage: Storage, config: TableConfig, timeline: Timeline) -> RecordIndex:
        """That of the table at the root of *storage*, which has one; *config* and *timeline* are the table's.

        Raises:
            CorruptTableError, DecodeError: the metadata table is damaged.
            UnsupportedFeatureError: the index is partitioned, or cannot be read yet.
        """
        definition = load_definitions(storage, config).get(RECORD_INDEX)
        if definition is not None and definition.options.get("isPartitioned") == "true":
            feature = "a partitioned record index"
            raise UnsupportedFeatureError(
                f"{storage.root}: {feature} does not find keys in all partitions", feature=feature
            )
        opened = open_metadata(storage, config, timeline)
        return cls(opened.visibility, opened.valid)

    def count(self, storage: Storage) -> int:
        """The number of its file groups; *storage* is that of the table.

        Raises:
            CorruptTableError: it has none.
        """
        return len(self._opened(storage).slices(RECORD_INDEX))

    @staticmethod
    def groups_of(keys: pa.Array, count: int) -> Integers:
        """The number of the file group of each of *keys*, of *count*."""
        return file_groups_of(keys, count)

    def find(self, storage: Storage, keys: pa.Array) -> FoundLocations:
        """Where each of *keys* is, texts that differ; *storage* is that of the table.

        Raises:
            CorruptTableError, DecodeError, StorageError: the metadata table is damaged.

        Source: HoodieBackedTableMetadata.readRecordIndexLocationsWithKeys, Hudi 1.2.0.
        """
        opened = self._opened(storage)
        slices = opened.slices(RECORD_INDEX)
        groups = file_groups_of(keys, len(slices))
        codes = np.full(len(keys), NOWHERE)
        places: dict[RecordLocation, int] = {}
        for number, file_slice in enumerate(slices):
            rows = np.flatnonzero(groups == number)
            if not len(rows):
                continue
            wanted = keys.take(pa.array(rows)).cast(pa.binary())
            order = np.asarray(pc.array_sort_indices(wanted)).astype(np.int64)
            for found, values, schema in newest_records(opened.parts_of(file_slice), wanted.take(pa.array(order))):
                encoded = values.dictionary_encode()
                of_value = [
                    places.setdefault(decode_location(value, schema), len(places))
                    for value in encoded.dictionary.to_pylist()
                ]
                codes[rows[order[found]]] = np.array(of_value, np.int64)[np.asarray(encoded.indices)]
        return FoundLocations(codes, tuple(places))

    def _opened(self, storage: Storage) -> OpenMetadata:
        return OpenMetadata(FolderStorage(storage, METADATA_FOLDER), self.visibility, self.valid)
