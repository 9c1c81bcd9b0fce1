"""The ``column_stats`` partition: the range of the values of a column in each file.

Queries skip files by these statistics.  So statistics that may not cover all values of the file count as unknown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from hudiformat.codec.avro.values import decode_value, parse_value_schema
from hudiformat.errors import CorruptBlockError, DecodeError, SchemaError
from hudiformat.metadata_table.index_keys import column_id, file_id, partition_id
from hudiformat.metadata_table.partition import Deletes, Part, open_partition
from hudiformat.storage.protocol import Storage
from hudiformat.timeline.table_config import TableConfig
from hudiformat.timeline.timeline import Timeline

COLUMN_STATS = "column_stats"
PARTITION_STATS = "partition_stats"

_WITHOUT_TYPES = 0  # up to table version 8, only the wrapper of a value shows its type
_FIRST_PRIVATE, _LAST_UNIT = 0xE000, 0xFFFF
_KINDS = {
    2: pa.bool_(),
    3: pa.int32(),
    4: pa.int64(),
    5: pa.float32(),
    6: pa.float64(),
    7: pa.string(),
    12: pa.date32(),
    15: pa.timestamp("ms", "UTC"),
    16: pa.timestamp("us", "UTC"),
    18: pa.timestamp("ms"),
    19: pa.timestamp("us"),
}
"""The supported types by ordinal.  Source: org.apache.hudi.stats.ValueType."""

_WRAPPERS = {
    "BooleanWrapper": pa.bool_(),
    "IntWrapper": pa.int32(),
    "LongWrapper": pa.int64(),
    "FloatWrapper": pa.float32(),
    "DoubleWrapper": pa.float64(),
    "StringWrapper": pa.string(),
}


@dataclass(frozen=True, slots=True)
class ColumnRange:
    """The range of the values of a column in a file.

    ``kind`` is the type of the column when the file was written, None if nothing is known.  All values lie between
    ``lower`` and ``upper``, which are included; an unknown bound is None.  ``all_null``: the column has no values but
    nulls.  Texts compare by their UTF-8 bytes, as in Arrow.
    """

    kind: pa.DataType | None = None
    lower: Any = None
    upper: Any = None
    may_be_null: bool = True
    all_null: bool = False


Ranges = Mapping[tuple[str, str], ColumnRange]
"""By file name and column."""

_UNKNOWN = ColumnRange()

_FileRange = tuple[str, ColumnRange | None]
"""The name of a file and the range of its values; None if the file was deleted."""


def column_stats(storage: Storage, config: TableConfig, timeline: Timeline) -> ColumnStats:
    """Open the column statistics of the table at the root of *storage*; *config* and *timeline* are those of the table.

    Raises:
        CorruptTableError, DecodeError, StorageError, UnsupportedFeatureError: as ``open_partition``.
    """
    return ColumnStats(open_partition(storage, config, timeline, COLUMN_STATS))


def partition_ranges(
    storage: Storage, config: TableConfig, timeline: Timeline, paths: Iterable[str], columns: Collection[str]
) -> dict[str, dict[str, ColumnRange]]:
    """Return the known ranges of *columns* over all current rows of each of the partitions *paths*.

    Raises:
        CorruptTableError, DecodeError, StorageError, UnsupportedFeatureError: as ``open_partition``.

    Source: PartitionStatsIndexSupport, Hudi 1.2.0.
    """
    parts = open_partition(storage, config, timeline, PARTITION_STATS)
    return {
        path: {
            column: found
            for column in columns
            if (found := _partition_range(parts, f"{column_id(column)}{partition_id(path)}")) is not None
        }
        for path in paths
    }


def _partition_range(parts: Sequence[Part], key: str) -> ColumnRange | None:
    """Return the range in the newest record of *key*; None if there is none, or if it only adds to an older record."""
    newest: ColumnRange | None = None
    is_first = True
    for part in parts:
        if isinstance(part, Deletes):
            newest, is_first = (None, True) if key in part.keys else (newest, is_first)
        elif (value := part.file.get(key)) is not None:
            found, is_tight = decode_partition_stats(value, part.schema)
            newest, is_first = found if is_tight or is_first else None, False
    return newest


def decode_partition_stats(value: bytes, schema: str) -> tuple[ColumnRange | None, bool]:
    """Return the range in a record of ``partition_stats``, and whether it replaces the ranges of older records.

    Raises:
        CorruptBlockError: the record does not contain column statistics.
    """
    stats = _decode(value, schema)
    return None if stats["isDeleted"] else _range(stats), bool(stats.get("isTightBound"))


class ColumnStats:
    """The column statistics of a table's files; they are looked up by partition and column.

    Source: BaseTableMetadata.getColumnStats; spec/metadata-table.md.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts

    def ranges(self, partition: str, columns: Collection[str]) -> Ranges:
        """Return the ranges of *columns* in the files of *partition*, by file name and column.

        Raises:
            DecodeError: a file of the metadata table is damaged.
        """
        ranges: dict[tuple[str, str], ColumnRange] = {}
        for column in columns:
            prefix = f"{column_id(column)}{partition_id(partition)}"
            for key, (name, values) in self._newest(prefix).items():
                if values is not None and key == f"{prefix}{file_id(name)}":
                    ranges[name, column] = values
        return ranges

    def _newest(self, prefix: str) -> dict[str, _FileRange]:
        """Return the merged records whose keys begin with *prefix*."""
        newest: dict[str, _FileRange] = {}
        for part in self._parts:
            if isinstance(part, Deletes):
                for key in part.keys & newest.keys():
                    del newest[key]
                continue
            for batch in part.file.prefix_scan(prefix):
                for row, value in zip(batch["key"].to_pylist(), batch["value"].to_pylist(), strict=True):
                    key, (name, values) = row.decode(errors="replace"), decode_column_stats(value, part.schema)
                    # Hudi widens the range if a file, which then has grown, has two records.  From version 8 on files
                    # do not grow.
                    has_grown = values is not None and newest.get(key, (name, None))[1] is not None
                    newest[key] = name, _UNKNOWN if has_grown else values
        return newest


