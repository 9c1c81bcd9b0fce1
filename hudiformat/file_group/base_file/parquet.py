"""Parquet as the format of base files: how a file is opened, what its footer says, and how one is written.

Source: HoodieAvroParquetReader, HoodieRowParquetWriteSupport, Hudi 1.2.0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as pat

from hudiformat.codec.log.content.parquet_data import AVRO_SCHEMA_KEY
from hudiformat.codec.parquet.dates import StoredDates, open_parquet
from hudiformat.codec.parquet.rows import add_constants, batches_without_columns, constant_columns, read_batches
from hudiformat.codec.parquet.source import MAGIC
from hudiformat.codec.parquet.thrift import decode_length
from hudiformat.codec.statistics import ColumnStatistics, kind_of, loosen_ancient, shorten_bounds
from hudiformat.errors import CorruptTableError, DecodeError, HudiFormatError
from hudiformat.file_group.base_file.bloom import BLOOM_FILTER
from hudiformat.file_group.base_file.filters import HIGHEST, FileFilter
from hudiformat.file_group.base_file.parquet_writer import ParquetBaseFileWriter
from hudiformat.file_group.base_file.row_groups import NEVER_FULL, NewFile
from hudiformat.storage.protocol import OutputFile, Storage
from hudiformat.wire import check_row_count

_ROWS_PER_BYTE, _FEW_ROWS = 16, 100_000
_LARGE_FOOTER = 1 << 16
"""The bloom filter of a footer of so many bytes is read if it is asked for; it begins among the first so many bytes."""
_BINARY = b"\x18"
"""The head of a text in Thrift's compact protocol, one field after the last; its length and its bytes follow."""
_FILTER = _BINARY + bytes([len(BLOOM_FILTER)]) + BLOOM_FILTER.encode() + _BINARY
"""What stands before the length of the bloom filter: its key, and the head of its text."""


class ParquetFormat:
    """Base files in Parquet; see ``hudiformat.file_group.base_file.format.BaseFileFormat``."""

    extension = "parquet"
    schema_key = AVRO_SCHEMA_KEY
    never_full = NEVER_FULL

    @contextmanager
    def open(self, storage: Storage, path: str) -> Iterator[ParquetBaseFile]:
        """Open the base file at *path* for the body, in which damage raises the same errors.

        Raises:
            CorruptTableError: the file is not a Parquet file, has impossible row counts, or the body found damage in
                it.
            StorageError: the file cannot be read.
        """
        source = storage.open_input(path)
        lean = _metadata_without_filter(source) if isinstance(source, pa.BufferReader) else None
        is_far = not isinstance(source, pa.BufferReader)
        # pre_buffer: neighbouring columns are fetched in one request
        with convert_read_errors(path), source, open_parquet(source, pre_buffer=is_far, metadata=lean) as file:
            opened = ParquetBaseFile(path, source, file, is_lean=lean is not None)
            rows = file.metadata.num_rows
            check_row_count(rows, opened.group_rows, source.size(), per_byte=_ROWS_PER_BYTE, few=_FEW_ROWS)
            yield opened

    def unwritable(self, schema: pa.Schema) -> dict[str, str]:  # noqa: ARG002 - of BaseFileFormat
        """Return no columns: Parquet has a type for each of Avro's."""
        return {}

    def writer(self, file: OutputFile, new: NewFile) -> ParquetBaseFileWriter:
        """Return a writer of *new* into *file*."""
        return ParquetBaseFileWriter(file, new)


PARQUET = ParquetFormat()


