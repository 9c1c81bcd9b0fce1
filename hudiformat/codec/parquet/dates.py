"""Dates and times of Parquet files as their writers stored them: INT96, and the calendar before 1582.

Spark can write a date as the number that its legacy calendar gives it: Julian before October 15, 1582, Gregorian after.
The footer says so, and Spark then reads the same date of the calendar that ISO 8601 has, which is Gregorian throughout:

    file              1500-01-01 as day -171654        footer: org.apache.spark.legacyDateTime
    same number here  1500-01-10                       which nobody has written
    rebased           day -171663                      1500-01-01

INT96 has no unit and no zone: it counts nanoseconds and days, and Spark, Hive and Impala store instants in it.

Source: DataSourceUtils.datetimeRebaseSpec, int96RebaseSpec, RebaseDateTime of Spark 3.5; ParquetWriteSupport.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as pat

from hudiformat.codec.avro.arrays import bitmap, validity
from hudiformat.codec.parquet.legacy_calendar import (
    FIRST_GREGORIAN_DAY,
    FIRST_MODERN_SECOND,
    LegacyZone,
    legacy_zone,
    to_gregorian_days,
)
from hudiformat.errors import DataError, UnsupportedFeatureError

VERSION = b"org.apache.spark.version"
ZONE = b"org.apache.spark.timeZone"
LEGACY_DATES, LEGACY_INT96 = b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96"
CALENDAR_KEYS = (VERSION, ZONE, LEGACY_DATES, LEGACY_INT96)
"""The keys of a footer that say in which calendar the dates of the file are."""
GREGORIAN = {VERSION.decode(): "3.5.0"}
"""What the footer of each file that is written says of its calendar, to Spark alone.

