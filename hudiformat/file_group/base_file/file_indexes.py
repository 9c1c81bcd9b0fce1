"""Collect what the indexes of the metadata table need to know of each file that a write makes.  Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.codec.statistics import StatisticsCollector
from hudiformat.file_group.base_file.expressions import ExpressionCollector, IndexedExpression
from hudiformat.schema.meta_fields import RECORD_KEY
from hudiformat.timeline.indexed_file import IndexedFile


@dataclass(frozen=True, slots=True)
class Indexes:
    """Which indexes the metadata table of a table has.

    ``columns`` are the columns with statistics, and ``values`` those with a secondary index, by dotted
    paths.  ``filters`` is true if there are bloom filters, ``keys`` if there is a record index.
    """

    columns: tuple[str, ...] = ()
    filters: bool = False
    keys: bool = False
    values: tuple[str, ...] = ()
    expressions: tuple[IndexedExpression, ...] = ()

    def is_subset_of(self, others: Indexes | None) -> bool:
        """Return whether *others* include all of these indexes; None means that there are no others."""
        if others is None:
            return not self
        columns = set(self.columns) <= set(others.columns) and set(self.values) <= set(others.values)
        kept = columns and set(self.expressions) <= set(others.expressions)
        return kept and self.filters <= others.filters and self.keys <= others.keys

    def __bool__(self) -> bool:
        return bool(self.columns or self.filters or self.keys or self.values or self.expressions)


class FileIndexer:
    """Collect what *indexes* keep of a file whose rows have *schema*, meta fields included."""

    def __init__(self, indexes: Indexes, schema: pa.Schema) -> None:
        self._indexes = indexes
        self._statistics = StatisticsCollector(indexes.columns, schema)
        self._expressions = ExpressionCollector(indexes.expressions, schema)
        self._keys: list[pa.Array] = []
        self._dropped: list[pa.Array] = []
        self._values: list[pa.Table] = []
        self._lost: list[pa.Table] = []
        self._touched: list[pa.Array] = []

    def add(self, rows: pa.Table | pa.RecordBatch) -> None:
        """Add the values of *rows* to the statistics."""
        self._statistics.add(rows)
        self._expressions.add(rows)

    def add_keys(self, keys: pa.Array | pa.ChunkedArray) -> None:
        """Add record keys that are in the file group after the write."""
        if self._indexes.keys:
            self._keys += _chunks(keys)

    def drop_keys(self, keys: pa.Array | pa.ChunkedArray) -> None:
        """Add record keys that are no longer in the file group after the write."""
        if self._indexes.keys:
            self._dropped += _chunks(keys)

    def add_values(self, rows: pa.Table | pa.RecordBatch) -> None:
        """Add rows that are in the file group after the write."""
        if self._indexes.values:
            self._values.append(indexed_values(rows, self._indexes.values))

    def drop_values(self, rows: pa.Table, at: pa.Array) -> None:
        """Add the rows at the indices *at* of *rows*, which are no longer in the file group after the write."""
        if self._indexes.values:
            self._lost.append(indexed_values(rows, self._indexes.values).take(at))

    def change_values(self, before: pa.Table, after: pa.Table) -> None:
        """Add rows, made by :func:`indexed_values`, that a log file may have changed: before and after the write."""
        self._lost.append(before)
        self._values.append(after)

    def add_log_keys(self, keys: pa.Array | pa.ChunkedArray) -> None:
        """Add record keys of what is written to a log file: the commit finds out later which rows it changes."""
        if self._indexes.values:
            self._touched += _chunks(keys)

    def __add__(self, other: FileIndexer) -> FileIndexer:
        """Return this indexer with all that *other* has collected added to it."""
        self._statistics += other._statistics
        self._expressions += other._expressions
        self._keys += other._keys
        self._dropped += other._dropped
        self._values += other._values
        self._lost += other._lost
        self._touched += other._touched
        return self

    def finish(
        self, *, sizes: Mapping[str, tuple[int, int]] | None = None, bloom_filter: str | None = None
    ) -> IndexedFile:
        """Return all that was collected.

        *sizes* are the bytes of a base file's columns, in the file and uncompressed; *bloom_filter* is its filter's
        text.
        """
        return IndexedFile(
            self._statistics.finish(sizes),
            bloom_filter if self._indexes.filters else None,
            _concat_keys(self._keys) if self._indexes.keys else None,
            _concat_keys(self._dropped) if self._indexes.keys else None,
            pa.concat_tables(self._values) if self._values else None,
            pa.concat_tables(self._lost) if self._lost else None,
            _concat_keys(self._touched) if self._touched else None,
            self._expressions.finish(),
        )


def indexed_values(rows: pa.Table | pa.RecordBatch, columns: Sequence[str]) -> pa.Table:
    """Return the record keys of *rows*, and the *columns*, which are dotted paths."""
    return pa.table({RECORD_KEY: rows[RECORD_KEY], **{path: _column_at(rows, path) for path in columns}})


def _column_at(rows: pa.Table | pa.RecordBatch, path: str) -> pa.Array | pa.ChunkedArray:
    name, *inner = path.split(".")
    return pc.struct_field(rows[name], inner) if inner else rows[name]


def _chunks(keys: pa.Array | pa.ChunkedArray) -> Sequence[pa.Array]:
    return keys.chunks if isinstance(keys, pa.ChunkedArray) else [keys]


def _concat_keys(keys: Sequence[pa.Array]) -> pa.Array:
    return pa.chunked_array([key.cast(pa.string()) for key in keys], pa.string()).combine_chunks()
