"""Rows on their way to a file group: first with their keys, then with their file groups.  Pure.

A write carries rows in two forms.  ``KeyedRows`` have their record keys and partition paths; the index turns them into
``LocatedRows``, which have their file groups.  Rows of a file group that wait for a block of a log file belong to its
handle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.file_group.merging.keys import RowSource
from hudiformat.file_group.merging.rule import MergeRule
from hudiformat.schema.table_schema import RowKeys

NEW = -1
"""The code of a record that is in no file group yet."""
NOT_IN_BASE_FILE = -1
"""The position of a record that no base file contains."""

Booleans = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]
_Chosen: TypeAlias = slice | Integers | Booleans
_MANY = 1_000
"""From so many rows on it takes longer to copy their keys than to find out whether these are a column of the rows."""
Rows = TypeVar("Rows", pa.RecordBatch, pa.Table, pa.RecordBatch | pa.Table, pa.Array, pa.ChunkedArray)


@dataclass(frozen=True, slots=True)
class KeyedRows:
    """Rows of a write with their record keys and partition paths, before anybody knows their file groups.

    Row ``i`` has the record key ``keys[i]`` and belongs to the partition ``paths[i]``.
    """

    rows: pa.Table | pa.RecordBatch
    keys: pa.Array
    paths: pa.Array

    @classmethod
    def of(cls, keys: RowKeys, rows: pa.Table | pa.RecordBatch) -> KeyedRows:
        """Return *rows* with their record keys and partition paths, which are computed once, here.

        Raises:
            DataError: a record key is null or empty, or a value cannot be a partition path.
        """
        return cls(rows, keys.record_keys(rows), keys.partition_paths(rows))

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def table(self) -> pa.Table:
        """The rows as a table."""
        return pa.Table.from_batches([self.rows]) if isinstance(self.rows, pa.RecordBatch) else self.rows

    def take(self, indices: Integers) -> KeyedRows:
        """Return the rows at *indices*, in that order, as a table."""
        chosen = pa.array(indices)
        taken = RowSource(self.table.combine_chunks()).take(indices)
        return KeyedRows(taken, self.keys.take(chosen), self.paths.take(chosen))

    def batches(self, most_rows: int) -> Iterator[KeyedRows]:
        """Yield the rows in record batches of at most *most_rows* rows."""
        start = 0
        for batch in self.table.combine_chunks().to_batches(max_chunksize=most_rows):
            count = batch.num_rows
            yield KeyedRows(batch, self.keys.slice(start, count), self.paths.slice(start, count))
            start += count


@dataclass(frozen=True)
class LocatedRows:
    """Rows of one partition with their record keys and their file groups.

    Row ``i`` belongs to the group ``groups[codes[i]]``; without ``codes``, all rows belong to the only group.  A group
    is a file id, or the name of a group that the write is going to open (:func:`hudiformat.write.new_rows.new_group`).
    New rows (``is_new``) without a group are assigned to file groups by sizing, once all of them are known.

    ``positions[i]`` is the position of the row with the same key in the base file of its group, or NOT_IN_BASE_FILE;
    ``positions`` is None if the keys have not been looked up.
    """

    path: str
    rows: pa.RecordBatch
    keys: pa.Array
    groups: tuple[str, ...] = ()
    codes: Integers | None = None
    positions: Integers | None = None
    is_new: bool = False

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def nbytes(self) -> int:
        """The bytes of the rows in memory, which takes Arrow longer to tell than it takes to split rows."""
        return int(self.rows.nbytes)

    @property
    def group(self) -> str:
        """The file group of all rows, which have only one."""
        (group,) = self.groups
        return group

    @property
    def groups_with_rows(self) -> tuple[str, ...]:
        """The groups that have rows here, in order."""
        if self.codes is None:
            return self.groups
        return tuple(self.groups[code] for code in np.flatnonzero(np.bincount(self.codes)).tolist())

    @property
    def known_positions(self) -> Integers:
        """A position for each row."""
        return np.full(len(self), NOT_IN_BASE_FILE) if self.positions is None else self.positions

    def slice(self, start: int, count: int) -> LocatedRows:
        """Return *count* rows from *start*, without copying them."""
        chosen = slice(start, start + count)
        return self._with(self.rows.slice(start, count), self.keys.slice(start, count), chosen)

    def at(self, indices: Integers) -> LocatedRows:
        """Return the rows at *indices*, in that order."""
        return self._with(*take_with_keys(self.rows, self.keys, indices), indices)

    def where(self, chosen: Booleans) -> LocatedRows:
        """Return the rows for which *chosen* is true."""
        if chosen.all():
            return self
        mask = pa.array(chosen)
        return self._with(self.rows.filter(mask), self.keys.filter(mask), chosen)

    def drop_deletes(self, rule: MergeRule) -> LocatedRows:
        """Return the rows that are no deletes by *rule*."""
        return self.where(~find_deletes(self.rows, rule)) if rule.delete_columns else self

    def in_group(self, group: str, *, looked_up: bool) -> LocatedRows:
        """Return these rows in *group*, with their positions if the keys of all rows beside them were *looked_up*."""
        positions = self.positions if looked_up else None
        placed = replace(self, groups=(group,), codes=None, positions=positions)
        if "nbytes" in self.__dict__:  # the rows are the same: what was added up for them is not added up again
            placed.__dict__["nbytes"] = self.nbytes
        return placed

    def by_group(self) -> Iterator[LocatedRows]:
        """Yield the rows of each group that has some."""
        if self.codes is None:
            yield self
            return
        for code, chosen in group_by_code(self.codes):
            yield replace(self.at(chosen), groups=(self.groups[code],), codes=None)

    def runs(self) -> Iterator[tuple[str, int, int]]:
        """Yield each group, the index of its first row and how many rows it has; the rows are sorted by group."""
        assert self.codes is not None  # noqa: S101 - sorted_by_group has set them
        start = 0
        for group, count in zip(self.groups, np.bincount(self.codes, minlength=len(self.groups)).tolist(), strict=True):
            yield group, start, count
            start += count

    def _with(self, rows: pa.RecordBatch, keys: pa.Array, chosen: _Chosen) -> LocatedRows:
        codes = None if self.codes is None else self.codes[chosen]
        positions = None if self.positions is None else self.positions[chosen]
        return replace(self, rows=rows, keys=keys, codes=codes, positions=positions)


def sort_by_group(parts: Sequence[LocatedRows], *, small: int) -> LocatedRows | None:
    """Return the rows of *parts*, all of one partition, sorted by file group; None if a group has over *small* bytes.

    The sort is stable.  The groups are in the order in which they first occur.  The rows have positions if the rows of
    all parts have.
    """
    number_of: dict[str, int] = {}
    numbers = np.concatenate([_number_groups(part, number_of) for part in parts])
    counts = np.bincount(numbers, minlength=len(number_of))
    if counts.max() * (sum(part.rows.nbytes for part in parts) / counts.sum()) > small:
        return None
    order = np.argsort(numbers, kind="stable")
    if len(parts) == 1:
        return replace(parts[0].at(order), groups=tuple(number_of), codes=numbers[order])
    positions = [part.positions for part in parts if part.positions is not None]
    every = LocatedRows(
        parts[0].path,
        pa.concat_batches([part.rows for part in parts]),
        pa.concat_arrays([part.keys for part in parts]),
        tuple(number_of),
        numbers,
        np.concatenate(positions) if len(positions) == len(parts) else None,
    )
    return every.at(order)


def split_by_group(parts: Sequence[LocatedRows]) -> Iterator[LocatedRows]:
    """Yield the rows of each file group, part by part; the groups are in the order in which they first occur."""
    pieces: dict[str, list[LocatedRows]] = {}
    for part in parts:
        for one in part.by_group():
            pieces.setdefault(one.group, []).append(one)
    for of_group in pieces.values():
        yield from of_group


def _number_groups(part: LocatedRows, number_of: dict[str, int]) -> Integers:
    """Return the number of each row's group in *number_of*, to which new groups are added."""
    if part.codes is None:
        return np.full(len(part), number_of.setdefault(part.group, len(number_of)))
    numbers = np.zeros(len(part.groups), np.int64)
    for code in np.flatnonzero(np.bincount(part.codes)).tolist():
        numbers[code] = number_of.setdefault(part.groups[code], len(number_of))
    return numbers[part.codes]


