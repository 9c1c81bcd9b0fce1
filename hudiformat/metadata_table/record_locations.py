"""The records of the partition ``record_index``: the file group of each record key."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

import pyarrow as pa

from hudiformat.codec.avro.values import decode_value, parse_value_schema
from hudiformat.errors import CorruptBlockError, DecodeError, SchemaError
from hudiformat.file_group.slices import FileSlice
from hudiformat.metadata_table.kinds.record_index import RECORD_INDEX, path_of_group
from hudiformat.metadata_table.partition import OpenMetadata
from hudiformat.metadata_table.updates import file_groups_of

_UUID, _NO_NUMBER = 0, -1
_64_BITS = 2**64


class RecordLocation(NamedTuple):
    """The file group of a record key."""

    partition_path: str
    file_id: str


def by_group(texts: Sequence[str], count: int) -> dict[int, list[str]]:
    """Group *texts* by the number of the file group, out of *count*, that their hash determines."""
    found: defaultdict[int, list[str]] = defaultdict(list)
    groups = file_groups_of(pa.array(texts, pa.string()), count) if texts else ()
    for text, group in zip(texts, groups, strict=True):
        found[int(group)].append(text)
    return dict(found)


def slices_by_path(opened: OpenMetadata) -> dict[str, list[FileSlice]]:
    """Return the newest file slices of a partitioned record index, by the partition path of the table."""
    groups: defaultdict[str, list[FileSlice]] = defaultdict(list)
    for one in opened.any_slices(RECORD_INDEX):
        groups[path_of_group(one.file_id)].append(one)
    return dict(groups)


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
