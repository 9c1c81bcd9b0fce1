"""Filters of base files: whether the bounds of columns allow a match, and which record keys match.  Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import eq
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import fs

from hudiformat.codec.log.selection import find_matching_rows
from hudiformat.conditions.filters import columns_of
from hudiformat.schema.meta_fields import RECORD_KEY


def can_match(expression: pc.Expression, schema: pa.Schema, guarantees: Sequence[pc.Expression]) -> list[bool]:
    """Return for each of *guarantees* whether *expression* can match a row for which the guarantee holds.

    For ``v > 5`` and the guarantees ``v < 3``, ``v == 9`` and ``v > 1`` that is False, True and True.  A guarantee that
    Arrow cannot compare with the expression, such as an integer beyond 2**53 with a floating-point number, counts as
    True.
    """
    # Arrow decides in this way which fragments of a data set to open.  No file is opened by this call.
    names = [str(number) for number in range(len(guarantees))]
    import pyarrow.dataset as ds  # noqa: PLC0415 - it imports pandas where there is one: half a second

    dataset = ds.FileSystemDataset.from_paths(
        names, schema, ds.ParquetFileFormat(), fs.LocalFileSystem(), partitions=list(guarantees)
    )
    try:
        remaining = {fragment.path for fragment in dataset.get_fragments(expression)}
    except pa.ArrowException:
        return [True] if len(names) == 1 else [can_match(expression, schema, [one])[0] for one in guarantees]
    return [name in remaining for name in names]


def can_match_nan(expression: pc.Expression, schema: pa.Schema) -> bool:
    """Return whether *expression* can match a row with a NaN, a value that the statistics of Parquet leave out.

    Raises:
        SchemaError: the expression does not fit the columns of *schema*.
    """
    fields = (schema.field(name) for name in columns_of(expression, schema))
    guarantees = [pc.field(*path) == pa.scalar(math.nan, kind) for path, kind in _floats(fields)]
    return any(can_match(expression, schema, guarantees))


def _floats(fields: Iterable[pa.Field], parent: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], pa.DataType]]:
    """Yield the path and the type of every floating-point column among *fields*, nested ones included."""
    for field in fields:
        path = (*parent, field.name)
        if pa.types.is_floating(field.type):
            yield path, field.type
        elif pa.types.is_struct(field.type):
            yield from _floats(field.type, path)


Comparison: TypeAlias = tuple[str, Callable[[Any, Any], bool], int | str]
"""A column, a function of ``operator`` and the value that the column is compared with."""


def _allows(bounds: tuple[Any, Any], compare: Callable[[Any, Any], bool], value: int | str) -> bool:
    """Return whether a value within *bounds* can compare so with *value*; None of them is null."""
    lowest, highest = bounds
    return bool(lowest <= value <= highest if compare is eq else compare(lowest, value) or compare(highest, value))


@dataclass(frozen=True, slots=True)
class FileFilter:
    """A filter, and what is asked about it for each base file, found out once.

    ``columns`` are the columns that it uses, with the types that they have in the query.  ``matches_nan`` says whether
    it can match a NaN.  ``comparisons`` are true wherever it is true.
    """

    condition: pc.Expression
    columns: pa.Schema
    matches_nan: bool
    comparisons: tuple[Comparison, ...] = ()

    @classmethod
    def of(cls, condition: pc.Expression, schema: pa.Schema, comparisons: tuple[Comparison, ...] = ()) -> FileFilter:
        """Return the filter *condition* of rows with the columns *schema*.

        Raises:
            SchemaError: it does not fit the columns.
        """
        columns = pa.schema([schema.field(name) for name in columns_of(condition, schema)])
        return cls(condition, columns, can_match_nan(condition, columns), comparisons)

    def may_match_within(self, bounds: Callable[[str], tuple[Any, Any] | None]) -> bool:
        """Return whether values within *bounds* may match; it returns the bounds of a column, None if not known."""
        for name, compare, value in self.comparisons:
            known = bounds(name)
            # Values of other types, such as dates, are compared by Arrow.
            if known is not None and type(known[0]) is type(value) and not _allows(known, compare, value):
                return False
        return True

    def matches(self, rows: pa.RecordBatch) -> npt.NDArray[np.bool_]:
        """Return for each of *rows*, which have the columns, whether it matches; True if Arrow cannot tell."""
        flags = np.zeros(rows.num_rows, np.bool_)
        try:
            flags[find_matching_rows(self.condition, rows)] = True
        except pa.ArrowException:  # of a value; whoever filters the rows reports it
            flags[:] = True
        return flags

    def fits(self, stored: pa.Schema) -> bool:
        """Return whether a file with the columns *stored* has all columns, with types whose bounds compare alike."""
        for field in self.columns:
            position = stored.get_field_index(field.name)
            if position < 0 or not _are_alike(stored.field(position).type, field.type):
                return False
        return True


def _are_alike(stored: pa.DataType, kind: pa.DataType) -> bool:
    """Return whether bounds of the type *stored* can be compared with values of *kind*."""
    both = (stored, kind)
    return stored == kind or any(all(map(test, both)) for test in (pa.types.is_integer, pa.types.is_decimal, _is_text))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


HIGHEST = (1 << 63) - 1
"""The highest ordering value of all: no row has a higher one."""

_KEY_COLUMN = pa.schema([(RECORD_KEY, pa.string())])


@dataclass(frozen=True, slots=True)
class KeyFilter:
    """A condition on ``_hoodie_record_key``; ``keys`` are the only keys that can match it, None if not known."""

    condition: pc.Expression
    keys: frozenset[str] | None = None

    @property
    def of_file(self) -> FileFilter:
        """The condition as a filter of base files."""
        return FileFilter(self.condition, _KEY_COLUMN, matches_nan=False)

    def __and__(self, other: KeyFilter) -> KeyFilter:
        known = [part.keys for part in (self, other) if part.keys is not None]
        return KeyFilter(self.condition & other.condition, frozenset.intersection(*known) if known else None)

    def __or__(self, other: KeyFilter) -> KeyFilter:
        keys = None if self.keys is None or other.keys is None else self.keys | other.keys
        return KeyFilter(self.condition | other.condition, keys)

    def rows(self, keys: pa.Array) -> npt.NDArray[np.int64]:
        """Return the ascending indices of the *keys* that match."""
        return find_matching_rows(self.condition, pa.RecordBatch.from_arrays([keys], [RECORD_KEY]))
