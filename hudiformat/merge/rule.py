"""How the records of a table are told apart and merged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.timeline import MergeMode

Booleans = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]


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
