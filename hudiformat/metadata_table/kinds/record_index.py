"""The partition ``record_index``: the file group of each record key."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import tzinfo
from functools import partial
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.metadata_table.changes import Change, KeyedRecords, Stored
from hudiformat.metadata_table.definitions import IndexDefinition
from hudiformat.metadata_table.records import encode_record
from hudiformat.naming.instants import parse_instant
from hudiformat.naming.keys import escape_file_name, unescape_path_name

RECORD_INDEX = "record_index"

_NUMBER, _FIELD, _NAME = 5, "recordIndexMetadata", "HoodieRecordIndexInfo"
_UUID, _TEXT, _NONE = 0, 1, -1
_UUID_FORM = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TWO_63, _TWO_64 = 2**63, 2**64


@dataclass(frozen=True, slots=True)
class RecordIndexKind:
    """File groups of record keys in the whole table; *zone* is the time zone of its instants.

    A key that stays in its file group keeps the record that it has.  Where several writers append to one file group, a
    key may be in the index that is in the table no more: its file group is searched in vain.

    Source: HoodieMetadataPayload.createRecordIndexUpdate, HoodieTableMetadataUtil.convertMetadataToRecordIndexRecords.
    """

    schema: str
    zone: tzinfo | None

    @property
    def name(self) -> str:
        """As :attr:`IndexKind.name`."""
        return RECORD_INDEX

    @property
    def is_plain(self) -> bool:
        """As :attr:`IndexKind.is_plain`."""
        return True

    def records(self, change: Change) -> KeyedRecords:
        """The keys that were written, each once; those that were deleted, or whose file group was replaced, go."""
        keys, values = [pa.array([], pa.string())], [pa.array([], pa.binary())]
        for path, file_id_, found in _written(change):
            keys.append(found)
            values.append(pa.repeat(pa.scalar(self._encode(path, file_id_, change.time), pa.binary()), len(found)))
        table = pa.table({"key": pa.chunked_array(keys), "value": pa.chunked_array(values)})
        numbered = table.append_column("row", pa.array(np.arange(table.num_rows)))
        table = table.take(numbered.group_by("key").aggregate([("row", "max")])["row_max"])
        gone = [pa.array([], pa.string()), *_dropped(change), *(keys for _, keys in change.replaced_keys())]
        return KeyedRecords(
            table["key"].combine_chunks(), table["value"].combine_chunks(), pc.unique(pa.chunked_array(gone))
        )

    def hashed(self, keys: pa.Array) -> pa.Array:
        """As :meth:`IndexKind.hashed`."""
        return keys

    def merge(self, _key: str, _older: Stored, newer: Stored) -> Stored:
        """As :meth:`IndexKind.merge`."""
        return newer

    def compacted(self, _key: str, record: Stored) -> bytes:
        """As :meth:`IndexKind.compacted`."""
        return record.value

    def _encode(self, path: str, file_id: str, time: str) -> bytes:
        location = {"partitionName": path, "instantTime": _milliseconds(time, self.zone), "position": None}
        return encode_record(_NUMBER, _FIELD, _NAME, {**location, **_file_group(file_id)}, self.schema)


def _file_group(file_id: str) -> dict[str, object]:
    """A file id as two longs and a number, or as a text if it is not made of a UUID."""
    head, _, number = file_id.rpartition("-")
    if _UUID_FORM.fullmatch(head) is None or not number.isdecimal():
        text = {"fileIdHighBits": _NONE, "fileIdLowBits": _NONE, "fileIndex": _NONE}
        return {**text, "fileId": file_id, "fileIdEncoding": _TEXT}
    bits, index = UUID(head).int, int(number)
    halves = {"fileIdHighBits": _signed(bits >> 64), "fileIdLowBits": _signed(bits & (_TWO_64 - 1))}
    return {**halves, "fileIndex": index, "fileId": "", "fileIdEncoding": _UUID}


def _signed(number: int) -> int:
    return number - _TWO_64 if number >= _TWO_63 else number


@dataclass(frozen=True, slots=True)
class PartitionedRecordIndexKind:
    """As :class:`RecordIndexKind`, where a key is one in its partition path only: each has file groups of its own.

    Source: HoodieBackedTableMetadataWriter.getRecordTaggerPartitionedRLI.
    """

    index: RecordIndexKind

    @property
    def name(self) -> str:
        """As :attr:`IndexKind.name`."""
        return self.index.name

    @property
    def is_plain(self) -> bool:
        """As :attr:`IndexKind.is_plain`."""
        return self.index.is_plain

    def records(self, change: Change) -> KeyedRecords:
        """The keys of each partition path; one that is written to has file groups from then on, whatever is written."""
        replaced: defaultdict[str, list[tuple[str, pa.Array]]] = defaultdict(list)
        for path, keys in change.replaced_keys():
            replaced[path].append((path, keys))
        parts = {
            path: self.index.records(
                replace(
                    change,
                    written={path: change.written.get(path, ())},
                    replaced_keys=partial(replaced.__getitem__, path),
                )
            )
            for path in dict.fromkeys([*change.written, *replaced])
        }
        nothing = pa.array([], pa.string())
        return KeyedRecords(nothing, nothing.cast(pa.binary()), nothing, parts)

    def hashed(self, keys: pa.Array) -> pa.Array:
        """As :meth:`IndexKind.hashed`."""
        return keys

    def merge(self, key: str, older: Stored, newer: Stored) -> Stored:
        """As :meth:`IndexKind.merge`."""
        return self.index.merge(key, older, newer)

    def compacted(self, key: str, record: Stored) -> bytes:
        """As :meth:`IndexKind.compacted`."""
        return self.index.compacted(key, record)


def group_of_path(path: str) -> str:
    """What the ids of the file groups of a partition path begin with.

    Source: HoodieTableMetadataUtil.getFileIDForFileGroup.
    """
    return f"record-index-{escape_file_name(path)}-"


def path_of_group(file_id: str) -> str:
    """The partition path of a file group.

    Source: HoodieTableMetadataUtil.getDataTablePartitionNameFromFileGroupName.
    """
    return unescape_path_name(file_id.split("-")[-3])


def is_partitioned(definition: IndexDefinition | None) -> bool:
    """Whether a record index has file groups for each partition path."""
    return definition is not None and definition.options.get("isPartitioned") == "true"


def _milliseconds(time: str, zone: tzinfo | None) -> int:
    """The instant as milliseconds since 1970.  Source: TimelineUtils.parseDateFromInstantTime."""
    moment = parse_instant(time)
    moment = moment.replace(tzinfo=zone) if zone is not None else moment.astimezone()
    return round(moment.timestamp() * 1000)


def _written(change: Change) -> Iterator[tuple[str, str, pa.Array]]:
    for path, stats in change.written.items():
        for stat in stats:
            if stat.file_id and stat.indexed is not None and stat.indexed.keys is not None:
                yield path, stat.file_id, stat.indexed.keys


def _dropped(change: Change) -> Iterator[pa.Array]:
    for stats in change.written.values():
        for stat in stats:
            if stat.indexed is not None and stat.indexed.dropped is not None:
                yield stat.indexed.dropped
