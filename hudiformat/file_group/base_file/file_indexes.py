"""Collect what the indexes of the metadata table need of each file that a write makes, and the keys in its footer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.codec.statistics import StatisticsCollector
from hudiformat.errors import CorruptTableError
from hudiformat.file_group.base_file.bloom import BLOOM_FILTER, BLOOM_FILTER_TYPE, BloomFilter, parse_filters
from hudiformat.file_group.base_file.expressions import ExpressionCollector, IndexedExpression
from hudiformat.schema.meta_fields import RECORD_KEY
from hudiformat.timeline.commit_metadata import IndexedFile

# Source: HoodieBloomFilterWriteSupport.
MIN_KEY = "hoodie_min_record_key"
MAX_KEY = "hoodie_max_record_key"

_BEYOND_UTF16_UNIT = 0xF0
"""The lowest first UTF-8 byte of a code point that takes two UTF-16 units."""

Booleans = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class FileKeys:
    """The range of a base file's record keys and their bloom filters; None for what the footer does not have.

    Source: BloomIndexFileInfo, HoodieKeyLookupHandle.
    """

    key_range: tuple[str, str] | None
    filter_text: str | None
    filter_type: str = "SIMPLE"

    @classmethod
    def of(cls, footer: Mapping[bytes, bytes] | None) -> FileKeys:
        """Return the key range and the filters of the key-value metadata of a footer."""
        names = (MIN_KEY, MAX_KEY, BLOOM_FILTER, BLOOM_FILTER_TYPE)
        values = {name: (footer or {}).get(name.encode()) for name in names}
        texts = {name: value.decode(errors="replace") for name, value in values.items() if value is not None}
        key_range = (texts[MIN_KEY], texts[MAX_KEY]) if MIN_KEY in texts and MAX_KEY in texts else None
        return cls(key_range, texts.get(BLOOM_FILTER), texts.get(BLOOM_FILTER_TYPE, "SIMPLE"))

    @classmethod
    def of_keys(cls, keys: pa.Array) -> FileKeys:
        """Return the key range and the filter of a file with *keys*."""
        return cls(key_range_of(keys), BloomFilter.of(keys).serialize())

    @classmethod
    def of_each(cls, keys: pa.Array, counts: Sequence[int], *, bloom_filter: bool) -> list[FileKeys]:
        """Return the keys of a file with the first ``counts[0]`` of *keys*, of one with the next ``counts[1]``, ...

        For many small files this takes a fraction of the time of as many calls of :meth:`of_keys`.
        """
        filters = (
            [one.serialize() for one in BloomFilter.of_each(keys, counts)] if bloom_filter else [None] * len(counts)
        )
        return [cls(bounds, text) for bounds, text in zip(_ranges_of(keys, counts), filters, strict=True)]

    @cached_property
    def filters(self) -> tuple[BloomFilter, ...] | None:
        """The filters, or None if the footer has none that is intact and of a known type."""
        try:
            return None if self.filter_text is None else parse_filters(self.filter_text, self.filter_type)
        except CorruptTableError:
            return None

    def filter_of(self, count: int, added: pa.Array | None = None) -> str | None:
        """Return the text of the filter, with the keys *added*, if it fits a file of *count* keys.

        The file has no other keys than these; it may lack some of the filter's.
        """
        known = self.filters if self.filter_type == "SIMPLE" else None
        if not known or not known[0].fits(count):
            return None
        return self.filter_text if added is None or not len(added) else known[0].with_keys(added).serialize()

    def in_range(self, keys: pa.Array) -> Booleans:
        """Return for each of *keys* whether it is within the key range of the file; True if the range is not known."""
        if self.key_range is None or beyond_utf16_unit(keys):
            return np.ones(len(keys), np.bool_)
        lowest, highest = self.key_range
        return np.asarray(pc.and_(pc.greater_equal(keys, lowest), pc.less_equal(keys, highest)))

    def might_contain(self, keys: pa.Array) -> bool:
        """Return whether the file may contain any of *keys*, by its filters; False is certain."""
        if self.filters is None or not len(keys):
            return bool(len(keys))
        return any(bloom.might_contain(keys).any() for bloom in self.filters)


def footer_of(keys: FileKeys) -> dict[str, str]:
    """Return the footer's entries about the record keys of a file that is written: their range and their filter.

    Source: HoodieBloomFilterWriteSupport.
    """
    footer = {} if keys.filter_text is None else {BLOOM_FILTER: keys.filter_text}
    return footer if keys.key_range is None else footer | dict(zip((MIN_KEY, MAX_KEY), keys.key_range, strict=True))


def key_range_of(keys: pa.Array) -> tuple[str, str] | None:
    """Return the lowest and the highest key in Java's order of strings: by UTF-16 units, not by UTF-8 bytes.

    None without keys.  Hudi's bloom index compares keys with them: BloomIndexFileInfo.isKeyInRange.
    """
    if not len(keys):
        return None
    if beyond_utf16_unit(keys):
        texts = keys.to_pylist()
        return min(texts, key=_utf16), max(texts, key=_utf16)
    limits = pc.min_max(keys)
    return limits["min"].as_py(), limits["max"].as_py()


_FEW_KEYS = 100
"""Of at most so many keys a file, Python finds the lowest and the highest sooner than a call of Arrow for each file."""


def _ranges_of(keys: pa.Array, counts: Sequence[int]) -> Iterator[tuple[str, str] | None]:
    """Yield what :func:`key_range_of` returns for the first ``counts[0]`` of *keys*, for the next ``counts[1]``, ..."""
    ends = list(accumulate(counts))
    if len(keys) > _FEW_KEYS * len(counts):
        yield from (key_range_of(keys.slice(end - count, count)) for count, end in zip(counts, ends, strict=True))
        return
    texts, order = keys.to_pylist(), _utf16 if beyond_utf16_unit(keys) else None
    for count, end in zip(counts, ends, strict=True):
        part = texts[end - count : end]
        yield (min(part, key=order), max(part, key=order)) if part else None


def _utf16(text: str) -> bytes:
    return text.encode("utf-16-be")


def beyond_utf16_unit(keys: pa.Array) -> bool:
    """Return whether Java may order *keys* differently from Arrow: it compares UTF-16 units, Arrow bytes.

    The orders differ only if a key has a code point that takes two UTF-16 units: U+10000 is d800 dc00 in UTF-16, before
    U+FFFD, and f0 90 80 80 in UTF-8, behind ef bf bd.
    """
    offsets = np.frombuffer(keys.buffers()[1], np.int32)[keys.offset : keys.offset + len(keys) + 1]
    if not len(keys) or offsets[0] == offsets[-1]:
        return False
    data = np.frombuffer(keys.buffers()[2], np.uint8)[offsets[0] : offsets[-1]]
    return bool(data.max() >= _BEYOND_UTF16_UNIT)


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
