"""The ``bloom_filters`` partition: the bloom filter of record keys of each base file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hudiformat.codec.avro.values import decode_value, parse_value_schema
from hudiformat.errors import CorruptBlockError, CorruptTableError, DecodeError, SchemaError
from hudiformat.file_group.base_file.bloom import BloomFilter, parse_filters
from hudiformat.metadata_table.index_keys import file_id, partition_id
from hudiformat.metadata_table.partition import Deletes, Part, open_partition
from hudiformat.storage.protocol import Storage
from hudiformat.timeline.table_config import TableConfig
from hudiformat.timeline.timeline import Timeline

BLOOM_FILTERS = "bloom_filters"


def bloom_filters(storage: Storage, config: TableConfig, timeline: Timeline) -> BloomFilters:
    """Open the bloom filters of the table at the root of *storage*; *config* and *timeline* are those of the table.

    Raises:
        CorruptTableError, DecodeError, StorageError, UnsupportedFeatureError: as ``open_partition``.
    """
    return BloomFilters(open_partition(storage, config, timeline, BLOOM_FILTERS))


class BloomFilters:
    """The bloom filters of a table's base files; each is looked up when it is needed.

    Source: BaseTableMetadata.getBloomFilter; spec/metadata-table.md.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts

    def get(self, partition: str, name: str) -> tuple[BloomFilter, ...] | None:
        """Return the filters of the base file *name*, or None if there is no readable one.

        A key may be in the file if any of the filters may contain it.

        Raises:
            DecodeError: a file of the metadata table is damaged.
        """
        key = f"{partition_id(partition)}{file_id(name)}"
        filters: tuple[BloomFilter, ...] | None = None
        for part in self._parts:
            if isinstance(part, Deletes):
                filters = None if key in part.keys else filters
            elif (value := part.file.get(key)) is not None:
                filters = decode_bloom_filter(value, part.schema)
        return filters


def decode_bloom_filter(value: bytes, schema: str) -> tuple[BloomFilter, ...] | None:
    """Decode a record that was written with the Avro schema *schema* (JSON).

    Returns None if the file was deleted, has no filter, or has one of an unknown type.

    Raises:
        CorruptBlockError: the record does not contain a bloom filter.
    """
    try:
        record: Any = decode_value(value, parse_value_schema(schema))
        content = record["BloomFilterMetadata"]
        text = "" if content["isDeleted"] else content["bloomFilter"].decode()
        kind = str(content["type"])
    except (DecodeError, SchemaError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise CorruptBlockError(f"expected a bloom filter, but the record cannot be decoded: {error!r}") from error
    try:
        return parse_filters(text, kind) if text else None
    except CorruptTableError:
        return None  # the type is unknown
