"""The bloom filters of record keys that the ``bloom_filters`` partition keeps, one of each base file."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import fastavro

from hudiformat.basefile import BloomFilter, parse_filters
from hudiformat.errors import CorruptBlockError, CorruptTableError
from hudiformat.metadata.index_keys import file_id, partition_id
from hudiformat.metadata.partition import Deletes, Part, open_partition
from hudiformat.storage import Storage
from hudiformat.timeline import TableConfig, Timeline

BLOOM_FILTERS = "bloom_filters"


def bloom_filters(storage: Storage, config: TableConfig, timeline: Timeline) -> BloomFilters:
    """The filters of the table at the root of *storage*; *config* and *timeline* are its own.

    Raises:
        CorruptTableError, DecodeError, StorageError, UnsupportedFeatureError: as ``open_partition``.
    """
    return BloomFilters(open_partition(storage, config, timeline, BLOOM_FILTERS))


class BloomFilters:
    """The filters of a table's base files, looked up one by one.

    Source: BaseTableMetadata.getBloomFilter; spec/metadata-table.md.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts

    def get(self, partition: str, name: str) -> tuple[BloomFilter, ...] | None:
        """The filters of the base file *name*, of which a key may be in any; None where there is none to be read.

        Raises:
            DecodeError: a file of the metadata table is damaged.
        """
        key = f"{partition_id(partition)}{file_id(name)}"
        found: tuple[BloomFilter, ...] | None = None
        for part in self._parts:
            if isinstance(part, Deletes):
                found = None if key in part.keys else found
            elif (value := part.file.get(key)) is not None:
                found = decode_bloom_filter(value, part.schema)
        return found


def decode_bloom_filter(value: bytes, schema: str) -> tuple[BloomFilter, ...] | None:
    """What a record says, written with the Avro schema *schema* (JSON); None for a file that is gone or had no filter.

    Raises:
        CorruptBlockError: it holds no bloom filter.
    """
    try:
        record: Any = fastavro.schemaless_reader(io.BytesIO(value), _parsed(schema), None)
        said = record["BloomFilterMetadata"]
        text = "" if said["isDeleted"] else said["bloomFilter"].decode()
    except Exception as error:  # fastavro raises whatever the damage leads to
        raise CorruptBlockError(f"expected a bloom filter, which it is not: {error!r}") from error
    try:
        return parse_filters(text, said["type"]) if text else None
    except CorruptTableError:
        return None  # of a type that is not known


@lru_cache(maxsize=16)
def _parsed(schema: str) -> Any:
    return fastavro.parse_schema(json.loads(schema))