def decode_column_stats(value: bytes, schema: str) -> _FileRange:
    """Decode a record that was written with the Avro schema *schema* (JSON): a file's name and its range.

    Raises:
        CorruptBlockError: the record does not contain column statistics.
    """
    stats = _decode(value, schema)
    return stats["fileName"], None if stats["isDeleted"] else _range(stats)


def _decode(value: bytes, schema: str) -> Mapping[str, Any]:
    try:
        record: Any = decode_value(value, parse_value_schema(schema), names=True)
        stats = dict(_unwrap(record["ColumnStatsMetadata"]))
        return {**stats, "fileName": str(stats["fileName"]), "isDeleted": bool(stats["isDeleted"])}
    except (DecodeError, SchemaError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise CorruptBlockError(f"expected column statistics, but the record cannot be decoded: {error!r}") from error


def _range(stats: Mapping[str, Any]) -> ColumnRange:
    is_log = stats["fileName"].startswith(".")
    count, nulls = stats["valueCount"], stats["nullCount"]
    kind, lower, upper = _kind(stats), _value(stats["minValue"]), _value(stats["maxValue"])
    if lower is None or upper is None:
        typed = _ordinal(stats) != _WITHOUT_TYPES
        return ColumnRange(all_null=True) if is_log and typed and count == nulls else _UNKNOWN
    if kind is None or lower != lower or upper != upper:  # noqa: PLR0124 - NaN
        return _UNKNOWN
    if not is_log and _may_be_incomplete(kind, lower, upper, count, nulls):
        return _UNKNOWN
    if pa.types.is_string(kind):
        lower, upper = _by_bytes(lower, upper)
    return ColumnRange(kind, lower, upper, may_be_null=bool(nulls))


def _may_be_incomplete(kind: pa.DataType, lower: Any, upper: Any, count: int, nulls: int) -> bool:
    """Return whether a row group of the base file may have had no statistics.

    Hudi then counts all rows of the group as nulls, or takes 0 for a bound.  Parquet writes no statistics for a row
    group with a NaN or with texts that are too long.

    Source: ParquetUtils.readColumnStatsFromMetadata.
    """
    if pa.types.is_floating(kind):
        return bool(lower <= 0 <= upper)
    return nulls > 0 if pa.types.is_string(kind) else count == nulls


def _kind(stats: Mapping[str, Any]) -> pa.DataType | None:
    ordinal = _ordinal(stats)
    if ordinal != _WITHOUT_TYPES:
        return _KINDS.get(ordinal)
    wrapper = stats["minValue"]
    return None if wrapper is None else _WRAPPERS.get(wrapper[0].rpartition(".")[2])


def _ordinal(stats: Mapping[str, Any]) -> int:
    value_type = stats.get("valueType")
    return _WITHOUT_TYPES if value_type is None else int(_unwrap(value_type)["typeOrdinal"])


def _value(wrapper: Any) -> Any:
    return None if wrapper is None else _unwrap(wrapper).get("value")


def _unwrap(named: Any) -> Mapping[str, Any]:
    """Return the record of a union; fastavro returns (name, record) if the union has several branches of records."""
    record: Mapping[str, Any] = named[1] if isinstance(named, tuple) else named
    return record


def _by_bytes(lower: str, upper: str) -> tuple[str | None, str | None]:
    """Return the bounds in Java's order, by UTF-16 units, that are bounds in the order of UTF-8 bytes too, else None.

    The two orders differ if a character beyond U+FFFF is compared with one from U+E000 to U+FFFF: Java sorts U+1F600
    (units D83D DE00) before U+FF01, UTF-8 (F0 9F 98 80 and EF BC 81) after it.
    """
    return (
        None if any(ord(character) > _LAST_UNIT for character in lower) else lower,
        None if any(_FIRST_PRIVATE <= ord(character) <= _LAST_UNIT for character in upper) else upper,
    )
