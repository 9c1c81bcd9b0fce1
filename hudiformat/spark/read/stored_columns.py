"""Base files whose rows a query returns as they are stored, so that any Parquet reader can read them."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from hudiformat.file_group.base_file.parquet import PARQUET
from hudiformat.file_group.damage import DamageMode
from hudiformat.file_group.reader import SliceReader
from hudiformat.file_group.renamed_columns import stored_schema_of
from hudiformat.file_group.slices import FileSlice
from hudiformat.naming.file_names import join_path
from hudiformat.schema.partition_columns import cast_text
from hudiformat.storage.protocol import Storage


def stored_columns(
    reader: SliceReader, storage: Storage, file_slice: FileSlice, columns: Sequence[str]
) -> pa.Schema | None:
    """Return the stored columns of a slice's base file, if a query of *columns* returns the same names and values.

    A column that the file lacks, which is null in the query, is left out; types may differ from the query's.  The
    result is None if the file alone is not enough: columns have been renamed, or partition columns come from the path.
    Log files are ignored.

    Raises:
        CorruptTableError: the base file is no Parquet file.
        StorageError: the base file cannot be read.
    """
    if file_slice.base_file is None or reader.damage is DamageMode.SKIP:
        return None
    path = join_path(file_slice.partition_path, str(file_slice.base_file.name))
    shown = reader.project(columns)
    if stored_schema_of(path, shown, reader.history) is not None or reader.partition_columns.as_text & {*columns}:
        return None
    with PARQUET.open(storage, path) as base:
        stored, file = base.schema, base.file
        there = set(stored.names)
        if any(not shown.field(name).nullable for name in columns if name not in there):
            return None
        if not _has_values_of_path(reader, file, file_slice.partition_path, shown):
            return None
        return pa.schema([stored.field(name) for name in columns if name in there])


def _has_values_of_path(reader: SliceReader, file: pq.ParquetFile, partition_path: str, shown: pa.Schema) -> bool:
    """Return whether each partition column of *shown* has the value of the path in all rows of the file."""
    partition_columns = reader.partition_columns
    texts = dict(zip(partition_columns.fields, partition_columns.texts(partition_path), strict=True))
    wanted = set(partition_columns.from_path).intersection(shown.names)
    if not wanted:
        return True
    metadata = file.metadata
    numbers = {metadata.schema.column(number).path: number for number in range(metadata.num_columns)}
    return all(
        name in numbers and _is_constant(metadata, numbers[name], cast_text(texts[name], shown.field(name).type))
        for name in wanted
    )


def _is_constant(metadata: pq.FileMetaData, number: int, value: pa.Scalar) -> bool:
    """Return whether a column has *value* in every row, by the statistics of its row groups."""
    for group in range(metadata.num_row_groups):
        statistics = metadata.row_group(group).column(number).statistics
        if statistics is None or not statistics.has_null_count:
            return False
        if value.is_valid:
            alike = statistics.has_min_max and statistics.min == statistics.max == value.as_py()
            if statistics.null_count or not alike:
                return False
        elif statistics.num_values:
            return False
    return True
