"""Encode and decode the records of ``column_stats`` and ``partition_stats``, and their keys.  Pure.

Source: HoodieMetadataPayload.createColumnStatsRecords and createPartitionStatsRecords, Hudi 1.2.0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pyarrow.types as pat

from hudiformat.codec.avro.values import decode_value, parse_value_schema
from hudiformat.codec.statistics import ColumnStatistics, bounds_of_numbers, unknown_statistics
from hudiformat.errors import CorruptBlockError, DecodeError, SchemaError
from hudiformat.metadata_table.changes import Stored
from hudiformat.metadata_table.index_keys import column_id, file_id, partition_id
from hudiformat.metadata_table.records import encode_record
from hudiformat.metadata_table.value_types import as_kind, stored_kind, type_info, unwrap, wrap

_OF_FILE, _OF_PARTITION = 3, 6
_TYPE = "org.apache.hudi.avro.model.HoodieValueTypeInfo"


class StatRecord(NamedTuple):
    """A decoded record: the statistics of *column* in the file *name*, or in the partition path *name*.

    ``statistics`` is None if the file was deleted, or if its type is unknown.  ``is_tight`` statistics replace those of
    older records with the same key, others are added to them.
    """

    name: str
    column: str
    statistics: ColumnStatistics | None
    is_deleted: bool
    is_tight: bool


@dataclass(frozen=True, slots=True)
class StatEncoder:
    """Encodes records for a metadata table with the Avro schema *schema* (JSON); with types if it has them."""

    schema: str
    has_types: bool

    def of_file(self, name: str, column: str, statistics: ColumnStatistics) -> bytes:
        """Encode the record of a column in the file *name*.

        Raises:
            EncodeError: the schema is not that of a HoodieMetadataRecord.
        """
        return self._encode(_OF_FILE, name, column, statistics, is_tight=False)

    def of_partition(self, path: str, column: str, statistics: ColumnStatistics) -> bytes:
        """Encode the record of a column in all files of the partition *path*, which replaces older records.

        Raises:
            EncodeError: as for :meth:`of_file`.
        """
        return self._encode(_OF_PARTITION, path, column, statistics, is_tight=True)

    def encode_for_partition(self, path: str, column: str, statistics: ColumnStatistics) -> bytes:
        """Encode the record of a column in some files of the partition *path*, which adds to older records.

        Raises:
            EncodeError: as for :meth:`of_file`.
        """
        return self._encode(_OF_PARTITION, path, column, statistics, is_tight=False)

    def _encode(self, number: int, name: str, column: str, found: ColumnStatistics, *, is_tight: bool) -> bytes:
        if not self.has_types and pat.is_timestamp(found.kind) and found.kind.unit == "ms" and found.lower is not None:
            # Hudi takes the number for one of microseconds, whatever the column's unit: no bound may leave out a value.
            unknown = unknown_statistics(found.kind)
            found = replace(found, lower=unknown.lower, upper=unknown.upper)
        stats: dict[str, Any] = {
            "fileName": name,
            "columnName": column,
            "minValue": wrap(found.kind, found.lower, has_types=self.has_types),
            "maxValue": wrap(found.kind, found.upper, has_types=self.has_types),
            "valueCount": found.values,
            "nullCount": found.nulls,
            "totalSize": found.size,
            "totalUncompressedSize": found.uncompressed,
            "isDeleted": False,
            "isTightBound": is_tight,
            "valueType": (_TYPE, type_info(found.kind)) if self.has_types else None,
        }
        return encode_record(number, "ColumnStatsMetadata", "HoodieMetadataColumnStats", stats, self.schema)


def file_key(path: str, name: str, column: str) -> str:
    """Return the key of the statistics of *column* in the file *name* of the partition *path*."""
    return f"{partition_key(path, column)}{file_id(name)}"


def partition_key(path: str, column: str) -> str:
    """Return the key of the statistics of *column* in the partition *path*, a prefix of the keys of its files."""
    return f"{column_id(column)}{partition_id(path)}"


def decode_stat_record(value: bytes, schema: str) -> StatRecord:
    """Decode a record that was written with the Avro schema *schema* (JSON).

    Raises:
        CorruptBlockError: the record does not contain column statistics.
    """
    try:
        record: Any = decode_value(value, parse_value_schema(schema), names=True)
        stats = _fields(record["ColumnStatsMetadata"])
        is_deleted = bool(stats["isDeleted"])
        return StatRecord(
            str(stats["fileName"]),
            str(stats["columnName"]),
            None if is_deleted else _statistics(stats),
            is_deleted,
            bool(stats.get("isTightBound")),
        )
    except (DecodeError, SchemaError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise CorruptBlockError(f"expected column statistics, but the record cannot be decoded: {error!r}") from error


def merge_stat_records(older: Stored, newer: Stored, encoder: StatEncoder) -> Stored:
    """Merge two records with the same key: tight bounds replace older ones, others are widened by them.

    Source: HoodieTableMetadataUtil.mergeColumnStatsRecords.
    """
    after = decode_stat_record(*newer)
    if after.is_tight or after.statistics is None:
        return newer
    before = decode_stat_record(*older)
    if before.statistics is None:
        return newer
    kind = after.statistics.kind
    total = as_kind(before.statistics, kind) + after.statistics
    return Stored(encoder.of_file(after.name, after.column, total), encoder.schema)


def _statistics(stats: Mapping[str, Any]) -> ColumnStatistics | None:
    info = _fields(stats.get("valueType") or {})
    wrappers = [stats["minValue"], stats["maxValue"]]
    name = next((wrapper[0] for wrapper in wrappers if wrapper is not None), None)
    kind = stored_kind(int(info.get("typeOrdinal", 0)), info.get("additionalInfo"), name)
    if kind is None:
        return None
    lower, upper = (None if wrapper is None else unwrap(kind, _fields(wrapper)["value"]) for wrapper in wrappers)
    if any(isinstance(bound, float) and math.isnan(bound) for bound in (lower, upper)):  # in a record of Hudi's
        lower, upper = bounds_of_numbers(lower, upper, has_nan=True)
    return ColumnStatistics(
        kind,
        lower,
        upper,
        values=int(stats["valueCount"]),
        nulls=int(stats["nullCount"]),
        size=int(stats["totalSize"]),
        uncompressed=int(stats["totalUncompressedSize"]),
    )


def _fields(named: Any) -> Mapping[str, Any]:
    """Return the record of a union; fastavro returns (name, record) if several branches of the union are records."""
    record: Mapping[str, Any] = named[1] if isinstance(named, tuple) else named
    return record
