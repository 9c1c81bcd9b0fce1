"""Rows by their places.

Rows on their way to a file group, with what is known of their keys.

Deletes: the rows that say of themselves that they are some, and their ordering values in delete blocks.

One row per key: of several rows of a write that have one key, the one that counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.index.lookup import NOWHERE
from hudiformat.merge import KeyIndex, all_differ
from hudiformat.merge.rule import comparable
from hudiformat.query.spill import KeyParts

Integers = npt.NDArray[np.int64]
Rows = TypeVar("Rows", pa.RecordBatch, pa.Table, pa.Array, pa.ChunkedArray)


def taken(rows: Rows, places: Integers) -> Rows:
    """Those of *rows* that are at *places*, in that order; not copied where they follow each other."""
    if len(places) and (np.diff(places) == 1).all():
        return rows.slice(int(places[0]), len(places))
    return rows.take(pa.array(places))


def joined(rows: pa.Table) -> pa.Table:
    """*rows* in one piece; columns whose pieces are neighbours in memory are not copied."""
    return pa.Table.from_arrays([_uncut(column) for column in rows.columns], schema=rows.schema).combine_chunks()


def _uncut(column: pa.ChunkedArray) -> pa.ChunkedArray:
    pieces = [piece for piece in column.chunks if len(piece)]
    is_flat = not (column.type.num_fields or pa.types.is_dictionary(column.type))
    if not (pieces and is_flat and all(map(_touch, pieces, pieces[1:]))):
        return column
    whole = pa.Array.from_buffers(column.type, len(column), pieces[0].buffers(), offset=pieces[0].offset)
    return pa.chunked_array([whole])


def _touch(array: pa.Array, other: pa.Array) -> bool:
    """Whether *other* goes on in the same memory where *array* ends."""
    places, others = ([buffer and buffer.address for buffer in one.buffers()] for one in (array, other))
    return places == others and array.offset + len(array) == other.offset


def groups_of_codes(codes: Integers) -> Iterator[tuple[int, Integers]]:
    """Each distinct code and the rows that have it, in order."""
    if len(codes) and (codes == codes[0]).all():  # as with one partition, or one file group
        yield int(codes[0]), np.arange(len(codes))
        return
    is_short = len(codes) and np.abs(codes).max() <= np.iinfo(np.int16).max
    order = np.argsort(codes.astype(np.int16) if is_short else codes, kind="stable")  # short ones by radix
    starts = np.flatnonzero(np.diff(codes[order], prepend=np.iinfo(np.int64).min))
    for group in np.split(order, starts[1:]) if len(order) else ():
        yield int(codes[group[0]]), group


Booleans = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class KeyedRows:
    """Rows with the table's own columns, and their record keys.

    ``positions[i]`` is the row with that key in the base file of the file group that they go to, or NOWHERE; None
    where nobody has looked.
    """

    rows: pa.RecordBatch
    keys: pa.Array
    positions: Integers | None = None

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def known_positions(self) -> Integers:
        """A position for each row."""
        return np.full(len(self), NOWHERE) if self.positions is None else self.positions

    def nowhere(self) -> KeyedRows:
        """The same rows, whose keys have been looked for and are in no base file."""
        return KeyedRows(self.rows, self.keys, np.full(len(self), NOWHERE))

    def at(self, places: Integers) -> KeyedRows:
        """Those at *places*, in that order."""
        positions = None if self.positions is None else self.positions[places]
        return KeyedRows(taken(self.rows, places), taken(self.keys, places), positions)

    def where(self, chosen: Booleans) -> KeyedRows:
        """Those for which *chosen* is true."""
        if chosen.all():
            return self
        mask = pa.array(chosen)
        positions = None if self.positions is None else self.positions[chosen]
        return KeyedRows(self.rows.filter(mask), self.keys.filter(mask), positions)


def deleted_rows(rows: pa.RecordBatch | pa.Table, column: str | None) -> Booleans:
    """Which of *rows* are deletes by their own *column*, which they may not have."""
    if column is None or column not in rows.schema.names:
        return np.zeros(rows.num_rows, np.bool_)
    return np.asarray(pc.fill_null(rows[column], False))


def without_deletes(rows: KeyedRows, column: str | None) -> KeyedRows:
    """Those of *rows* that are no deletes."""
    deleted = deleted_rows(rows.rows, column)
    return rows.where(~deleted) if deleted.any() else rows


def ordering_of_deletes(rows: pa.RecordBatch, fields: Sequence[str]) -> pa.Array | None:
    """The ordering values of *rows* as a delete block takes them; None where they have none."""
    if not fields or not all(name in rows.schema.names for name in fields):
        return None
    return delete_ordering([rows[name] for name in fields], fields)


def delete_ordering(values: Sequence[pa.Array], fields: Sequence[str]) -> pa.Array:
    """The ordering values of deletes as a delete block takes them."""
    held = [_as_spark_holds(array) for array in values]
    return held[0] if len(held) == 1 else pa.StructArray.from_arrays(held, names=list(fields))


def _as_spark_holds(values: pa.Array) -> pa.Array:
    """Ordering values of deletes: moments and dates as the numbers that Spark's rows hold.

    Hudi on Spark cannot compare a java.sql.Timestamp or Date with those, and lets the delete win.  It writes longs.
    """
    if pa.types.is_timestamp(values.type):
        return values.cast(pa.int64())
    return values.cast(pa.int32()) if pa.types.is_date32(values.type) else values


_PARTS_ON_DISK = 16
_ROWS = "rows"


def combine(rows: pa.Table, groups: list[pa.Array], ordering_fields: tuple[str, ...]) -> pa.Table:
    """*rows* with one row per key, the one with the highest ordering values; of equals the last.

    *groups* are arrays that together are the key, the record key last, after the partition path if that counts.

    Source: HoodieWriteHelper.deduplicateRecords.
    """
    if all_differ(pa.chunked_array(groups[-1:])):
        return rows
    codes = np.zeros(rows.num_rows, dtype=np.int64)
    for group in groups:
        known = KeyIndex.of(pa.chunked_array([group]))
        codes = codes * len(known) + known.numbers()
    ranks = comparable(tuple(rows[name] for name in ordering_fields), rows.num_rows)
    order = np.lexsort((np.arange(rows.num_rows), ranks, codes))
    last = np.flatnonzero(np.diff(codes[order], append=-1))
    return rows if len(last) == rows.num_rows else rows.take(pa.array(np.sort(order[last])))


def combine_parts(
    parts: Iterable[pa.RecordBatch], key: str, ordering_fields: tuple[str, ...], *, memory: int
) -> Iterator[pa.RecordBatch]:
    """As :func:`combine`, for rows that come in *parts*; *key* is the column that they are told apart by.

    More than *memory* bytes of them are put aside on disk, in parts by their keys, and combined one part at a time.
    """
    waiting, size, rest = [], 0, iter(parts)
    for rows in rest:
        waiting.append(rows)
        size += rows.nbytes
        if size > memory:
            yield from _combined_on_disk(chain(waiting, rest), key, ordering_fields)
            return
    if waiting:
        yield from _combined(pa.Table.from_batches(waiting), key, ordering_fields)


def _combined_on_disk(
    parts: Iterable[pa.RecordBatch], key: str, ordering_fields: tuple[str, ...]
) -> Iterator[pa.RecordBatch]:
    with TemporaryDirectory(prefix="hudiformat-") as folder:
        aside = KeyParts(Path(folder), _PARTS_ON_DISK)
        try:
            for rows in parts:
                aside.add(_ROWS, rows, rows[key])
            for part in range(_PARTS_ON_DISK):
                yield from _combined(aside.read(_ROWS, part, rows.schema), key, ordering_fields)
        finally:
            aside.close()


def _combined(rows: pa.Table, key: str, ordering_fields: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    yield from combine(rows, [rows[key].combine_chunks()], ordering_fields).to_batches()