def find_deletes(rows: pa.RecordBatch, rule: MergeRule) -> Booleans:
    """Return which of *rows* are deletes by their own columns; rows of most tables cannot be."""
    return rule.deletes(rows) if rule.delete_columns else np.zeros(rows.num_rows, np.bool_)


def take_rows(rows: Rows, indices: Integers) -> Rows:
    """Return the *rows* at *indices*, in that order; consecutive rows are not copied."""
    if len(indices) and (np.diff(indices) == 1).all():
        return rows.slice(int(indices[0]), len(indices))
    return rows.take(pa.array(indices))


def take_with_keys(rows: pa.RecordBatch, keys: pa.Array, indices: Integers) -> tuple[pa.RecordBatch, pa.Array]:
    """Return the *rows* at *indices* and their *keys*, which are often a column of the rows: that is copied once."""
    taken = take_rows(rows, indices)
    column = None if len(indices) < _MANY else column_of_keys(rows, keys)
    return taken, take_rows(keys, indices) if column is None else taken.column(column)


def column_of_keys(rows: pa.RecordBatch, keys: pa.Array) -> int | None:
    """Return the number of the column of *rows* that is *keys*, in the same memory; None if there is none."""
    places = keys.offset, _addresses(keys)
    for number, column in enumerate(rows.columns):
        if column.type == keys.type and (column.offset, _addresses(column)) == places:
            return number
    return None


def _addresses(array: pa.Array) -> list[int | None]:
    return [None if buffer is None else buffer.address for buffer in array.buffers()]


def combine_chunks(rows: pa.Table) -> pa.Table:
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
    return _addresses(array) == _addresses(other) and array.offset + len(array) == other.offset


def group_by_code(codes: Integers) -> Iterator[tuple[int, Integers]]:
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


def group_by_value(values: pa.Array) -> Iterator[tuple[str, Integers]]:
    """Yield each distinct text and the indices of the rows that have it, in order."""
    if len(values) and pc.all(pc.equal(values, values[0])).as_py():
        yield values[0].as_py(), np.arange(len(values))
        return
    encoded = values.dictionary_encode()
    for code, rows in group_by_code(np.asarray(encoded.indices).astype(np.int64)):
        yield encoded.dictionary[code].as_py(), rows


@dataclass(frozen=True, slots=True)
class Locations:
    """Results of a look-up of keys: key ``rows[i]`` is in the file group ``file_ids[codes[i]]``, or in none yet (NEW).

    Every key occurs once, or once for each of several file groups that have it.  ``existing`` has for each file group
    whether it existed before this write.  ``positions[i]`` is the position of the key in the base file of that group,
    or NOT_IN_BASE_FILE; ``positions`` is None if base files were not read.
    """

    rows: Integers
    codes: Integers
    file_ids: tuple[str, ...]
    existing: tuple[bool, ...]
    positions: Integers | None = None
