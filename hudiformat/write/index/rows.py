"""Rows on their way to a file group: their record keys, and where they belong.  Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

NEW = -1
"""The code of a record that is in no file group yet."""
NOT_IN_BASE_FILE = -1
"""The position of a record that no base file contains."""

Booleans = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]
Rows = TypeVar("Rows", pa.RecordBatch, pa.Table, pa.Array, pa.ChunkedArray)


@dataclass(frozen=True, slots=True)
class KeyedRows:
    """Rows with the table's own columns, and their record keys.

    ``positions[i]`` is the position of the row with that key in the base file of its file group, or NOT_IN_BASE_FILE;
    ``positions`` is None if the keys have not been looked up.
    """

    rows: pa.RecordBatch
    keys: pa.Array
    positions: Integers | None = None

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def known_positions(self) -> Integers:
        """A position for each row."""
        return np.full(len(self), NOT_IN_BASE_FILE) if self.positions is None else self.positions

    def not_in_base_file(self) -> KeyedRows:
        """Return the same rows as rows whose keys have been looked up and are in no base file."""
        return KeyedRows(self.rows, self.keys, np.full(len(self), NOT_IN_BASE_FILE))

    @classmethod
    def joined(cls, parts: Sequence[KeyedRows]) -> KeyedRows:
        """Return the rows of *parts*, at least one; they have positions if all parts have."""
        if len(parts) == 1:
            return parts[0]
        positions = [part.positions for part in parts if part.positions is not None]
        return cls(
            pa.concat_batches([part.rows for part in parts]),
            pa.concat_arrays([part.keys for part in parts]),
            np.concatenate(positions) if len(positions) == len(parts) else None,
        )

    def slice(self, start: int, count: int) -> KeyedRows:
        """Return *count* rows from *start*, without copying them."""
        positions = None if self.positions is None else self.positions[start : start + count]
        return KeyedRows(self.rows.slice(start, count), self.keys.slice(start, count), positions)

    def at(self, indices: Integers) -> KeyedRows:
        """Return the rows at *indices*, in that order."""
        positions = None if self.positions is None else self.positions[indices]
        return KeyedRows(taken(self.rows, indices), taken(self.keys, indices), positions)

    def where(self, chosen: Booleans) -> KeyedRows:
        """Return the rows for which *chosen* is true."""
        if chosen.all():
            return self
        mask = pa.array(chosen)
        positions = None if self.positions is None else self.positions[chosen]
        return KeyedRows(self.rows.filter(mask), self.keys.filter(mask), positions)


@dataclass(frozen=True, slots=True)
class LocatedRows:
    """Rows of one partition, and the file groups that they belong to: row ``i`` to ``groups[codes[i]]``.

    Without ``codes``, all rows belong to the only group.  A group is a file id, or the name of a group that a planned
    placement is going to open.  New rows (``is_new``) without a group are assigned to file groups by sizing, once all
    of them are known.
    """

    path: str
    rows: KeyedRows
    groups: tuple[str, ...] = ()
    codes: Integers | None = None
    is_new: bool = False

    @property
    def present(self) -> tuple[str, ...]:
        """The groups that have rows here, in order."""
        if self.codes is None:
            return self.groups
        return tuple(self.groups[code] for code in np.flatnonzero(np.bincount(self.codes)).tolist())

    def apart(self) -> Iterator[LocatedRows]:
        """Yield the rows of each group that has some."""
        if self.codes is None:
            yield self
            return
        for code, chosen in rows_by_code(self.codes):
            yield replace(self, rows=self.rows.at(chosen), groups=(self.groups[code],), codes=None)


@dataclass(frozen=True, slots=True)
class SortedRows:
    """Rows of several file groups, one group after the other: ``groups[i]`` has ``counts[i]`` rows."""

    rows: KeyedRows
    groups: tuple[str, ...]
    counts: tuple[int, ...]

    def slices(self) -> Iterator[tuple[str, int, int]]:
        """Yield each group, the index of its first row, and how many rows it has."""
        start = 0
        for group, count in zip(self.groups, self.counts, strict=True):
            yield group, start, count
            start += count


def sorted_by_group(parts: Sequence[LocatedRows], *, small: int) -> SortedRows | None:
    """Return the rows of *parts* sorted by file group; None if one group has more than *small* bytes.

    The sort is stable.  The groups are in the order in which they first occur.
    """
    number_of: dict[str, int] = {}
    numbers = np.concatenate([_number_groups(part, number_of) for part in parts])
    counts = np.bincount(numbers, minlength=len(number_of))
    if counts.max() * (sum(part.rows.rows.nbytes for part in parts) / counts.sum()) > small:
        return None
    rows = KeyedRows.joined([part.rows for part in parts]).at(np.argsort(numbers, kind="stable"))
    return SortedRows(rows, tuple(number_of), tuple(counts.tolist()))


def by_group(parts: Sequence[LocatedRows]) -> Iterator[tuple[str, KeyedRows]]:
    """Yield the rows of each file group, part by part; the groups are in the order in which they first occur."""
    pieces: dict[str, list[KeyedRows]] = {}
    for part in parts:
        for one in part.apart():
            pieces.setdefault(one.groups[0], []).append(one.rows)
    yield from ((group, piece) for group, of_group in pieces.items() for piece in of_group)


def _number_groups(part: LocatedRows, number_of: dict[str, int]) -> Integers:
    """Return the number of each row's group in *number_of*, to which new groups are added."""
    if part.codes is None:
        (group,) = part.groups
        return np.full(len(part.rows), number_of.setdefault(group, len(number_of)))
    numbers = np.zeros(len(part.groups), np.int64)
    for code in np.flatnonzero(np.bincount(part.codes)).tolist():
        numbers[code] = number_of.setdefault(part.groups[code], len(number_of))
    return numbers[part.codes]


