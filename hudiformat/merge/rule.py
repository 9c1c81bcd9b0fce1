"""Ordering values as integers that compare alike.  Pure.

Two values of one ordering column compare like their integers.  Several ordering columns compare in order.

How the records of a table are told apart and merged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.timeline import MergeMode

Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]


OrderingKeys = tuple[pa.ChunkedArray, ...]
"""One array per ordering column, in the order of the columns, all of one length."""


def comparable(columns: OrderingKeys, length: int) -> Integers:
    """An integer per row that compares like the row's ordering values; all zero where there are no columns.

    Null counts as Hudi's default, the int 0: as zero among numbers, and below everything else.
    """
    result: Integers = np.zeros(length, dtype=np.int64)
    for position, column in enumerate(columns):
        values = _as_integers(column)
        if position == 0 and len(columns) == 1:
            return values
        ranks = np.unique(values, return_inverse=True)[1].astype(np.int64)
        result = np.unique(result * (int(ranks.max(initial=0)) + 1) + ranks, return_inverse=True)[1].astype(np.int64)
    return result


def _as_integers(column: pa.ChunkedArray) -> Integers:
    kind = column.type
    if not len(column):
        return np.zeros(0, np.int64)  # older pyarrow cannot rank no decimals
    if pa.types.is_integer(kind):
        return np.asarray(pc.fill_null(column.cast(pa.int64()), 0))
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return np.asarray(pc.fill_null(column.cast(pa.int32()).cast(pa.int64()), np.iinfo(np.int64).min))
    if pa.types.is_timestamp(kind) or pa.types.is_time64(kind):
        return np.asarray(pc.fill_null(column.cast(pa.int64()), np.iinfo(np.int64).min))
    if pa.types.is_floating(kind):
        return _float_bits(pc.fill_null(column.cast(pa.float64()), 0.0))
    if pa.types.is_decimal(kind):
        column = pc.fill_null(column, pa.scalar(Decimal(0), kind))
    ranks = np.asarray(pc.rank(column, sort_keys="ascending", tiebreaker="dense")).astype(np.int64)
    return np.where(np.asarray(pc.is_null(column)), 0, ranks)


def _float_bits(column: pa.ChunkedArray) -> Integers:
    """As Java compares: -0.0 below 0.0, and NaN, whatever its bits, above all.  Source: java.lang.Double.compare."""
    values = np.asarray(column).copy()
    values[np.isnan(values)] = np.nan
    bits: Integers = values.view(np.int64)
    return np.asarray(np.where(bits < 0, bits ^ np.iinfo(np.int64).max, bits))


def without_ordering(ordering: Sequence[pa.ChunkedArray], length: int) -> Booleans:
    """Which deletes carry no ordering value: null, or the 32-bit 0 that Hudi writes for none."""
    if len(ordering) != 1:  # several ordering values are never Hudi's placeholder
        return np.full(length, not ordering, dtype=np.bool_)
    (column,) = ordering
    missing = pc.is_null(column)
    if pa.types.is_int32(column.type):
        missing = pc.or_(missing, pc.equal(pc.fill_null(column, 0), 0))
    return np.asarray(missing)


class RecordMerger(Protocol):
    """A table's own way of merging, for tables with a custom merge mode.

    Source: HoodieRecordMerger.
    """

    def merge(self, older: pa.Table, newer: pa.Table) -> pa.Table:
        """What becomes of each pair of rows with one key: row *i* of both and of the result belong together.

        All three have all columns of the table, and one schema.  Deletes do not come here: what stands before a delete
        is gone, and what comes after it begins anew.
        """
        ...


@dataclass(frozen=True, slots=True)
class PartialUpdate:
    """Which values a record leaves as they were: of *columns* those that are *marker*, or null without a marker.

    Payload classes do some things in their own way (*as_payload*): a delete wins whatever its ordering value, the
    values of a row that is a delete count below those that follow, and those of the columns *newest* always come from
    the newer record.

    Source: PartialUpdateHandler; PartialUpdateAvroPayload, OverwriteNonDefaultsWithLatestAvroPayload.
    """

    columns: frozenset[str]
    marker: str | None = None
    as_payload: bool = False
    newest: frozenset[str] = frozenset()

    def is_set(self, name: str, values: pa.ChunkedArray) -> Booleans:
        """Which of a column's *values* count."""
        if name not in self.columns:
            return np.ones(len(values), np.bool_)
        if self.marker is None:
            return np.asarray(pc.is_valid(values))
        return ~np.asarray(pc.fill_null(pc.equal(values.cast(pa.binary()), self.marker.encode()), False))


@dataclass(frozen=True, slots=True)
class MergeRule:
    """How the records of a table are told apart and merged.

    ``keys`` gives the record key of each row of a table.  A row is a delete when ``delete_column`` holds true in it,
    ``operation_column`` holds ``D`` or ``-U``, or the column that ``delete_marker`` names first holds the text that it
    names second.  ``partial`` says what a record leaves as it was, ``merger`` merges in place of everything else.
    """

    mode: MergeMode
    keys: Callable[[pa.Table], pa.ChunkedArray]
    ordering_fields: tuple[str, ...] = ()
    delete_column: str | None = None
    delete_marker: tuple[str, str] | None = None
    operation_column: str | None = None
    partial: PartialUpdate | None = None
    merger: RecordMerger | None = None

    @property
    def deletes_win(self) -> bool:
        """Whether a delete wins over all before it, whatever its ordering value."""
        return self.partial is not None and self.partial.as_payload

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that merging looks at, but for those that keys are made of."""
        marker = self.delete_marker and self.delete_marker[0]
        others = (self.delete_column, marker, self.operation_column)
        return (*self.ordering_fields, *(name for name in others if name))

    def deletes(self, rows: pa.Table) -> Booleans:
        """Which of *rows* are deletes.

        Source: RecordContext.isDeleteRecord.
        """
        flags = np.zeros(rows.num_rows, dtype=np.bool_)
        if self.delete_column is not None:
            flags |= _true(rows[self.delete_column])
        if self.operation_column is not None:
            flags |= _true(pc.is_in(rows[self.operation_column], value_set=pa.array(["D", "-U"])))
        if self.delete_marker is not None:
            column, marker = self.delete_marker
            flags |= _true(pc.equal(rows[column].cast(pa.string()), marker))
        return flags


def _true(values: pa.ChunkedArray) -> Booleans:
    return np.asarray(pc.fill_null(values, False))