@dataclass(frozen=True)
class ParquetBaseFile:
    """An open Parquet file; see ``hudiformat.file_group.base_file.format.StoredFile``."""

    path: str
    source: pa.NativeFile
    file: pq.ParquetFile
    is_lean: bool = False
    """Whether *file* was opened without the text of the bloom filter."""

    @property
    def size(self) -> int:
        """The bytes of the file."""
        return int(self.source.size())

    @property
    def schema(self) -> pa.Schema:
        """The columns of the file."""
        return self.dates.schema

    @cached_property
    def dates(self) -> StoredDates:
        """How the file stores dates and times."""
        return StoredDates.of(self.file)

    @cached_property
    def footer(self) -> Mapping[bytes, bytes] | None:
        """The texts of the footer."""
        whole = pq.read_metadata(self.source) if self.is_lean else self.file.metadata
        found: Mapping[bytes, bytes] | None = whole.metadata
        return found

    @cached_property
    def group_rows(self) -> list[int]:
        """The number of rows of each row group."""
        metadata = self.file.metadata
        return [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]

    def batches(
        self, names: Sequence[str], *, groups: Sequence[int] | None = None, batch_rows: int
    ) -> Iterator[pa.RecordBatch]:
        """Yield the columns *names* of the row groups *groups*, or of all, at most *batch_rows* rows at a time."""
        with convert_read_errors(self.path):  # the caller may read outside of the body
            chosen = range(self.file.num_row_groups) if groups is None else groups
            constants = constant_columns(self.file, names, chosen)
            read = [name for name in names if name not in constants]
            if read:
                batches = read_batches(self.file, batch_rows, columns=read, groups=chosen, dates=self.dates)
            else:  # pyarrow 19 cannot read batches without columns
                batches = batches_without_columns(sum(self.group_rows[number] for number in chosen), batch_rows)
            yield from add_constants(batches, names, constants) if constants else batches

    def groups_that_match(self, filter: FileFilter) -> list[int] | None:
        """Return the row groups whose statistics allow a match of *filter*; None if they rule out none."""
        if filter.matches_nan or not self.dates.columns.isdisjoint(filter.columns.names):
            return None
        if filter.comparisons and not any(
            filter.may_match_within(partial(self._bounds, group)) for group in range(len(self.group_rows))
        ):
            return []  # the usual case in a table of many files, which costs less than asking Arrow
        import pyarrow.dataset as ds  # noqa: PLC0415 - it imports pandas where there is one: half a second

        try:
            fragment = ds.ParquetFileFormat().make_fragment(self.source)
            return [group.id for group in fragment.subset(filter.condition, schema=self.schema).row_groups]
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return None  # values that Arrow cannot compare

    def _bounds(self, group: int, name: str) -> tuple[Any, Any] | None:
        """Return the lowest and the highest value of a column in a row group; None if they are not known."""
        kind, found = self._chunk_statistics(group, name)
        if kind is None or found is None or not (pat.is_signed_integer(kind) or pat.is_string(kind)):
            return None
        return (found.min, found.max) if found.has_min_max else None

    def highest(self, group: int, field: pa.Field) -> int:
        """See ``StoredFile``."""
        kind, found = self._chunk_statistics(group, field.name)
        if kind is None or found is None or not (found.has_min_max and found.has_null_count) or found.null_count:
            return HIGHEST
        is_integer = pat.is_signed_integer(kind) and pat.is_signed_integer(field.type)
        is_time = kind == field.type and (pat.is_timestamp(kind) or pat.is_date32(kind))
        return int(found.max_raw) if is_integer or (is_time and field.name not in self.dates.columns) else HIGHEST

    def _chunk_statistics(self, group: int, name: str) -> tuple[pa.DataType | None, Any]:
        """Return the type of a column and its statistics in a row group, None if there are none."""
        # Not self.schema: the texts of the footer, which it asks for, take as long as the whole footer.
        metadata, schema = self.file.metadata, self.file.schema_arrow
        position = schema.get_field_index(name)
        if position < 0 or metadata.num_columns != len(schema):  # with nested columns, leaves have other numbers
            return None, None
        return schema.field(position).type, metadata.row_group(group).column(position).statistics

    def statistics(
        self, schema: pa.Schema, columns: Sequence[str]
    ) -> tuple[dict[str, ColumnStatistics], tuple[str, ...]]:
        """Return the statistics of *columns* that can be trusted, and the columns of the file without such statistics.

        Statistics are not trusted if they are of floating-point numbers (their bounds leave out NaN), of dates in the
        legacy calendar, or if the type of the column in *schema* differs from its type in the file.
        """
        chunks = _chunks(self.file.metadata)
        converted = self.dates.columns
        known: dict[str, ColumnStatistics] = {}
        unknown: list[str] = []
        for name in columns:
            kind = kind_of(schema, name)
            if kind is None or kind_of(self.schema, name) is None:
                continue
            is_as_read = kind_of(self.schema, name) == kind and converted.isdisjoint((name, name.partition(".")[0]))
            found = _sum_statistics(chunks.get(name, []), kind) if is_as_read else None
            if found is None:
                unknown.append(name)
            else:
                known[name] = found
        return known, tuple(unknown)

    @property
    def column_sizes(self) -> dict[str, tuple[int, int]]:
        """The bytes of each column in the file, by its path, and its bytes uncompressed."""
        return {name: _sum_sizes(found) for name, found in _chunks(self.file.metadata).items()}


def _metadata_without_filter(source: pa.BufferReader) -> pq.FileMetaData | None:
    """Return the metadata of a Parquet file in memory without the text of its bloom filter; None if it has to be read.

    The filter of 100,000 keys has 830 KB, and Arrow copies it several times: a third of the time in which such a file
    is opened and one column is read.  The footer without it::

        schema, row groups | key | length, text of the filter | other texts     a length is a number like Avro's
        schema, row groups | key | 0                          | other texts

    If the key stands there by chance, as in another text, what is left is no footer any more.
    """
    size = source.size()
    source.seek(max(size - 8, 0))
    length, magic = int.from_bytes(source.read(4), "little"), source.read(4)
    if magic != MAGIC or not _LARGE_FOOTER <= length <= size - 8 - len(MAGIC):
        return None
    source.seek(size - 8 - length)
    head = source.read(_LARGE_FOOTER)
    at = head.find(_FILTER) + len(_FILTER)
    if at < len(_FILTER):
        return None
    try:
        text, end = decode_length(head, at)
        after = length - end - text
        if not 0 <= after <= _LARGE_FOOTER:
            return None
        source.seek(size - 8 - after)
        lean = head[:at] + b"\x00" + source.read(after)
        return pq.read_metadata(pa.BufferReader(MAGIC + lean + len(lean).to_bytes(4, "little") + MAGIC))
    except (DecodeError, pa.ArrowException, OSError, ValueError):
        return None


@contextmanager
def convert_read_errors(path: str) -> Iterator[None]:
    """Convert the exceptions that pyarrow raises for damage in the file at *path* to a CorruptTableError."""
    try:
        yield
    except HudiFormatError:  # raised by the code that reads the rows; some of them are also a ValueError
        raise
    except (pa.ArrowException, OSError, ValueError) as error:  # pyarrow raises all of them for damage
        raise CorruptTableError(f"{path}: not a readable base file: {error}", path=path) from error


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
    return shorten_bounds(lower.decode(), upper.decode()) if pat.is_string(kind) else loosen_ancient(kind, lower, upper)
