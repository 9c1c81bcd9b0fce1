"""Read the statistics of columns in the footer of a base file, as far as they can be trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as pat

from hudiformat.codec.statistics import ColumnStatistics, kind_of, shorten_bounds
from hudiformat.file_group.base_file.file_keys import FileKeys
from hudiformat.file_group.base_file.read import open_base_file
from hudiformat.storage.protocol import Storage


@dataclass(frozen=True, slots=True)
class Footer:
    """The contents of a base file's footer.

    ``columns`` are the statistics of columns by name.  ``unknown`` are the columns of the file without statistics that
    can be trusted.  ``sizes`` are, by the column's path, the bytes of each column in the file, and its bytes
    uncompressed.
    """

    rows: int
    keys: FileKeys
    columns: Mapping[str, ColumnStatistics]
    unknown: tuple[str, ...]
    sizes: Mapping[str, tuple[int, int]]


def read_footer(storage: Storage, path: str, schema: pa.Schema, columns: Sequence[str]) -> Footer:
    """Read the statistics of *columns*, of a table whose rows have *schema*, in the base file at *path*.

    A name with dots names a nested field.  Columns that the file does not have are left out.  Statistics are not
    trusted, and the column is ``unknown``, if they are of floating-point numbers (their bounds leave out NaN), or if
    the type of the column in the table differs from its type in the file.

    Raises:
        CorruptTableError: the file is not a Parquet file.
        StorageError: the file cannot be read.
    """
    with open_base_file(storage, path) as file:
        chunks = _chunks(file.metadata)
        stored = file.schema_arrow
        known: dict[str, ColumnStatistics] = {}
        unknown: list[str] = []
        for name in columns:
            kind = kind_of(schema, name)
            if kind is None or kind_of(stored, name) is None:
                continue
            found = _sum_statistics(chunks.get(name, []), kind) if kind_of(stored, name) == kind else None
            if found is None:
                unknown.append(name)
            else:
                known[name] = found
        return Footer(
            rows=file.metadata.num_rows,
            keys=FileKeys.of(file.metadata.metadata),
            columns=known,
            unknown=tuple(unknown),
            sizes={name: _sum_sizes(found) for name, found in chunks.items()},
        )


def _chunks(metadata: pq.FileMetaData) -> dict[str, list[Any]]:
    """Return the chunks of each column, one for each row group, by the column's path."""
    found: dict[str, list[Any]] = {}
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for column in range(group.num_columns):
            chunk = group.column(column)
            found.setdefault(chunk.path_in_schema, []).append(chunk)
    return found


def _sum_sizes(chunks: Sequence[Any]) -> tuple[int, int]:
    """Return the bytes of the chunks of one column in the file, and their bytes uncompressed."""
    return (
        sum(chunk.total_compressed_size for chunk in chunks),
        sum(chunk.total_uncompressed_size for chunk in chunks),
    )


def _sum_statistics(chunks: Sequence[Any], kind: pa.DataType) -> ColumnStatistics | None:
    """Return the statistics of a column over all row groups; None if those of a row group are missing or incomplete."""
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
    """Return whether Parquet stores the type as a whole number, in the unit of the type."""
    return bool(pat.is_int32(kind) or pat.is_int64(kind) or pat.is_date32(kind) or pat.is_timestamp(kind))


def _bounds(statistics: Any, kind: pa.DataType) -> tuple[Any, Any]:
    """Return the lower and the upper bound of a chunk, as :class:`ColumnStatistics` keeps them."""
    lower, upper = statistics.min_raw, statistics.max_raw
    return shorten_bounds(lower.decode(), upper.decode()) if pat.is_string(kind) else (lower, upper)
