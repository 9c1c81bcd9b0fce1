"""The statistics of columns in the footer of a base file, as far as they can be trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as pat

from hudiformat.codec.statistics import ColumnStatistics, kind_of, shortened
from hudiformat.file_group.base_file.file_keys import FileKeys
from hudiformat.file_group.base_file.read import opened_base_file
from hudiformat.storage.protocol import Storage


@dataclass(frozen=True, slots=True)
class Footer:
    """What the footer of a base file says.

    ``columns`` are the statistics of columns; ``unknown`` are the columns of the file of which it has none that can be
    trusted.  ``sizes`` are the bytes of each column, and the same uncompressed, by the column's path.
    """

    rows: int
    keys: FileKeys
    columns: Mapping[str, ColumnStatistics]
    unknown: tuple[str, ...]
    sizes: Mapping[str, tuple[int, int]]


def read_footer(storage: Storage, path: str, schema: pa.Schema, columns: Sequence[str]) -> Footer:
    """Read the statistics of *columns*, of a table whose rows have *schema*, in the base file at *path*.

    A name with dots is that of a nested field.  Columns that the file has not are left out.  Not trusted are bounds of
    floating-point numbers, as a NaN is in none of them, and bounds of a type that is not the column's by now.

    Raises:
        CorruptTableError: the file is not a Parquet file.
        StorageError: the file cannot be read.
    """
    with opened_base_file(storage, path) as file:
        chunks = _chunks(file.metadata)
        stored = file.schema_arrow
        known: dict[str, ColumnStatistics] = {}
        unknown: list[str] = []
        for name in columns:
            kind = kind_of(schema, name)
            if kind is None or kind_of(stored, name) is None:
                continue
            found = _statistics(chunks.get(name, []), kind) if kind_of(stored, name) == kind else None
            if found is None:
                unknown.append(name)
            else:
                known[name] = found
        return Footer(
            rows=file.metadata.num_rows,
            keys=FileKeys.of(file.metadata.metadata),
            columns=known,
            unknown=tuple(unknown),
            sizes={name: _sizes(found) for name, found in chunks.items()},
        )


def _chunks(metadata: pq.FileMetaData) -> dict[str, list[Any]]:
    """The chunks of each column, one for each row group, by the column's path."""
    found: dict[str, list[Any]] = {}
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for column in range(group.num_columns):
            chunk = group.column(column)
            found.setdefault(chunk.path_in_schema, []).append(chunk)
    return found


def _sizes(chunks: Sequence[Any]) -> tuple[int, int]:
    return (
        sum(chunk.total_compressed_size for chunk in chunks),
        sum(chunk.total_uncompressed_size for chunk in chunks),
    )


def _statistics(chunks: Sequence[Any], kind: pa.DataType) -> ColumnStatistics | None:
    """The statistics of a column; None where a row group has none that say all."""
    if not (pat.is_boolean(kind) or pat.is_string(kind) or _is_number(kind)):
        return None
    total = ColumnStatistics(kind)
    for chunk in chunks:
        found = chunk.statistics
        if found is None or not found.has_null_count:
            return None
        nulls, values = found.null_count, chunk.num_values
        if nulls < values and not found.has_min_max:
            return None
        lower, upper = _bounds(found, kind) if nulls < values else (None, None)
        total += ColumnStatistics(kind, lower, upper, values, nulls)
    return replace(total, kind=kind)


def _is_number(kind: pa.DataType) -> bool:
    """Whether Parquet stores the type as a whole number, in the unit of the type."""
    return bool(pat.is_int32(kind) or pat.is_int64(kind) or pat.is_date32(kind) or pat.is_timestamp(kind))


def _bounds(statistics: Any, kind: pa.DataType) -> tuple[Any, Any]:
    lower, upper = statistics.min_raw, statistics.max_raw
    return shortened(lower.decode(), upper.decode()) if pat.is_string(kind) else (lower, upper)
