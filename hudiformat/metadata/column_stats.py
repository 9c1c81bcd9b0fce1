"""What the ``column_stats`` partition says of the values that a column has in a file.

Statistics are used to leave files out, so whatever may be less than the truth counts as unknown here.
"""

from __future__ import annotations

import io
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import fastavro
import pyarrow as pa

from hudiformat.errors import CorruptBlockError
from hudiformat.metadata.index_keys import column_id, file_id, partition_id
from hudiformat.metadata.partition import Deletes, Part, open_partition
from hudiformat.storage import Storage
from hudiformat.timeline import TableConfig, Timeline

COLUMN_STATS = "column_stats"

_WITHOUT_TYPES = 0  # up to table version 8 only the wrapper of a value tells its type
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
"""The types whose values are understood.  Source: org.apache.hudi.stats.ValueType."""

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
    """The values of a column in a file.

    ``kind`` is the type that they had when the file was written, and ``lower`` and ``upper`` are values of it between
    which all lie, if they are known: an unknown bound is None.  Without ``kind`` nothing is known of the values.
    ``all_null`` says that there are none.  Texts compare by their UTF-8 bytes, as in Arrow.
    """

    kind: pa.DataType | None = None
    lower: Any = None
    upper: Any = None
    may_be_null: bool = True
    all_null: bool = False


Ranges = Mapping[tuple[str, str], ColumnRange]
"""By file name and column."""

_UNKNOWN = ColumnRange()

Said = tuple[str, ColumnRange | None]
"""A file's name and what is known of its values; None where the file is gone."""


def column_stats(storage: Storage, config: TableConfig, timeline: Timeline) -> ColumnStats:
    """The statistics of the table at the root of *storage*; *config* and *timeline* are its own.

    Raises:
        CorruptTableError, DecodeError, StorageError, UnsupportedFeatureError: as ``open_partition``.
    """
    return ColumnStats(open_partition(storage, config, timeline, COLUMN_STATS))


class ColumnStats:
    """The statistics of a table's files, looked up by partition and column.

    Source: BaseTableMetadata.getColumnStats; spec/metadata-table.md.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts

    def ranges(self, partition: str, columns: Collection[str]) -> Ranges:
        """What is known of *columns* in the files of *partition*.

        Raises:
            DecodeError: a file of the metadata table is damaged.
        """
        found: dict[tuple[str, str], ColumnRange] = {}
        for column in columns:
            prefix = f"{column_id(column)}{partition_id(partition)}"
            for key, (name, values) in self._newest(prefix).items():
                if values is not None and key == f"{prefix}{file_id(name)}":
                    found[name, column] = values
        return found

    def _newest(self, prefix: str) -> dict[str, Said]:
        """What is said under the keys that begin with *prefix*."""
        found: dict[str, Said] = {}
        for part in self._parts:
            if isinstance(part, Deletes):
                for key in part.keys & found.keys():
                    del found[key]
                continue
            for batch in part.file.prefix_scan(prefix):
                for row, value in zip(batch["key"].to_pylist(), batch["value"].to_pylist(), strict=True):
                    key, (name, values) = row.decode(errors="replace"), decode_column_stats(value, part.schema)
                    # Said twice of a file, Hudi widens what it knew: its file grew.  Nobody appends from version 8 on.
                    grew = values is not None and found.get(key, (name, None))[1] is not None
                    found[key] = name, _UNKNOWN if grew else values
        return found


def decode_column_stats(value: bytes, schema: str) -> Said:
    """The file that a record is about, and what it says; *schema* is the Avro schema (JSON) that it was written with.

    Raises:
        CorruptBlockError: it holds no column statistics.
    """
    try:
        record: Any = fastavro.schemaless_reader(io.BytesIO(value), _parsed(schema), None, return_record_name=True)
        stats = _unwrapped(record["ColumnStatsMetadata"])
        return str(stats["fileName"]), None if stats["isDeleted"] else _range(stats)
    except Exception as error:  # fastavro raises whatever the damage leads to
        raise CorruptBlockError(f"expected column statistics, which it is not: {error!r}") from error


def _range(stats: Mapping[str, Any]) -> ColumnRange:
    is_log = stats["fileName"].startswith(".")
    count, nulls = stats["valueCount"], stats["nullCount"]
    kind, lower, upper = _kind(stats), _value(stats["minValue"]), _value(stats["maxValue"])
    if lower is None or upper is None:
        typed = _ordinal(stats) != _WITHOUT_TYPES
        return ColumnRange(all_null=True) if is_log and typed and count == nulls else _UNKNOWN
    if kind is None or lower != lower or upper != upper:  # noqa: PLR0124 - NaN
        return _UNKNOWN
    if not is_log and _may_be_made_up(kind, lower, upper, count, nulls):
        return _UNKNOWN
    if pa.types.is_string(kind):
        lower, upper = _by_bytes(lower, upper)
    return ColumnRange(kind, lower, upper, may_be_null=bool(nulls))


def _may_be_made_up(kind: pa.DataType, lower: Any, upper: Any, count: int, nulls: int) -> bool:
    """Whether some row group of a base file may have had no statistics, of which Hudi takes its rows for nulls or zero.

    Parquet leaves them out where texts are too long for them, and where there is a NaN.
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
    return _WITHOUT_TYPES if value_type is None else int(_unwrapped(value_type)["typeOrdinal"])


def _value(wrapper: Any) -> Any:
    return None if wrapper is None else _unwrapped(wrapper).get("value")


def _unwrapped(named: Any) -> Mapping[str, Any]:
    """A record out of a union, which comes with its name where it has several branches of records."""
    found: Mapping[str, Any] = named[1] if isinstance(named, tuple) else named
    return found


def _by_bytes(lower: str, upper: str) -> tuple[str | None, str | None]:
    """Those bounds of Java's order, by UTF-16 units, that are bounds by UTF-8 bytes too.

    The orders differ where a character beyond U+FFFF meets one from U+E000 to U+FFFF.
    """
    return (
        None if any(ord(character) > _LAST_UNIT for character in lower) else lower,
        None if any(_FIRST_PRIVATE <= ord(character) <= _LAST_UNIT for character in upper) else upper,
    )


@lru_cache(maxsize=16)
def _parsed(schema: str) -> Any:
    return fastavro.parse_schema(json.loads(schema))
