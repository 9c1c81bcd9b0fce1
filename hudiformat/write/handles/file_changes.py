"""The changes of base files: matched with the rows that a file has, and merged with them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pyarrow as pa

from hudiformat.file_group.base_file.read import BaseRows
from hudiformat.file_group.merging.custom import call_merger
from hudiformat.file_group.merging.keys import KeyIndex, RowSource
from hudiformat.file_group.merging.partial import combine_columns, set_by
from hudiformat.file_group.merging.rule import (
    PartialUpdate,
    RecordMerger,
    comparable_integers,
    ordering_values,
)
from hudiformat.schema.meta_fields import INSERTED, RECORD_KEY, UPDATED, is_meta_field
from hudiformat.write.commit.files import WriteCounts
from hudiformat.write.handles.base_files import OpenBaseFile
from hudiformat.write.handles.change_log import DELETE, UPDATE, ChangeLog
from hudiformat.write.rows import (
    NOT_IN_BASE_FILE,
    Booleans,
    Integers,
    take_rows,
)

_LOWER_HALF = 0xFFFFFFFF
_ONE_MERGER = threading.Lock()
"""Held while a merger of the user runs: file groups are written by several threads, and queries call it in turn."""


class Matches(Protocol):
    """Finds the rows of a base file that changes belong to."""

    def of(self, rows: BaseRows) -> tuple[Integers, Integers]:
        """Return the indices of those *rows* that a change belongs to, ascending, and the number of each change."""

    def unmatched(self) -> Booleans:
        """Return which changes have matched no row, once all rows have been passed to :meth:`of`."""


class KeyMatches:
    """Matches by record key: of several rows with one key, only the first gets the change, as in Hudi."""

    def __init__(self, keys: pa.ChunkedArray) -> None:
        self._index = KeyIndex.of(keys)
        self._seen = np.zeros(len(keys), np.bool_)

    def of(self, rows: BaseRows) -> tuple[Integers, Integers]:
        """See :meth:`Matches.of`."""
        at, numbers = self._index.find(pa.chunked_array([rows.head[RECORD_KEY]]))
        change = self._index.rows[numbers]
        first = np.unique(change, return_index=True)[1]
        new = np.sort(first[~self._seen[change[first]]])
        self._seen[change] = True
        return at[new], change[new]

    def unmatched(self) -> Booleans:
        """See :meth:`Matches.unmatched`."""
        return ~self._seen


class PositionMatches:
    """Matches by the position in the base file that an index has found, or NOT_IN_BASE_FILE; no two are the same."""

    def __init__(self, positions: Integers) -> None:
        self._missed: Booleans = positions == NOT_IN_BASE_FILE
        # Each position goes into the upper half of an integer, the number of its change into the lower half: sorting
        # these is several times as fast as argsort.  The positions [7, 2, 5] become [2 | 1, 5 | 2, 7 | 0], so the
        # changes in the order of the rows are [1, 2, 0].
        ascending = np.sort(positions << 32 | np.arange(len(positions)))
        self._changes, self._positions = ascending & _LOWER_HALF, ascending >> 32

    def of(self, rows: BaseRows) -> tuple[Integers, Integers]:
        """See :meth:`Matches.of`."""
        first, last = np.searchsorted(self._positions, [rows.numbers[0], rows.numbers[-1] + 1])
        return self._positions[first:last] - rows.numbers[0], self._changes[first:last]

    def unmatched(self) -> Booleans:
        """See :meth:`Matches.unmatched`."""
        return self._missed


@dataclass(frozen=True, slots=True)
class ChangedRows:
    """Rows that replace the rows of a base file that they match, or delete them if ``deleted``.

    A row loses to one of the file with a higher value of the ``ordering_fields``; not so one in ``wins``, such as a
    delete without an ordering value.  ``rows`` have the key as their only meta field.
    """

    matches: Matches
    rows: RowSource
    deleted: Booleans
    wins: Booleans
    ordering_fields: tuple[str, ...]

    def match(self, rows: BaseRows) -> tuple[Integers, Integers, Booleans]:
        """Return the indices of those *rows* that match, ascending, the number of each change, and whether it wins."""
        at, change = self.matches.of(rows)
        return at, change, self._winning(pa.Table.from_batches([rows.head]), at, change)

    def unmatched(self) -> Booleans:
        """Return which changes are new rows, once all rows have been passed to :meth:`match`."""
        return self.matches.unmatched() & ~self.deleted

    def _winning(self, base: pa.Table, at: Integers, change: Integers) -> Booleans:
        """Return which changes win against the row that they match: all but those with a lower ordering value."""
        if not self.ordering_fields:
            return np.ones(len(at), np.bool_)
        new = self.rows.take(change, self.ordering_fields)
        both = pa.table(
            {
                name: pa.chunked_array(
                    [*new[name].chunks, *take_rows(base[name], at).chunks], base.schema.field(name).type
                )
                for name in self.ordering_fields
            }
        )
        ranks = comparable_integers(tuple(ordering_values(both, self.ordering_fields)), 2 * len(at))
        wins: Booleans = self.wins[change] | (ranks[: len(at)] >= ranks[len(at) :])
        return wins


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes of a base file that is read part by part.

    If ``partial`` says which values a row sets, the row that wins takes the others from the row that loses.  A
    ``merger`` merges each change with its row, whatever their ordering values.

    ``stored`` adds the other meta fields to the rows that are written, including the operation if the table has it, and
    these then have ``schema``.  ``deleted_keys`` collects the keys of the rows that were deleted.  ``indexed_file`` is
    the new file, if secondary indexes need the rows that change, before and after.
    """

    changed: ChangedRows
    stored: Callable[[pa.Table, str], pa.Table]
    schema: pa.Schema
    partial: PartialUpdate | None = None
    merger: RecordMerger | None = None
    indexed_file: OpenBaseFile | None = None
    deleted_keys: list[pa.ChunkedArray] = field(default_factory=list)

    def merge(self, rows: BaseRows, log: ChangeLog | None = None) -> tuple[pa.Table, WriteCounts]:
        """Return the rows that replace *rows*, in their order, with counts; the changes are added to *log*."""
        at, change, wins = self.changed.match(rows)
        base = merged = None
        if self.partial is not None or self.merger is not None:
            base = pa.Table.from_batches(rows.read(), self.schema)
        if base is not None and self.partial is not None:
            wins, merged = self._merge_columns(base, at, change, wins)
        elif base is not None and self.merger is not None:
            merged = self._merge_by(self.merger, base, at, change)
        at, change = at[wins], change[wins]
        updated = ~self.changed.deleted[change]
        counts = WriteCounts(updates=int(updated.sum()), deletes=int((~updated).sum()))
        is_silent = log is None and self.indexed_file is None and base is None
        if is_silent and updated.all() and len(at) == rows.head.num_rows:  # no other column of the old rows is read
            return self.stored(self.changed.rows.take(change), UPDATED), counts
        base = pa.Table.from_batches(rows.read(), self.schema) if base is None else base
        new = self.stored(self.changed.rows.take(change[updated]) if merged is None else merged, UPDATED)
        if log is not None:
            log.add(DELETE, base.take(pa.array(at[~updated])), None)
            log.add(UPDATE, base.take(pa.array(at[updated])), new)
        if self.indexed_file is not None:
            self.indexed_file.drop_values(base, pa.array(at))
            self.indexed_file.add_values(new)
        if counts.deletes:
            self.deleted_keys.append(base[RECORD_KEY].take(pa.array(at[~updated])))
        return replace_rows(base, at, updated, new), counts

    def remaining_rows(self) -> pa.Table:
        """Return the rows whose key was not in the base file."""
        return self.stored(self.changed.rows.rows.filter(pa.array(self.changed.unmatched())), INSERTED)

    def _merge_columns(
        self, base: pa.Table, at: Integers, change: Integers, wins: Booleans
    ) -> tuple[Booleans, pa.Table]:
        """Return which matches change the row of *base*, and the rows merged from those that do not delete it.

        A row that wins against a change is changed all the same if it leaves a column unset.  By a payload class it is
        a new row whatever its values are.

        Source: BufferedRecordMergerFactory.EventTimePartialRecordMerger.finalMerge, PartialUpdateHandler.
        """
        assert self.partial is not None  # noqa: S101 - the caller has checked
        updates = np.flatnonzero(~self.changed.deleted[change])
        newer = self.changed.rows.take(change[updates])
        older = base.select(newer.schema.names).take(pa.array(at[updates]))
        older = pa.Table.from_arrays(older.columns, schema=newer.schema)
        older_set, newer_set = (set_by(self.partial, one) for one in (older, newer))
        is_filled = np.full(len(updates), self.partial.as_payload)
        for sets_it in older_set.values() if self.partial.late_rows_fill else ():
            is_filled |= ~sets_it
        changes: Booleans = wins.copy()
        changes[updates] |= is_filled
        merged = combine_columns(older, older_set, newer, newer_set, wins[updates])
        return changes, pa.Table.from_batches([merged]).filter(pa.array(changes[updates]))

    def _merge_by(self, merger: RecordMerger, base: pa.Table, at: Integers, change: Integers) -> pa.Table:
        """Return the rows that *merger* makes of rows of *base* and the changes that do not delete them."""
        updates = ~self.changed.deleted[change]
        newer = self.changed.rows.take(change[updates])
        own = pa.schema([field for field in newer.schema if not is_meta_field(field.name)])
        older = base.select(own.names).take(pa.array(at[updates]))
        with _ONE_MERGER:
            merged = call_merger(merger, pa.Table.from_arrays(older.columns, schema=own), newer.select(own.names))
        keys = [newer[name] for name in newer.schema.names if is_meta_field(name)]
        return pa.Table.from_arrays([*merged.columns, *keys], schema=newer.schema)


def replace_rows(base: pa.Table, at: Integers, updated: Booleans, new: pa.Table) -> pa.Table:
    """Return *base* with the rows at the indices *at*, which ascend, replaced: by *new* where *updated*, or by none.

    Three old rows, the second updated, the third deleted::

        both     old 0, old 1, old 2, new 0
        indices  0  3  -1    of the row in `both` that replaces each old row, -1 for none
    """
    if not len(at):
        return base
    indices = np.arange(base.num_rows)
    indices[at] = -1
    if not updated.any():
        return base.filter(pa.array(indices >= 0))
    indices[at[updated]] = base.num_rows + np.arange(new.num_rows)
    both = pa.concat_tables([base, new]).combine_chunks()
    return both.take(pa.array(indices[indices >= 0]))
