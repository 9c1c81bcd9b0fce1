r"""The keys of a secondary index, and the file groups of the rows that have a value.

A key is ``<value>$<record key>``.  In both parts ``\``, ``$`` and the null character are escaped by ``\``; a null
character alone is the value null.

Source: SecondaryIndexKeyUtils, Hudi 1.2.0; spec/metadata-table.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.metadata_table.definitions import IndexDefinition, hashes_values
from hudiformat.metadata_table.partition import Deletes, Part, open_metadata
from hudiformat.metadata_table.record_locations import RecordLocation, by_group
from hudiformat.metadata_table.record_lookup import locations_of
from hudiformat.storage.protocol import Storage
from hudiformat.timeline.table_config import TableConfig
from hudiformat.timeline.timeline import Timeline

SECONDARY_INDEX = "secondary_index_"
"""The prefix of the names of these partitions."""

_ESCAPED = ("\\", "$", "\0")  # in this order, because the others are escaped by the first
_NULL = "\0"
_PREFIX = r"(?s)^(?P<prefix>(?:[^\\$]|\\.)*\$)"
_RECORD_KEY = r"(?s)^(?:[^\\$]|\\.)*\$(?P<key>.*)$"
_ESCAPE = r"(?s)\\(.)"


def has_secondary_keys(kind: pa.DataType) -> bool:
    """Return whether hudiformat can maintain a secondary index on a column of type *kind*.

    Hudi also indexes types whose texts depend on the writer: floating-point numbers are formatted as the release of
    Java does it (up to 18 not in the shortest form), and timestamps in milliseconds become microseconds in Spark but
    not in Java.

    Source: HoodieIndexUtils.isSecondaryIndexSupportedType.
    """
    return (
        pa.types.is_string(kind)
        or kind in (pa.int32(), pa.int64(), pa.date32())
        or (pa.types.is_timestamp(kind) and kind.unit == "us" and kind.tz is not None)
    )


def value_texts(values: pa.Array) -> pa.Array:
    """Return the texts that an index stores for values: dates as days since 1970, timestamps as microseconds."""
    if pa.types.is_date(values.type):
        values = values.cast(pa.int32())
    elif pa.types.is_timestamp(values.type):
        values = values.cast(pa.int64())
    return values.cast(pa.string())


def secondary_keys(values: pa.Array, record_keys: pa.Array) -> pa.Array:
    """Return the secondary key of each pair of a value and a record key."""
    return pc.binary_join_element_wise(_prefixes(value_texts(values)), escape(record_keys), "")


def prefixes_of_values(values: pa.Array) -> pa.Array:
    """Return the prefix of the secondary keys of all rows with a value, for each value."""
    return _prefixes(value_texts(values))


def prefixes_of(keys: pa.Array) -> pa.Array:
    """Return the part of each secondary key before the record key, including ``$``."""
    return pc.struct_field(pc.extract_regex(keys, _PREFIX), "prefix")


def record_keys_of(keys: pa.Array) -> pa.Array:
    """Return the record key in each secondary key."""
    return pc.replace_substring_regex(pc.struct_field(pc.extract_regex(keys, _RECORD_KEY), "key"), _ESCAPE, r"\1")


def escape(texts: pa.Array) -> pa.Array:
    """Return *texts* with a backslash before each character that is special in a secondary key."""
    for one in _ESCAPED:
        texts = pc.replace_substring(texts, one, f"\\{one}")
    return texts


def _prefixes(texts: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(pc.fill_null(escape(texts), _NULL), "$", "")


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