def taken(rows: Rows, indices: Integers) -> Rows:
    """Return the *rows* at *indices*, in that order; consecutive rows are not copied."""
    if len(indices) and (np.diff(indices) == 1).all():
        return rows.slice(int(indices[0]), len(indices))
    return rows.take(pa.array(indices))


def in_one_piece(rows: pa.Table) -> pa.Table:
    """Return *rows* with one chunk per column; columns whose chunks are neighbours in memory are not copied."""
    return pa.Table.from_arrays([_join_chunks(column) for column in rows.columns], schema=rows.schema).combine_chunks()


def _join_chunks(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return *column* as one chunk if its chunks are neighbours in memory, else as it is."""
    pieces = [piece for piece in column.chunks if len(piece)]
    is_flat = not (column.type.num_fields or pa.types.is_dictionary(column.type))
    if not (pieces and is_flat and all(map(_are_neighbours, pieces, pieces[1:]))):
        return column
    whole = pa.Array.from_buffers(column.type, len(column), pieces[0].buffers(), offset=pieces[0].offset)
    return pa.chunked_array([whole])


def _are_neighbours(array: pa.Array, other: pa.Array) -> bool:
    """Return whether *other* starts in the same memory where *array* ends."""
    addresses, others = ([buffer and buffer.address for buffer in one.buffers()] for one in (array, other))
    return addresses == others and array.offset + len(array) == other.offset


def rows_by_code(codes: Integers) -> Iterator[tuple[int, Integers]]:
    """Yield each distinct code and the indices of the rows that have it, in order."""
    if len(codes) and (codes == codes[0]).all():  # as with one partition, or one file group
        yield int(codes[0]), np.arange(len(codes))
        return
    # Three rows:
    #   codes          7  5  7
    #   order          1  0  2    the rows sorted by code, stable
    #   codes[order]   5  7  7
    #   starts         0  1       where the next code starts in `order`
    #   groups         1 | 0 2    `order`, split at the starts
    is_short = len(codes) and np.abs(codes).max() <= np.iinfo(np.int16).max
    order = np.argsort(codes.astype(np.int16) if is_short else codes, kind="stable")  # NumPy sorts int16 by radix
    starts = np.flatnonzero(np.diff(codes[order], prepend=np.iinfo(np.int64).min))
    for group in np.split(order, starts[1:]) if len(order) else ():
        yield int(codes[group[0]]), group


def rows_by_value(values: pa.Array) -> Iterator[tuple[str, Integers]]:
    """Yield each distinct text and the indices of the rows that have it, in order."""
    if len(values) and pc.all(pc.equal(values, values[0])).as_py():
        yield values[0].as_py(), np.arange(len(values))
        return
    encoded = values.dictionary_encode()
    for code, rows in rows_by_code(np.asarray(encoded.indices).astype(np.int64)):
        yield encoded.dictionary[code].as_py(), rows


@dataclass(frozen=True, slots=True)
class Tags:
    """Results of a look-up: record ``rows[i]`` belongs to the file group ``file_ids[codes[i]]``, or is NEW.

    Every record occurs once, or once for each of several file groups that have its key.  ``existing`` has for each file
    group whether it existed before this write.  ``positions[i]`` is the position of the record's key in the base file
    of that group, or NOT_IN_BASE_FILE; ``positions`` is None if base files were not read.
    """

    rows: Integers
    codes: Integers
    file_ids: tuple[str, ...]
    existing: tuple[bool, ...]
    positions: Integers | None = None
