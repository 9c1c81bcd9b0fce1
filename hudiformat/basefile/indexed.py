"""What a write collects of each file that it makes, for the indexes of the metadata table.  Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from hudiformat.basefile.statistics import ColumnStatistics, StatisticsCollector


@dataclass(frozen=True, slots=True)
class Indexes:
    """What the metadata table of a table keeps: the statistics of ``columns``, bloom filters, record keys."""

    columns: tuple[str, ...] = ()
    filters: bool = False
    keys: bool = False

    def are_in(self, others: Indexes | None) -> bool:
        """Whether *others* keep all that these do."""
        if others is None:
            return not self
        columns = set(self.columns) <= set(others.columns)
        return columns and self.filters <= others.filters and self.keys <= others.keys

    def __bool__(self) -> bool:
        return bool(self.columns) or self.filters or self.keys


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """What the indexes of the metadata table keep of a file that a write has made.

    ``columns`` are the statistics of its columns, ``bloom_filter`` is that of a base file, as its footer has it, with
    the type ``bloom_type``.
    ``keys`` are the record keys that are in the file group now, as far as they may not have been before, and
    ``dropped`` those that are in it no more.
    """

    columns: Mapping[str, ColumnStatistics] = field(default_factory=dict)
    bloom_filter: str | None = None
    keys: pa.Array | None = None
    dropped: pa.Array | None = None
    bloom_type: str = "SIMPLE"


class FileIndexer:
    """Collects what *indexes* keep of a file whose rows have *schema*, meta fields included."""

    def __init__(self, indexes: Indexes, schema: pa.Schema) -> None:
        self._indexes = indexes
        self._statistics = StatisticsCollector(indexes.columns, schema)
        self._keys: list[pa.Array] = []
        self._dropped: list[pa.Array] = []

    def add(self, rows: pa.Table | pa.RecordBatch) -> None:
        """Count the values of *rows*."""
        self._statistics.add(rows)

    def add_keys(self, keys: pa.Array | pa.ChunkedArray) -> None:
        """Take record keys that are in the file group now."""
        if self._indexes.keys:
            self._keys += _chunks(keys)

    def drop_keys(self, keys: pa.Array | pa.ChunkedArray) -> None:
        """Take record keys that are in it no more."""
        if self._indexes.keys:
            self._dropped += _chunks(keys)

    def __add__(self, other: FileIndexer) -> FileIndexer:
        """What is collected of the rows of both."""
        self._statistics += other._statistics
        self._keys += other._keys
        self._dropped += other._dropped
        return self

    def finish(
        self, *, sizes: Mapping[str, tuple[int, int]] | None = None, bloom_filter: str | None = None
    ) -> IndexedFile:
        """All that was collected; *sizes* of columns and *bloom_filter* are those of a base file."""
        return IndexedFile(
            self._statistics.finish(sizes),
            bloom_filter if self._indexes.filters else None,
            _joined(self._keys) if self._indexes.keys else None,
            _joined(self._dropped) if self._indexes.keys else None,
        )


def _chunks(keys: pa.Array | pa.ChunkedArray) -> Sequence[pa.Array]:
    return keys.chunks if isinstance(keys, pa.ChunkedArray) else [keys]


def _joined(keys: Sequence[pa.Array]) -> pa.Array:
    return pa.chunked_array([key.cast(pa.string()) for key in keys], pa.string()).combine_chunks()
