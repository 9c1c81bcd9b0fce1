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
    """The file groups of record keys in the whole table; *zone* is the time zone of its instants.

    A key that stays in its file group keeps its record.  If several writers append to one file group, the index may
    have a key that is no longer in the table; a look-up then finds a file group without the key.

    Source: HoodieMetadataPayload.createRecordIndexUpdate, HoodieTableMetadataUtil.convertMetadataToRecordIndexRecords.
    """

    schema: str
    zone: tzinfo | None

    @property
    def name(self) -> str:
        """See :attr:`IndexKind.name`."""
        return RECORD_INDEX

    @property
    def is_plain(self) -> bool:
        """See :attr:`IndexKind.is_plain`."""
        return True

    def records(self, change: Change) -> KeyedRecords:
        """Return the keys that were written, without duplicates, and drop keys that were deleted or replaced."""
        keys, values = [pa.array([], pa.string())], [pa.array([], pa.binary())]
        for path, file_id_, found in _written_keys(change):
            keys.append(found)
            values.append(pa.repeat(pa.scalar(self._encode(path, file_id_, change.time), pa.binary()), len(found)))
        table = pa.table({"key": pa.chunked_array(keys), "value": pa.chunked_array(values)})
        numbered = table.append_column("row", pa.array(np.arange(table.num_rows)))
        table = table.take(numbered.group_by("key").aggregate([("row", "max")])["row_max"])
        gone = [pa.array([], pa.string()), *_dropped_keys(change), *(keys for _, keys in change.replaced_keys())]
        return KeyedRecords(
            table["key"].combine_chunks(), table["value"].combine_chunks(), pc.unique(pa.chunked_array(gone))
        )

    def part_to_hash(self, keys: pa.Array) -> pa.Array:
        """See :meth:`IndexKind.part_to_hash`."""
        return keys

    def merge(self, _key: str, _older: Stored, newer: Stored) -> Stored:
        """See :meth:`IndexKind.merge`."""
        return newer

    def encode_base_record(self, _key: str, record: Stored) -> bytes:
        """See :meth:`IndexKind.encode_base_record`."""
        return record.value

    def _encode(self, path: str, file_id: str, time: str) -> bytes:
        location = {"partitionName": path, "instantTime": _milliseconds(time, self.zone), "position": None}
        return encode_record(_NUMBER, _FIELD, _NAME, {**location, **_file_group(file_id)}, self.schema)


def _file_group(file_id: str) -> dict[str, object]:
    """Encode a file id as two longs and a number, or as a text if it does not begin with a UUID."""
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
    """A record index in which keys are unique per partition path; each path has file groups of its own.

    Source: HoodieBackedTableMetadataWriter.getRecordTaggerPartitionedRLI.
    """

    index: RecordIndexKind

    @property
    def name(self) -> str:
        """See :attr:`IndexKind.name`."""
        return self.index.name

    @property
    def is_plain(self) -> bool:
        """See :attr:`IndexKind.is_plain`."""
        return self.index.is_plain

    def records(self, change: Change) -> KeyedRecords:
        """Return the keys of each partition path; a path that is written to gets file groups even without keys."""
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

    def part_to_hash(self, keys: pa.Array) -> pa.Array:
        """See :meth:`IndexKind.part_to_hash`."""
        return keys

    def merge(self, key: str, older: Stored, newer: Stored) -> Stored:
        """See :meth:`IndexKind.merge`."""
        return self.index.merge(key, older, newer)

    def encode_base_record(self, key: str, record: Stored) -> bytes:
        """See :meth:`IndexKind.encode_base_record`."""
        return self.index.encode_base_record(key, record)


def group_of_path(path: str) -> str:
    """Return the prefix of the ids of the file groups of a partition path.

    Source: HoodieTableMetadataUtil.getFileIDForFileGroup.
    """
    return f"record-index-{escape_file_name(path)}-"


def path_of_group(file_id: str) -> str:
    """Return the partition path of a file group.

    Source: HoodieTableMetadataUtil.getDataTablePartitionNameFromFileGroupName.
    """
    return unescape_path_name(file_id.split("-")[-3])


def is_partitioned(definition: IndexDefinition | None) -> bool:
    """Return whether a record index has file groups for each partition path."""
    return definition is not None and definition.options.get("isPartitioned") == "true"


def _milliseconds(time: str, zone: tzinfo | None) -> int:
    """Return the instant as milliseconds since 1970.  Source: TimelineUtils.parseDateFromInstantTime."""
    moment = parse_instant(time)
    moment = moment.replace(tzinfo=zone) if zone is not None else moment.astimezone()
    return round(moment.timestamp() * 1000)


def _written_keys(change: Change) -> Iterator[tuple[str, str, pa.Array]]:
    for path, stats in change.written.items():
        for stat in stats:
            if stat.file_id and stat.indexed is not None and stat.indexed.keys is not None:
                yield path, stat.file_id, stat.indexed.keys


def _dropped_keys(change: Change) -> Iterator[pa.Array]:
    for stats in change.written.values():
        for stat in stats:
            if stat.indexed is not None and stat.indexed.dropped is not None:
                yield stat.indexed.dropped
