"""The seam between base files and their format: what a format has to provide, and which formats there are.

A format is a module of this folder and a line in ``FORMATS``, and in ``WRITABLE_FORMATS`` if files are written in it.
Base files are read by :func:`format_of` and written by :func:`format_named`; what only Parquet can do (``copying``, and
Spark's own reader) asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import pyarrow as pa

from hudiformat.codec.statistics import ColumnStatistics
from hudiformat.errors import UnsupportedFeatureError
from hudiformat.file_group.base_file.file_indexes import FileKeys
from hudiformat.file_group.base_file.filters import FileFilter
from hudiformat.file_group.base_file.hfile import HFILE
from hudiformat.file_group.base_file.lance import LANCE
from hudiformat.file_group.base_file.orc import ORC
from hudiformat.file_group.base_file.parquet import PARQUET
from hudiformat.file_group.base_file.row_groups import NewFile
from hudiformat.storage.protocol import OutputFile, Storage
from hudiformat.timeline.table_config import TableConfig


class StoredFile(Protocol):
    """A base file that is open for reading; a format without row groups has one of all rows."""

    @property
    def size(self) -> int:
        """The bytes of the file."""

    @property
    def schema(self) -> pa.Schema:
        """The columns of the file."""

    @property
    def footer(self) -> Mapping[bytes, bytes] | None:
        """The texts of the footer: the Avro schema, the range of the record keys and their bloom filter."""

    @property
    def group_rows(self) -> Sequence[int]:
        """The number of rows of each row group."""

    def batches(
        self, names: Sequence[str], *, groups: Sequence[int] | None = None, batch_rows: int
    ) -> Iterator[pa.RecordBatch]:
        """Yield the columns *names* of the row groups *groups*, or of all, at most *batch_rows* rows at a time."""

    def groups_that_match(self, filter: FileFilter) -> Sequence[int] | None:
        """Return the row groups whose statistics allow a match of *filter*, whose columns the file has.

        None if they rule out none.
        """

    def highest(self, group: int, field: pa.Field) -> int:
        """Return the highest value of the column *field* in a row group, as the number that the file stores.

        HIGHEST if it is not known: the column has nulls or another type in the file, or numbers do not order it.
        """

    def statistics(
        self, schema: pa.Schema, columns: Sequence[str]
    ) -> tuple[Mapping[str, ColumnStatistics], tuple[str, ...]]:
        """Return the statistics of *columns* that can be trusted, and the columns of the file that have none."""

    @property
    def column_sizes(self) -> Mapping[str, tuple[int, int]]:
        """The bytes of each column in the file, by its path, and its bytes uncompressed."""


class BaseFileWriter(Protocol):
    """A base file that is being written."""

    rows: int
    waiting_bytes: int
    bloom_filter: str | None

    def write(self, rows: pa.Table, *, size: int | None = None) -> None:
        """Add *rows*, which have the meta fields, and write the row groups that are full.

        *size* is the bytes of *rows* in memory, about; it is asked of them if None.
        """

    def flush(self) -> None:
        """Write the rows that have been added and not written yet."""

    def is_full(self, size: int) -> bool:
        """Return whether the file is full: *size* is its limit in bytes of rows."""

    def rows_before(self, size: int, rows: pa.Table) -> int:
        """Return how many of the first *rows*, at least one, to write before the next call of :meth:`is_full`."""

    def close(
        self, *, own: FileKeys | None = None, known: FileKeys | None = None, added: pa.Array | None = None
    ) -> int:
        """Write the remaining rows and the footer; return the size of the file in bytes.

        *own* are the keys of this file, if they are known already.  *known* are those of another file, which has all
        record keys of this one but those *added*: its bloom filter is used again.
        """

    def abandon(self) -> None:
        """Release the file without writing anything more; rows that are still in memory are lost."""

    @property
    def column_sizes(self) -> dict[str, tuple[int, int]]:
        """The bytes of each column of the closed file, by its path, and the same uncompressed."""


class BaseFileFormat(Protocol):
    """One format of base files (``hoodie.table.base.file.format``)."""

    extension: str
    schema_key: str
    """The text of the footer that is the Avro schema of the rows, as JSON."""

    def open(self, storage: Storage, path: str) -> AbstractContextManager[StoredFile]:
        """Open the base file at *path* for the body, in which damage raises the same errors.

        Raises:
            CorruptTableError: the file is not of this format, or the body found damage in it.
            StorageError: the file cannot be read.
        """


class WritableFormat(BaseFileFormat, Protocol):
    """A format in which base files are written."""

    never_full: int
    """A file with fewer rows than this is never full."""

    def unwritable(self, schema: pa.Schema) -> Mapping[str, str]:
        """Return the columns of *schema* that Hudi could not read from a file of this format, and what they have."""

    def writer(self, file: OutputFile, new: NewFile) -> BaseFileWriter:
        """Return a writer of *new* into *file*."""


WRITABLE_FORMATS: Mapping[str, WritableFormat] = {"PARQUET": PARQUET, "ORC": ORC}
"""The formats in which base files are written, by their names in Hudi's table properties."""
FORMATS: Mapping[str, BaseFileFormat] = {**WRITABLE_FORMATS, "HFILE": HFILE, "LANCE": LANCE}
"""The formats that are read."""
_BY_EXTENSION = {one.extension: one for one in FORMATS.values()}


def format_named(name: str) -> WritableFormat:
    """Return the format with a name of ``hoodie.table.base.file.format``, in which files can be written."""
    return WRITABLE_FORMATS[name]


def format_of(path: str) -> BaseFileFormat:
    """Return the format of the base file at *path*, by its extension."""
    return _BY_EXTENSION.get(path.rpartition(".")[2], PARQUET)


def refuse_unreadable(config: TableConfig) -> None:
    """Raise an UnsupportedFeatureError for a table whose rows cannot be read yet."""
    if config.base_file_format not in FORMATS:
        feature = f"base files of format {config.base_file_format}"
        raise UnsupportedFeatureError(
            f"the table {config.name!r}: expected files in {' or '.join(FORMATS)}, found {feature}, which cannot "
            "be read yet; read it with Hudi",
            feature=feature,
        )
