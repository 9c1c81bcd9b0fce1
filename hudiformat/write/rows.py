"""Rows of a write: deletes and duplicates among them, and the rows that wait for a block of a log file.

The first part finds rows flagged as deletes and keeps one row of several with one key; the second decides how many rows
go into a block: spec/sizing.md.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.codec.avro.arrays import rows_within
from hudiformat.file_group.merging.keys import combine
from hudiformat.file_group.merging.spill import KeyParts
from hudiformat.storage.spill_folders import spill_folder
from hudiformat.write.index.rows import Booleans, Integers, KeyedRows

_PARTS_ON_DISK = 16
_ROWS = "rows"

_NEWEST_SHARE = 0.2
"""The weight of the newest block in the running average of the extra bytes of a row (HoodieAppendHandle)."""
_TOLERANCE = 1.1
"""A block may be larger than the maximum by this factor, since sizes are estimated before rows are encoded."""


def deleted_rows(rows: pa.RecordBatch | pa.Table, column: str | None) -> Booleans:
    """Return a mask of the *rows* that are flagged as deletes in *column*; none if they lack the column."""
    if column is None or rows.schema.get_field_index(column) < 0:
        return np.zeros(rows.num_rows, np.bool_)
    return np.asarray(pc.fill_null(rows[column], False))


def without_deletes(rows: KeyedRows, column: str | None) -> KeyedRows:
    """Return the *rows* that are not flagged as deletes in *column*."""
    deleted = deleted_rows(rows.rows, column)
    return rows.where(~deleted) if deleted.any() else rows


def ordering_of_deletes(rows: pa.RecordBatch, fields: Sequence[str]) -> pa.Array | None:
    """Return the ordering values of *rows* as a delete block stores them; None if the rows have no ordering values."""
    if not fields or not set(fields).issubset(rows.schema.names):
        return None
    return delete_ordering([rows[name] for name in fields], fields)


def delete_ordering(values: Sequence[pa.Array], fields: Sequence[str]) -> pa.Array:
    """Return the ordering values of deletes as a delete block stores them."""
    held = [_as_spark_holds(array) for array in values]
    return held[0] if len(held) == 1 else pa.StructArray.from_arrays(held, names=list(fields))


def _as_spark_holds(values: pa.Array) -> pa.Array:
    """Return ordering values of deletes with timestamps and dates as the numbers that Spark's rows hold.

    Hudi on Spark writes numbers.  It cannot compare them with a java.sql.Timestamp or Date, and lets the delete win.
    """
    if pa.types.is_timestamp(values.type):
        return values.cast(pa.int64())
    return values.cast(pa.int32()) if pa.types.is_date32(values.type) else values


def combine_parts(
    parts: Iterable[pa.RecordBatch], key: str, ordering_fields: tuple[str, ...], *, memory: int
) -> Iterator[pa.RecordBatch]:
    """Combine rows that come in *parts*, as :func:`~hudiformat.file_group.merging.keys.combine` does for one table.

    Rows with the same value in the column *key* are combined, whichever part they are in.  If the rows have more than
    *memory* bytes, they are spilled to disk, divided by their keys, and combined one share at a time.
    """
    waiting, size, rest = [], 0, iter(parts)
    for rows in rest:
        waiting.append(rows)
        size += rows.nbytes
        if size > memory:
            yield from _combine_on_disk(chain(waiting, rest), key, ordering_fields)
            return
    if waiting:
        yield from _combine_in_memory(pa.Table.from_batches(waiting), key, ordering_fields)


def _combine_on_disk(
    parts: Iterable[pa.RecordBatch], key: str, ordering_fields: tuple[str, ...]
) -> Iterator[pa.RecordBatch]:
    with spill_folder() as folder:
        aside = KeyParts(Path(folder), _PARTS_ON_DISK)
        try:
            for rows in parts:
                aside.add(_ROWS, rows, rows[key])
            for part in range(_PARTS_ON_DISK):
                yield from _combine_in_memory(aside.read(_ROWS, part, rows.schema), key, ordering_fields)
        finally:
            aside.close()


def _combine_in_memory(rows: pa.Table, key: str, ordering_fields: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    yield from combine(rows, [rows[key].combine_chunks()], ordering_fields).to_batches()


class Rows(NamedTuple):
    """Rows with the meta fields, which of them are updates, and their positions in the base file.

    ``size`` is the rows' bytes in memory if each row had its own copy of values that all share, as it has in the block.
    """

    rows: pa.Table
    updates: Booleans
    positions: Integers
    size: int

    @classmethod
    def of(cls, rows: pa.Table, updates: Booleans, positions: Integers) -> Rows:
        """Return the rows together with their size."""
        return cls(rows, updates, positions, int(rows.nbytes + rows.num_rows * _shared_bytes(rows)))

    def slice(self, start: int, stop: int) -> Rows:
        """Return the rows from *start* to *stop*."""
        rows = self.rows.slice(start, stop - start)
        return Rows.of(rows, self.updates[start:stop], self.positions[start:stop])

    def share(self, start: int, count: int) -> Rows:
        """Return *count* rows from *start*; their size is a proportional part of the size of all."""
        rows, stop = self.rows.slice(start, count), start + count
        return Rows(rows, self.updates[start:stop], self.positions[start:stop], self.size * count // len(self.rows))


class WaitingRows:
    """A queue of rows in the order in which they came; rows are taken from its front.  ``size`` is the size of all."""

    def __init__(self) -> None:
        self._parts: deque[Rows] = deque()
        self.size = 0

    def __len__(self) -> int:
        return sum(len(part.rows) for part in self._parts)

    def add(self, rows: Rows) -> None:
        """Add *rows* at the end."""
        self._parts.append(rows)
        self.size += rows.size

    def give_back(self, rows: Rows) -> None:
        """Put *rows* that were taken back at the front."""
        self._parts.appendleft(rows)
        self.size += rows.size

    def first(self, size: float, extra: float) -> int:
        """Return how many rows from the front fit into *size* bytes.

        Each row is counted with *extra* bytes beyond its size in memory.
        """
        count, left = 0, size
        for part in self._parts:
            whole = part.size + len(part.rows) * extra
            if whole > left:
                return count + rows_within(part.rows, left, extra=extra + _shared_bytes(part.rows))
            count, left = count + len(part.rows), left - whole
        return count

    def take(self, count: int) -> Rows:
        """Remove the first *count* rows, and return them."""
        taken: list[Rows] = []
        while count:
            part = self._parts.popleft()
            if len(part.rows) > count:
                self._parts.appendleft(part.slice(count, len(part.rows)))
                part = part.slice(0, count)
            taken.append(part)
            count -= len(part.rows)
        self.size = sum(part.size for part in self._parts)
        if len(taken) == 1:
            return taken[0]
        rows = pa.concat_tables([part.rows for part in taken])
        updates, positions = (np.concatenate([part[column] for part in taken]) for column in (1, 2))
        return Rows(rows, updates, positions, sum(part.size for part in taken))


class BlockSizes:
    """Decides how many rows go into a block of *most* bytes.

    The size of a row in a block is estimated as its bytes in memory plus ``extra``: by how much, on average, the rows
    of earlier blocks were larger than in memory, or smaller.  An average of whole rows would learn too late that rows
    grow.

    For example, 100 rows with 2,000 bytes in memory made a block of 2,300 bytes: ``extra`` is 3.  A next block of 100
    rows with 4,000 bytes in memory and 4,800 in the block has 8 more per row: ``extra`` is now 3 + 0.2 * (8 - 3) = 4.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.extra: float | None = None

    def rows_of(self, waiting: WaitingRows) -> int:
        """Return how many of the *waiting* rows form the next block; at least one."""
        return max(waiting.first(self._most, self.extra or 0.0), 1)

    def measure(self, rows: Rows, size: int) -> None:
        """Update the estimate from a block of *size* bytes that holds *rows*."""
        extra = (size - rows.size) / len(rows.rows)
        known = extra if self.extra is None else self.extra
        self.extra = known + _NEWEST_SHARE * (extra - known)

    def fewer(self, rows: Rows, size: int) -> int | None:
        """Return how many of *rows* to encode instead if a block of all, with *size* bytes, is too large; else None."""
        count = len(rows.rows)
        if count == 1 or size <= self._most * _TOLERANCE:
            return None
        waiting = WaitingRows()
        waiting.add(rows)
        fitting = waiting.first(self._most, (size - rows.size) / count)
        return min(max(fitting, 1), count - 1)


def _shared_bytes(rows: pa.Table) -> int:
    """Return the bytes that each row has in dictionary columns, whose values are in memory only once."""
    columns = [column.chunk(0) for column in rows.columns if pa.types.is_dictionary(column.type) and column.num_chunks]
    return sum(column.dictionary.nbytes // max(len(column.dictionary), 1) for column in columns)
