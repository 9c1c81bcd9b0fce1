"""Look up values of a column in a secondary index, and find the file groups of the rows with these values."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import pyarrow as pa

from hudiformat.metadata_table.definitions import IndexDefinition, hashes_values
from hudiformat.metadata_table.partition import Deletes, Part, open_metadata
from hudiformat.metadata_table.record_locations import RecordLocation, by_group
from hudiformat.metadata_table.record_lookup import locations_of
from hudiformat.metadata_table.secondary_keys import prefixes_of_values, record_keys_of
from hudiformat.storage.protocol import Storage
from hudiformat.timeline.table_config import TableConfig
from hudiformat.timeline.timeline import Timeline


def secondary_locations(
    storage: Storage,
    config: TableConfig,
    timeline: Timeline,
    definition: IndexDefinition,
    values: Collection[str],
    *,
    most: int,
) -> set[RecordLocation] | None:
    """Return the file groups of all rows with one of *values*, which are texts of the index.

    Return None if there are more than *most* such rows.

    *definition* defines the index; the other arguments are as for ``record_locations``.

    Raises:
        CorruptTableError, DecodeError, StorageError: as ``open_partition``.
        UnsupportedFeatureError: the metadata table cannot be read yet.

    Source: HoodieBackedTableMetadata.readSecondaryIndexLocations, Hudi 1.2.0.
    """
    opened = open_metadata(storage, config, timeline)
    slices = opened.slices(definition.name)
    prefixes = sorted(prefixes_of_values(pa.array(sorted(values), pa.string())).to_pylist())
    every = dict.fromkeys(range(len(slices)), prefixes)  # whole keys are hashed, so a value may be in any group
    groups = by_group(prefixes, len(slices)) if hashes_values(definition, config) else every
    keys: list[str] = []
    for group, some in groups.items():
        keys += keys_in(opened.parts_of(slices[group]), some)
        if len(keys) > most:
            return None
    records = record_keys_of(pa.array(keys, pa.string())).to_pylist()
    return set(locations_of(opened, records).values())


def keys_in(parts: Iterable[Part], prefixes: Sequence[str]) -> set[str]:
    """Return the keys that begin with one of *prefixes* in a file group whose *parts* are in merge order.

    Raises:
        DecodeError: a file of the metadata table is damaged.
    """
    found: set[str] = set()
    for part in parts:
        if isinstance(part, Deletes):
            found -= part.keys
            continue
        for prefix in prefixes:
            for batch in part.file.prefix_scan(prefix):
                found.update(batch["key"].cast(pa.string()).to_pylist())
    return found
