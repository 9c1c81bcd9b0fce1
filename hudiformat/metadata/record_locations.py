"""Looking record keys up in the partition ``record_index``: the file group that each is in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

import pyarrow as pa

from hudiformat.avro import decode_value, parse_value_schema
from hudiformat.errors import CorruptBlockError, DecodeError, SchemaError, UnsupportedFeatureError
from hudiformat.metadata.definitions import load_definitions
from hudiformat.metadata.kinds import RECORD_INDEX, is_partitioned, path_of_group
from hudiformat.metadata.partition import Deletes, OpenMetadata, Part, open_metadata
from hudiformat.metadata.updates import file_groups_of
from hudiformat.storage import Storage
from hudiformat.timeline import TableConfig, Timeline
from hudiformat.view import FileSlice

_UUID, _NO_NUMBER = 0, -1
_64_BITS = 2**64


class RecordLocation(NamedTuple):
    """The file group that a record key is in."""

    partition_path: str
    file_id: str


def record_locations(
    storage: Storage, config: TableConfig, timeline: Timeline, keys: Collection[str]
) -> dict[str, RecordLocation]:
    """Look *keys* up in the record index; those that the table does not have are left out.

    *config* and *timeline* are those of the table at the root of *storage*.  Each key is read from the one file group
    of the index that its hash says, by point reads.

    Raises:
        CorruptTableError, DecodeError, StorageError: as ``open_partition``.
        UnsupportedFeatureError: the index is partitioned, or cannot be read yet.

    Source: HoodieBackedTableMetadata.readRecordIndexLocationsWithKeys, Hudi 1.2.0.
    """
    _refuse_partitioned(storage, config)
    return locations_of(open_metadata(storage, config, timeline), keys)


def locations_of(opened: OpenMetadata, keys: Collection[str]) -> dict[str, RecordLocation]:
    """As :func:`record_locations`, in a metadata table that is open already.

    Raises:
        CorruptTableError, DecodeError, StorageError: as ``open_partition``.
    """
    slices = opened.slices(RECORD_INDEX)
    found: dict[str, RecordLocation] = {}
    for group, some in by_group(sorted(keys), len(slices)).items():
        found |= locations_in(opened.parts_of(slices[group]), some)
    return found


def by_group(texts: Sequence[str], count: int) -> dict[int, list[str]]:
    """*texts* by the number of the file group, of *count*, that their hash says."""
    found: defaultdict[int, list[str]] = defaultdict(list)
    groups = file_groups_of(pa.array(texts, pa.string()), count) if texts else ()
    for text, group in zip(texts, groups, strict=True):
        found[int(group)].append(text)
    return dict(found)


def partitioned_locations(
    storage: Storage, config: TableConfig, timeline: Timeline, keys: Collection[str], paths: Collection[str]
) -> set[RecordLocation]:
    """Look *keys* up in a partitioned record index, in each of the partition *paths*; the file groups that have any.

    Raises:
        CorruptTableError, DecodeError, StorageError: as ``open_partition``.
        UnsupportedFeatureError: the index cannot be read yet.
    """
    opened = open_metadata(storage, config, timeline)
    groups: defaultdict[str, list[FileSlice]] = defaultdict(list)
    for one in opened.slices(RECORD_INDEX):
        groups[path_of_group(one.file_id)].append(one)
    found: set[RecordLocation] = set()
    for path in paths:
        slices = groups.get(path, [])
        for group, some in (by_group(sorted(keys), len(slices)) if slices else {}).items():
            found.update(locations_in(opened.parts_of(slices[group]), some).values())
    return found


def _refuse_partitioned(storage: Storage, config: TableConfig) -> None:
    if is_partitioned(load_definitions(storage, config).get(RECORD_INDEX)):
        feature = "a partitioned record index"
        raise UnsupportedFeatureError(f"{storage.root}: {feature} has a key once for each partition", feature=feature)


def locations_in(parts: Iterable[Part], keys: Sequence[str]) -> dict[str, RecordLocation]:
    """The newest locations of *keys* in a file group of the index, whose *parts* are in merge order.

    Raises:
        DecodeError: a file of the metadata table is damaged.
    """
    newest: dict[str, RecordLocation] = {}
    for part in parts:
        if isinstance(part, Deletes):
            newest = {key: location for key, location in newest.items() if key not in part.keys}
            continue
        for key in keys:
            value = part.file.get(key)
            if value is not None:
                newest[key] = decode_location(value, part.schema)
    return newest


def decode_location(value: bytes, schema: str) -> RecordLocation:
    """Decode a record that was written with the Avro schema *schema* (JSON).

    Raises:
        CorruptBlockError: the record does not contain a location.

    Source: HoodieTableMetadataUtil.getLocationFromRecordIndexInfo, Hudi 1.2.0.
    """
    try:
        record: Any = decode_value(value, parse_value_schema(schema), names=True)
        info = record["recordIndexMetadata"]
        info = info[1] if isinstance(info, tuple) else info
        return RecordLocation(str(info["partitionName"]), _file_id(info))
    except (DecodeError, SchemaError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise CorruptBlockError(f"expected a record's location, but the record cannot be decoded: {error!r}") from error


def _file_id(info: Mapping[str, Any]) -> str:
    if info["fileIdEncoding"] != _UUID:
        return str(info["fileId"])
    bits = (info["fileIdHighBits"] % _64_BITS) << 64 | info["fileIdLowBits"] % _64_BITS
    number = info["fileIndex"]
    return str(UUID(int=bits)) if number == _NO_NUMBER else f"{UUID(int=bits)}-{number}"
