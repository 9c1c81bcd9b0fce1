"""A base file of two files: a skeleton file with the meta fields, and the source file with the table's own columns.

The rows of both are in the same order.  The row groups are those of the source file.

Source: HoodieFileGroupReader.makeBootstrapBaseFileIterator, HoodieBootstrapFileReader, Hudi 1.2.0.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

import pyarrow as pa

from hudiformat.codec.conversion import batch_of
from hudiformat.codec.statistics import ColumnStatistics
from hudiformat.file_group.base_file.filters import HIGHEST, FileFilter
from hudiformat.file_group.base_file.format import StoredFile
from hudiformat.schema.meta_fields import is_meta_field


@dataclass(frozen=True)
class BootstrappedFile:
    """A skeleton file and its source file, both open; see ``hudiformat.file_group.base_file.format.StoredFile``.

    Meta fields of the source file are ignored: it may be a base file of another table.  *schema_key* is the text of the
    skeleton's footer that is the schema of its own columns.  The source file may lack the partition columns *of_path*,
    whose values *value_of* tells: in Hive's folders they are in the path only.
    """

    skeleton: StoredFile
    source: StoredFile
    schema_key: bytes
    of_path: Sequence[pa.Field]
    value_of: Callable[[pa.Field], pa.Scalar]
    _readings: dict[tuple[tuple[str, ...], int], _Reading] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """The bytes of both files."""
        return self.skeleton.size + self.source.size

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of both files, and those of the path."""
        own = [one for one in self.source.schema if not is_meta_field(one.name)]
        return pa.schema([*self._meta, *own, *self._absent.values()])

    @cached_property
    def _absent(self) -> Mapping[str, pa.Field]:
        there = set(self.source.schema.names)
        return {one.name: one for one in self.of_path if one.name not in there}

    @cached_property
    def _meta(self) -> list[pa.Field]:
        return [one for one in self.skeleton.schema if is_meta_field(one.name)]

    @property
    def footer(self) -> Mapping[bytes, bytes] | None:
        """The texts of the skeleton's footer, which has the record keys, without the schema of its columns."""
        return {key: value for key, value in (self.skeleton.footer or {}).items() if key != self.schema_key}

    @property
    def group_rows(self) -> Sequence[int]:
        """The number of rows of each row group."""
        return self.source.group_rows

    def batches(
        self, names: Sequence[str], *, groups: Sequence[int] | None = None, batch_rows: int
    ) -> Iterator[pa.RecordBatch]:
        """Yield the columns *names* of the row groups *groups*, or of all, at most *batch_rows* rows at a time."""
        absent = {name: self.value_of(self._absent[name]) for name in names if name in self._absent}
        stored = [name for name in names if name not in absent]
        for batch in self._stored_batches(stored, groups=groups, batch_rows=batch_rows):
            if not absent:
                yield batch
                continue
            rows = batch.num_rows
            columns = [pa.repeat(absent[name], rows) if name in absent else batch[name] for name in names]
            yield batch_of(columns, pa.schema(zip(names, (one.type for one in columns), strict=True)), rows)

    def _stored_batches(
        self, names: Sequence[str], *, groups: Sequence[int] | None, batch_rows: int
    ) -> Iterator[pa.RecordBatch]:
        """Yield the columns *names* of both files.

        The batches of both files may have other numbers of rows: of 3 and 2 rows, and of 1 and 4 rows, they are cut
        into 1, 2 and 2 rows.
        """
        every = range(len(self.group_rows))
        chosen = every if groups is None else groups
        meta = [name for name in names if is_meta_field(name)]
        own = [name for name in names if not is_meta_field(name)]
        if not meta:
            yield from self.source.batches(own, groups=chosen, batch_rows=batch_rows)
        elif not own and len(chosen) == len(every):
            yield from self.skeleton.batches(meta, batch_rows=batch_rows)
        else:
            bounds = list(accumulate(self.group_rows, initial=0))
            for group in chosen:
                left = self._meta_rows(meta, bounds[group], bounds[group + 1], batch_rows)
                right = self.source.batches(own, groups=[group], batch_rows=batch_rows) if own else None
                yield from left if right is None else _side_by_side(left, right, names)

    def _meta_rows(self, names: Sequence[str], start: int, end: int, batch_rows: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the skeleton from *start* on and before *end*.

        A reading that has come to *start* goes on: a row group of the skeleton may have rows of many of the source.
        """
        key = (tuple(names), batch_rows)
        reading = self._readings.pop(key, None)
        if reading is None or reading.row > start:
            reading = _Reading(self.skeleton, names, start, batch_rows)
        yield from reading.take(start, end)
        self._readings[key] = reading

    def groups_that_match(self, filter: FileFilter) -> Sequence[int] | None:
        """Return the row groups whose statistics allow a match of *filter*; None if they rule out none."""
        asked = [is_meta_field(name) for name in filter.columns.names]
        if not self._absent.keys().isdisjoint(filter.columns.names):
            return None
        if not any(asked):
            return self.source.groups_that_match(filter)
        if not all(asked):
            return None
        found = self.skeleton.groups_that_match(filter)
        return [] if found is not None and not len(found) else None  # its row groups are others

    def highest(self, group: int, field: pa.Field) -> int:
        """See ``StoredFile``."""
        return HIGHEST if is_meta_field(field.name) or field.name in self._absent else self.source.highest(group, field)

    def statistics(
        self, schema: pa.Schema, columns: Sequence[str]
    ) -> tuple[Mapping[str, ColumnStatistics], tuple[str, ...]]:
        """Return the statistics of *columns* that can be trusted, and the columns of the file that have none."""
        known, unknown = self.skeleton.statistics(schema, [name for name in columns if is_meta_field(name)])
        others, more = self.source.statistics(schema, [name for name in columns if not is_meta_field(name)])
        return {**known, **others}, (*unknown, *more, *(name for name in columns if name in self._absent))

    @property
    def column_sizes(self) -> Mapping[str, tuple[int, int]]:
        """The bytes of each column in the files, by its path, and its bytes uncompressed."""
        return {**self.source.column_sizes, **self.skeleton.column_sizes}


class _Reading:
    """The rows of a file from the row group on that has row *start*; parts of them are taken in order."""

    def __init__(self, file: StoredFile, names: Sequence[str], start: int, batch_rows: int) -> None:
        bounds = list(accumulate(file.group_rows, initial=0))
        first = max(bisect_right(bounds, start) - 1, 0)
        groups = range(first, len(file.group_rows))
        self.row = bounds[first]
        self._batches = file.batches(names, groups=groups, batch_rows=batch_rows) if groups else iter(())
        self._rest: pa.RecordBatch | None = None

    def take(self, start: int, end: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows from *start* on, which have not been taken yet, and before *end*."""
        while self.row < end:
            batch = next(self._batches, None) if self._rest is None else self._rest
            if batch is None:
                return
            first, last = min(max(start - self.row, 0), batch.num_rows), min(end - self.row, batch.num_rows)
            self._rest = batch.slice(last) if last < batch.num_rows else None
            self.row += last
            if first < last:
                yield batch.slice(first, last - first)


def _side_by_side(
    left: Iterator[pa.RecordBatch], right: Iterator[pa.RecordBatch], names: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Yield rows with the columns *names* of both; together they have equally many rows."""
    one, other = next(left, None), next(right, None)
    while one is not None and other is not None:
        count = min(one.num_rows, other.num_rows)
        first = set(one.schema.names)
        parts = [(one if name in first else other) for name in names]
        schema = pa.schema([part.schema.field(name) for part, name in zip(parts, names, strict=True)])
        yield batch_of([part[name].slice(0, count) for part, name in zip(parts, names, strict=True)], schema, count)
        one = one.slice(count) if count < one.num_rows else next(left, None)
        other = other.slice(count) if count < other.num_rows else next(right, None)