Spark refuses dates before 1582 and times before 1900 of a file that does not name a version of Spark (up to Spark 3.5,
unless ``spark.sql.parquet.datetimeRebaseModeInRead`` is set); it reads those of a version from 3.0 on as they are.
"""

_ARROW = b"ARROW:schema"
_INT96 = "INT96"
_TIMES = (pa.timestamp("us").id, pa.date32().id)
_PER_SECOND = {"ms": 1000, "us": 1_000_000}


def open_parquet(source: Any, *, pre_buffer: bool = False, metadata: pq.FileMetaData | None = None) -> pq.ParquetFile:
    """Open a Parquet file for :func:`hudiformat.codec.parquet.rows.read_batches`; with *metadata* its footer is known.

    INT96 is read as microseconds: nanoseconds of 64 bits end in the year 2262.
    """
    return pq.ParquetFile(source, metadata=metadata, pre_buffer=pre_buffer, coerce_int96_timestamp_unit="us")


@dataclass(frozen=True, slots=True)
class StoredDates:
    """Which columns of an open Parquet file are not what Arrow takes them for.

    ``schema`` has the types of the columns once they are converted.  ``int96`` and ``legacy`` are positions of leaves,
    in the order of the file's leaves: of INT96, and of dates and times in the legacy calendar.  ``zone`` is the time
    zone in which that calendar counts days, None if the footer does not name it.
    """

    schema: pa.Schema
    int96: frozenset[int]
    legacy: frozenset[int]
    zone: str | None

    @classmethod
    def of(cls, file: pq.ParquetFile) -> StoredDates:
        """Return what the schema and the footer of *file* say."""
        schema = file.schema_arrow
        if not _may_have_times(schema):  # the texts of the footer take as long as the rest of it: the filter is one
            return cls(schema, frozenset(), frozenset(), None)
        footer: Mapping[bytes, bytes] = file.metadata.metadata or {}
        int96 = frozenset() if _ARROW in footer else _int96_leaves(file)
        marks = _legacy_marks(footer)
        if not int96 and not any(marks):
            return cls(schema, frozenset(), frozenset(), None)
        converted, position = [], 0
        legacy: set[int] = set()
        for field in schema:
            kinds = _leaves(field.type)
            for number, kind in enumerate(kinds, position):
                is_time = pat.is_timestamp(kind) and (kind.tz is not None or number in int96)
                if marks[number in int96] and (is_time or pat.is_date32(kind)):
                    legacy.add(number)
            converted.append(field.with_type(_converted_type(field.type, position, int96)))
            position += len(kinds)
        zone = footer.get(ZONE)
        return cls(pa.schema(converted), int96, frozenset(legacy), None if zone is None else zone.decode())

    @property
    def columns(self) -> frozenset[str]:
        """The top-level columns whose values are not those that Arrow reads, nor their statistics."""
        found: list[str] = []
        if not self.legacy and not self.int96:
            return frozenset(found)
        position = 0
        for field in self.schema:
            count = len(_leaves(field.type))
            if not (self.legacy | self.int96).isdisjoint(range(position, position + count)):
                found.append(field.name)
            position += count
        return frozenset(found)

    def convert(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return *batch*, some columns of the file as Arrow reads them, with the types and dates that they stand for.

        Raises:
            UnsupportedFeatureError: the footer names a time zone whose old dates only Java can convert.
            DataError: the footer names no time zone, and there is a date for which it matters.
        """
        if not self.int96 and not self.legacy:
            return batch
        starts, position = {}, 0
        for field in self.schema:
            starts[field.name] = position
            position += len(_leaves(field.type))
        columns = [
            self._convert(column, starts[name], name)
            for name, column in zip(batch.schema.names, batch.columns, strict=True)
        ]
        schema = pa.schema([self.schema.field(name) for name in batch.schema.names], metadata=batch.schema.metadata)
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def _convert(self, array: pa.Array, position: int, path: str) -> pa.Array:
        kind = array.type
        count = len(_leaves(kind))
        if (self.legacy | self.int96).isdisjoint(range(position, position + count)):
            return array
        if isinstance(array, pa.StructArray) and pat.is_struct(kind):
            children = []
            for number, field in enumerate(kind):
                children.append(self._convert(array.field(number), position, f"{path}.{field.name}"))
                position += len(_leaves(field.type))
            fields = [field.with_type(child.type) for field, child in zip(kind, children, strict=True)]
            whole = pa.struct(fields)
            return pa.StructArray.from_buffers(whole, len(array), [bitmap(validity(array))], children=children)
        if isinstance(array, pa.MapArray) and pat.is_map(kind):
            keys = self._convert(array.keys, position, f"{path}.key")
            items = self._convert(array.items, position + len(_leaves(kind.key_type)), f"{path}.value")
            key, item = kind.key_field.with_type(keys.type), kind.item_field.with_type(items.type)
            entries = pa.StructArray.from_arrays([keys, items], fields=[key, item])
            return _with_offsets(array, pa.map_(key, item), entries)
        if isinstance(array, pa.ListArray) and pat.is_list(kind):
            items = self._convert(array.values, position, f"{path}.item")
            return _with_offsets(array, pa.list_(kind.value_field.with_type(items.type)), items)
        if position in self.int96:
            array = array.cast(pa.timestamp("us", "UTC"))
        return self._rebase(array, path) if position in self.legacy else array

    def _rebase(self, array: pa.Array, path: str) -> pa.Array:
        """Return dates or times of the legacy calendar as the same ones of the Gregorian calendar."""
        kind = array.type
        per_second = _PER_SECOND[kind.unit] if pat.is_timestamp(kind) else 0  # 0 is a date
        numbers = array.cast(pa.int64() if per_second else pa.int32()).cast(pa.int64())
        lowest = pc.min_max(numbers).as_py()["min"]
        if lowest is None or lowest >= (FIRST_MODERN_SECOND * per_second or FIRST_GREGORIAN_DAY):
            return array
        values = numbers.fill_null(0).to_numpy(zero_copy_only=False)
        if per_second:
            changed = _zone(self.zone, path).to_gregorian(values, per_second=per_second)
        else:
            changed = to_gregorian_days(values)
        result = pa.array(changed, pa.int64(), mask=array.is_null().to_numpy(zero_copy_only=False))
        return result.cast(kind) if per_second else result.cast(pa.int32()).cast(kind)


