"""Write a base file in row groups: rows wait in memory until they are one, and the size of the file is estimated."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from hudiformat.codec.avro.arrays import rows_within
from hudiformat.file_group.base_file.bloom import BLOOM_FILTER
from hudiformat.file_group.base_file.file_indexes import FileKeys, footer_of, key_range_of
from hudiformat.schema.meta_fields import RECORD_KEY
from hudiformat.storage.protocol import OutputFile
from hudiformat.storage.streams import ArrowSink
from hudiformat.storage.threads import NO_THREADS, WorkThreads

NEVER_FULL = 100
"""A file with fewer rows is never full (ParquetProperties.DEFAULT_MINIMUM_RECORD_COUNT_FOR_CHECK)."""
_LEAST_SHARE = 0.25
"""Until a row group is written, a byte of rows in memory is assumed to take at least this many bytes in the file."""
_LEAST_MEASURED = 1e-6
_LARGEST_GROUP = 1.5
"""Rows of up to this many times the row group size are one row group: the rest would be a very small row group."""
_UNUSED_SHARE = 0.02
"""A file is full if less than this share of its size is left: a row group of the rest would be too small."""


@dataclass(frozen=True, kw_only=True)
class NewFile:
    """What a new base file is to have: rows with ``schema``, meta fields included, which is ``avro_schema`` in Avro.

    ``compression`` is a name of Arrow's.  ``row_size`` is the assumed size of a row in the file, in bytes, until it can
    be measured.  Row groups have about ``row_group_size`` bytes.  Without ``has_keys``, rows and footer have no record
    keys.  ``threads`` that are free help to encode.
    """

    schema: pa.Schema
    avro_schema: str
    compression: str
    bloom_filter: bool = True
    has_keys: bool = True
    row_size: int = 1024
    row_group_size: int = 16 * 1024 * 1024
    threads: WorkThreads = NO_THREADS


class RowGroupWriter(ABC):
    """Write a base file; the rows of a row group, or of two, and the record keys of the file are in memory.

    Rows that wait in memory are assumed to take as many bytes of the file per byte of memory
    as the rows that were written before.  A format writes groups of rows, and at the end the texts of its footer: the
    range of the record keys and, if the file is to have it, their bloom filter.
    """

    def __init__(self, file: OutputFile, new: NewFile) -> None:
        self._target = ArrowSink(file)
        self._sink = self._target.stream()
        self._new = new
        self._keys: list[pa.Array] = []
        self._unwritten: list[pa.Table] = []
        self._written_rows = 0
        self._written_bytes = 0
        self.rows = 0
        self.waiting_bytes = 0
        self.bloom_filter: str | None = None
        """The bloom filter of the closed file, as its footer has it; None if it has none."""

    @abstractmethod
    def _write_group(self, group: pa.Table, size: int, *, ahead: bool) -> None:
        """Encode *group*, of *size* bytes in memory, as the next row group of the file.

        If *ahead*, more rows are likely to come, and it may be encoded until :meth:`_add_begun`, as one of ``_ahead``.
        """

    @abstractmethod
    def _finish(self, footer: Mapping[str, str]) -> int:
        """Write the footer with the texts *footer*, close the file, and return its size in bytes."""

    @property
    @abstractmethod
    def column_sizes(self) -> dict[str, tuple[int, int]]:
        """The bytes of each column of the closed file, by its path, and the same uncompressed."""

    def write(self, rows: pa.Table, *, size: int | None = None) -> None:
        """Add *rows*, which have the meta fields, and write the row groups that are full.

        *size* is the bytes of *rows* in memory, about, if the caller knows it of many files: adding up the buffers of
        all columns takes a tenth of the time of a file of few rows.
        """
        self._unwritten.append(rows)
        self.rows += rows.num_rows
        self.waiting_bytes += rows.nbytes if size is None else size
        if self._in_file(self.waiting_bytes) >= self._new.row_group_size:
            self._write_waiting(more=True)

    def flush(self) -> None:
        """Write the rows that have been added and not written yet."""
        if self._unwritten:
            self._write_waiting(more=False)
        self._add_begun()

    def _write_waiting(self, *, more: bool) -> None:
        rest, size = pa.concat_tables(self._unwritten), self.waiting_bytes
        self._unwritten, self.waiting_bytes = [], 0
        while rest.num_rows:
            count = self._group_rows(rest, size)
            group, rest = rest.slice(0, count), rest.slice(count)
            self._keys += group[RECORD_KEY].chunks if self._new.has_keys else []
            of_group = group.nbytes if rest.num_rows else size
            self._write_group(group, of_group, ahead=more or rest.num_rows > 0)
            self._written_rows += count
            self._written_bytes += of_group
            size = rest.nbytes if rest.num_rows else 0

    def _add_begun(self) -> None:  # noqa: B027 - a format may write each row group at once
        """Wait until all row groups so far are in the file."""

    @property
    def _ahead(self) -> tuple[int, int]:
        """The rows of row groups that are not in the file yet, and their bytes in memory."""
        return 0, 0

    @property
    def data_size(self) -> float:
        """The bytes of the rows in the file, without its footer; those of rows in memory are estimated."""
        rows, size = self._ahead
        rows, size = rows + self.rows - self._written_rows, size + self.waiting_bytes
        return self._stored_bytes + size * self._share(size, rows)

    def is_full(self, size: int) -> bool:
        """Return whether the file is full: *size* is its limit in bytes of rows.  A file of few rows is never full.

        Source: HoodieBaseParquetWriter.canWrite, Hudi 1.2.0.
        """
        if self.rows < NEVER_FULL:
            return False
        return self.data_size > size - max(2 * self.data_size / self.rows, size * _UNUSED_SHARE)

    def rows_before(self, size: int, rows: pa.Table) -> int:
        """Return how many of the first *rows*, at least one, to write before the next call of :meth:`is_full`.

        They end with the row group, because sizes can be measured again after it.

        Source: HoodieBaseParquetWriter.canWrite, which counts rows from one check to the next; Hudi 1.2.0.
        """
        room = min(size - self.data_size, self._new.row_group_size - self._in_file(self.waiting_bytes))
        fitting = rows_within(rows, room / self._share(rows.nbytes, rows.num_rows))
        return min(max(fitting + 1, NEVER_FULL - self.rows), len(rows))

    def close(
        self, *, own: FileKeys | None = None, known: FileKeys | None = None, added: pa.Array | None = None
    ) -> int:
        """Write the remaining rows and the footer; return the size of the file in bytes.

        *own* are the keys of this file, if they are known already.  *known* are those of another file, which has all
        record keys of this one but those *added*: its bloom filter is used again.
        """
        self.flush()
        footer = self._footer(own, known, added)
        self.bloom_filter = footer.get(BLOOM_FILTER)
        return self._finish(footer)

    def abandon(self) -> None:
        """Release the file without writing anything more; rows that are still in memory are lost."""
        self._target.is_open = False

    def _group_rows(self, table: pa.Table, size: int) -> int:
        """Return how many of the first rows of *table*, which has *size* bytes, are the next row group."""
        share = self._share(size, table.num_rows)
        if size * share <= self._new.row_group_size * _LARGEST_GROUP:
            return int(table.num_rows)
        return max(rows_within(table, self._new.row_group_size / share), 1)

    def _in_file(self, waiting: int) -> float:
        """Return the estimated bytes in the file of the *waiting* bytes in memory."""
        return waiting * self._share(waiting, self.rows - self._written_rows)

    @property
    def _stored_bytes(self) -> float:
        """The bytes of the file so far."""
        return float(self._sink.tell())

    @property
    def _encoded_bytes(self) -> float:
        """The bytes of the row groups that were encoded so far."""
        return self._stored_bytes

    def _share(self, in_memory: int, rows: int) -> float:
        """Return the bytes in the file per byte in memory, of *rows* that have *in_memory* bytes there."""
        if measured := self._written_bytes - self._ahead[1]:
            return max(self._encoded_bytes / measured, _LEAST_MEASURED)
        return min(max(self._new.row_size * rows / max(in_memory, 1), _LEAST_SHARE), 1.0)

    def _footer(self, own: FileKeys | None, known: FileKeys | None, added: pa.Array | None) -> dict[str, str]:
        if not self._new.has_keys:
            return footer_of(FileKeys(None, None))
        return footer_of(self._find_keys(known, added) if own is None else own)

    def _find_keys(self, known: FileKeys | None, added: pa.Array | None) -> FileKeys:
        keys = pa.chunked_array(self._keys, pa.string()).combine_chunks()
        if not self._new.bloom_filter:
            return FileKeys(key_range_of(keys), None)
        text = None if known is None else known.filter_of(len(keys), added)
        return FileKeys.of_keys(keys) if text is None else FileKeys(key_range_of(keys), text)
