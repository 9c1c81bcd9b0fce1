"""Look up keys in the partitioned record index of the metadata table."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

import numpy as np
import pyarrow as pa

from hudiformat.metadata_table.record_lookup import OpenRecordIndex
from hudiformat.storage.protocol import Storage
from hudiformat.write.commit.plan import WritePlan
from hudiformat.write.rows import NEW, Locations


class ListedIndex:
    """The partitioned record index of a write, whose file groups are listed once for all partitions."""

    def __init__(self, storage: Storage, plan: WritePlan) -> None:
        self._storage = storage
        self._plan = plan

    @cached_property
    def opened(self) -> OpenRecordIndex:
        """The index, opened for reading.

        Raises:
            CorruptTableError, StorageError: its file groups cannot be listed.
        """
        assert self._plan.record_index is not None  # noqa: S101 - whoever asks has looked
        return self._plan.record_index.open(self._storage)

    def locate_keys(self, record_keys: pa.Array, path: str, groups: Collection[str]) -> Locations:
        """Return the file group that the index names for each key of a partition, whose file groups are *groups*.

        A group that is not in *groups* belongs to a later commit, and this write will conflict with it.

        Source: SparkMetadataTableRecordLevelIndex, Hudi 1.2.0.
        """
        encoded = record_keys.dictionary_encode()
        codes, places = self.opened.find(encoded.dictionary, path)
        file_ids = tuple(place.file_id for place in places)
        is_there = np.array([*(file_id in groups for file_id in file_ids), False])  # NOWHERE, -1, takes the last one
        codes = np.where(is_there[codes], codes, NEW)[np.asarray(encoded.indices)]
        return Locations(np.arange(len(record_keys)), codes, file_ids, (True,) * len(file_ids))