def _legacy_marks(footer: Mapping[bytes, bytes]) -> tuple[bool, bool]:
    """Return whether a file's dates, and whether its INT96, are in the legacy calendar.

    A footer without Spark's version says nothing about the calendar: it is Gregorian.
    """
    version = footer.get(VERSION, b"").decode("utf-8", "replace")
    if not version:
        return False, False
    number = _release(version)
    return LEGACY_DATES in footer or number < (3, 0), LEGACY_INT96 in footer or number < (3, 1)


@lru_cache(maxsize=8)
def _release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def is_legacy(footer: Mapping[bytes, bytes]) -> bool:
    """Return whether dates of a file with the texts *footer* are in the legacy calendar."""
    return any(_legacy_marks(footer))


def _may_have_times(schema: pa.Schema) -> bool:
    """Return whether a column has dates or times, as which Arrow reads INT96 too; at some depth for a nested one."""
    return any(kind.id in _TIMES or kind.num_fields for kind in schema.types)  # a table may have many files


def _int96_leaves(file: pq.ParquetFile) -> frozenset[int]:
    columns = range(len(file.schema))
    return frozenset(number for number in columns if file.schema.column(number).physical_type == _INT96)


def _leaves(kind: pa.DataType) -> Sequence[pa.DataType]:
    """Return the types of a column's leaves, in the order in which Parquet stores them."""
    if pat.is_struct(kind):
        return [leaf for field in kind for leaf in _leaves(field.type)]
    if pat.is_map(kind):
        return [*_leaves(kind.key_type), *_leaves(kind.item_type)]
    if pat.is_list(kind) or pat.is_large_list(kind) or pat.is_fixed_size_list(kind):
        return _leaves(kind.value_type)
    return [kind]


def _converted_type(kind: pa.DataType, position: int, int96: frozenset[int]) -> pa.DataType:
    if int96.isdisjoint(range(position, position + len(_leaves(kind)))):
        return kind
    if pat.is_struct(kind):
        fields = []
        for field in kind:
            fields.append(field.with_type(_converted_type(field.type, position, int96)))
            position += len(_leaves(field.type))
        return pa.struct(fields)
    if pat.is_map(kind):
        value = position + len(_leaves(kind.key_type))
        key_field = kind.key_field.with_type(_converted_type(kind.key_type, position, int96))
        return pa.map_(key_field, kind.item_field.with_type(_converted_type(kind.item_type, value, int96)))
    if pat.is_list(kind):
        return pa.list_(kind.value_field.with_type(_converted_type(kind.value_type, position, int96)))
    return pa.timestamp("us", "UTC")


def _with_offsets(array: pa.Array, kind: pa.DataType, items: pa.Array) -> pa.Array:
    """Return a list or map of type *kind* with other *items* and the offsets of *array*."""
    buffers = array.buffers()
    return pa.Array.from_buffers(kind, len(array), buffers[:2], offset=array.offset, children=[items])


def _zone(name: str | None, path: str) -> LegacyZone:
    if name is None:
        raise DataError(
            f"column {path} has times before 1900 in the legacy calendar, in a time zone that the footer does not "
            f"name ({ZONE.decode()}): write the file again with Spark",
            column=path,
        )
    zone = legacy_zone(name)
    if zone is None:
        raise UnsupportedFeatureError(
            f"column {path}: expected times before 1900 in the Gregorian calendar, or in a time zone that Spark has a "
            f"table of, found them in the legacy calendar of {name}, whose offsets of that time only Java knows; write "
            "the file again with Spark, with spark.sql.parquet.datetimeRebaseModeInWrite=CORRECTED",
            feature=f"the legacy calendar of {name}",
        )
    return zone
