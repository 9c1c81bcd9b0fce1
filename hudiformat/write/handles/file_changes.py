"""The changes of base files: collected from a write, matched with the rows that a file has, and merged with them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from hudiformat.file_group.base_file.read import BaseRows
from hudiformat.file_group.merging.custom import call_merger
from hudiformat.file_group.merging.keys import KeyIndex, RowSource
from hudiformat.file_group.merging.partial import combine_columns, set_by
from hudiformat.file_group.merging.rule import (
    Combining,
    PartialUpdate,
    RecordMerger,
    comparable_integers,
    lacks_ordering_value,
    ordering_values,
)
from hudiformat.schema.meta_fields import INSERTED, RECORD_KEY, UPDATED, is_meta_field
from hudiformat.schema.table_schema import field_type
from hudiformat.table.options.values import Operation
from hudiformat.write.commit.files import WriteCounts
from hudiformat.write.commit.plan import WritePlan
from hudiformat.write.duplicates import combine
from hudiformat.write.handles.base_files import OpenBaseFile
from hudiformat.write.handles.change_log import DELETE, UPDATE, ChangeLog
from hudiformat.write.rows import (
    NOT_IN_BASE_FILE,
    Booleans,
    Integers,
    LocatedRows,
    combine_chunks,
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
class Changes:
    """The changes of a base file: ``rows`` replace the rows that they match, or delete them if ``deleted``.

    A change loses to a row with a higher value of the ``ordering_fields``; not so one in ``wins``, such as a delete
    without an ordering value.  If ``partial`` says which values a row sets, the row that wins takes the others from the
    row that loses.  A ``merger`` merges each change with its row, whatever their ordering values.

    ``rows`` have the key as their only meta field; ``stored`` adds the others to the rows that are written, including
    the operation if the table has it, and these then have ``schema``.  ``deleted_keys`` collects the keys of the rows
    that were deleted.  ``indexed_file`` is the new file, if secondary indexes need the rows that change, before and
    after.
    """

    matches: Matches
    rows: RowSource
    stored: Callable[[pa.Table, str], pa.Table]
    schema: pa.Schema
    deleted: Booleans
    wins: Booleans
    ordering_fields: tuple[str, ...]
    partial: PartialUpdate | None = None
    merger: RecordMerger | None = None
    indexed_file: OpenBaseFile | None = None
    deleted_keys: list[pa.ChunkedArray] = field(default_factory=list)

    def match(self, rows: BaseRows) -> tuple[Integers, Integers, Booleans]:
        """Return what ``matches`` finds for *rows*, and which of these changes win against their row.

        All but those with a lower ordering value do.
        """
        at, change = self.matches.of(rows)
        return at, change, self._winning_changes(pa.Table.from_batches([rows.head]), at, change)

    def merge(self, rows: BaseRows, log: ChangeLog | None = None) -> tuple[pa.Table, WriteCounts]:
        """Return the rows that replace *rows*, in their order, with counts; the changes are added to *log*."""
        at, change, wins = self.match(rows)
        base = merged = None
        if self.partial is not None or self.merger is not None:
            base = pa.Table.from_batches(rows.read(), self.schema)
        if base is not None and self.partial is not None:
            wins, merged = self._merge_columns(base, at, change, wins)
        elif base is not None and self.merger is not None:
            merged = self._merge_by(self.merger, base, at, change)
        at, change = at[wins], change[wins]
        updated = ~self.deleted[change]
        counts = WriteCounts(updates=int(updated.sum()), deletes=int((~updated).sum()))
        is_silent = log is None and self.indexed_file is None and base is None
        if is_silent and updated.all() and len(at) == rows.head.num_rows:  # no other column of the old rows is read
            return self.stored(self.rows.take(change), UPDATED), counts
        base = pa.Table.from_batches(rows.read(), self.schema) if base is None else base
        new = self.stored(self.rows.take(change[updated]) if merged is None else merged, UPDATED)
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
        return self.stored(self.rows.rows.filter(pa.array(self.matches.unmatched() & ~self.deleted)), INSERTED)

    def _merge_columns(
        self, base: pa.Table, at: Integers, change: Integers, wins: Booleans
    ) -> tuple[Booleans, pa.Table]:
        """Return which matches change the row of *base*, and the rows merged from those that do not delete it.

        A row that wins against a change is changed all the same if it leaves a column unset.  By a payload class it is
        a new row whatever its values are.

        Source: BufferedRecordMergerFactory.EventTimePartialRecordMerger.finalMerge, PartialUpdateHandler.
        """
        assert self.partial is not None  # noqa: S101 - the caller has checked
        updates = np.flatnonzero(~self.deleted[change])
        newer = self.rows.take(change[updates])
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
        updates = ~self.deleted[change]
        newer = self.rows.take(change[updates])
        own = pa.schema([field for field in newer.schema if not is_meta_field(field.name)])
        older = base.select(own.names).take(pa.array(at[updates]))
        with _ONE_MERGER:
            merged = call_merger(merger, pa.Table.from_arrays(older.columns, schema=own), newer.select(own.names))
        keys = [newer[name] for name in newer.schema.names if is_meta_field(name)]
        return pa.Table.from_arrays([*merged.columns, *keys], schema=newer.schema)

    def _winning_changes(self, base: pa.Table, at: Integers, change: Integers) -> Booleans:
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
        loses: Booleans = self.wins[change] | (ranks[: len(at)] >= ranks[len(at) :])
        return loses


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


Numbered = tuple[LocatedRows, int]
"""Rows, and the sequence number of the first row."""


@dataclass(frozen=True, slots=True)
class CollectedChanges:
    """What a write of *plan* changes in a base file, in the order in which it has come.

    ``changes`` are rows that are compared with those of the file, ``inserts`` rows that are not; ``deleted_keys`` are
    the keys of rows to delete, and ``deleted_positions`` where each part of them is in the file, if that is known.
    """

    plan: WritePlan
    changes: list[Numbered] = field(default_factory=list)
    inserts: list[Numbered] = field(default_factory=list)
    deleted_keys: list[pa.Array] = field(default_factory=list)
    deleted_positions: list[Integers | None] = field(default_factory=list)

    @classmethod
    def of_files(cls, every: Sequence[CollectedChanges], starts: Sequence[int]) -> CollectedChanges:
        """Return the changes of several files, whose positions are known, as if the files were one.

        The rows of each file begin at *starts* there.
        """
        joined = cls(every[0].plan)
        for one, start in zip(every, starts, strict=True):
            for rows, first in one.changes:
                joined.update(replace(rows, positions=_move(rows.known_positions, start)), first)
            for keys, known in zip(one.deleted_keys, one.deleted_positions, strict=True):
                joined.delete(keys, None if known is None else _move(known, start))
            joined.inserts.extend(one.inserts)
        return joined

    def insert(self, rows: LocatedRows, first_counter: int) -> None:
        """Add new rows; if an insert may add a key again, they are not compared with the existing rows."""
        doubles = self.plan.operation is not Operation.UPSERT and self.plan.options.allow_duplicates
        (self.inserts if doubles else self.changes).append((rows, first_counter))

    def update(self, rows: LocatedRows, first_counter: int) -> None:
        """Add rows that update existing rows, or delete them by their own delete column."""
        self.changes.append((rows, first_counter))

    def delete(self, record_keys: pa.Array, positions: Integers | None) -> None:
        """Add keys of rows to delete, whatever their ordering values."""
        self.deleted_keys.append(record_keys)
        self.deleted_positions.append(positions)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """The number of changes, of deleted keys, and of inserts."""
        return _count_rows(self.changes), sum(map(len, self.deleted_keys)), _count_rows(self.inserts)

    @property
    def numbers(self) -> Integers:
        """The sequence numbers of all rows, of inserts last."""
        every = (np.arange(first, first + len(rows)) for rows, first in (*self.changes, *self.inserts))
        return np.concatenate([np.empty(0, np.int64), *every])

    @property
    def positions(self) -> Integers | None:
        """The rows of the base file that the changes belong to, deletes last; None if keys must be compared."""
        every = [*(rows.positions for rows, _ in self.changes), *self.deleted_positions]
        known = [positions for positions in every if positions is not None]
        if len(known) < len(every) or not self.plan.combines:
            return None
        return np.concatenate([np.empty(0, np.int64), *known])

    @property
    def touched(self) -> Integers | None:
        """The rows of the base file that changes touch, and NOT_IN_BASE_FILE for new rows; None if not known."""
        known = self.positions if self.changes or self.deleted_keys else np.empty(0, np.int64)
        return None if known is None else np.append(known, np.full(_count_rows(self.inserts), NOT_IN_BASE_FILE))

    def only_update(self, touched: Integers | None) -> bool:
        """Return whether no row comes or goes; *touched* is that of these changes."""
        if touched is None or self.inserts or self.deleted_keys or self.plan.merger is not None:
            return False
        deletes = any(self.plan.rule.deletes(rows.rows).any() for rows, _ in self.changes)
        return not deletes and not (touched == NOT_IN_BASE_FILE).any()

    def merged(
        self,
        *,
        stored: Callable[[pa.Table, str], pa.Table],
        schema: pa.Schema,
        indexed_file: OpenBaseFile | None = None,
    ) -> Changes:
        """Return the changes without the inserts, ready to be merged; the arguments are as in ``Changes``."""
        plan, key, positions = self.plan, key_column(self.plan), self.positions
        fields = () if plan.merger is not None else plan.ordering_fields
        rows = self._own_columns(self.changes)
        if not plan.combines:  # if the write combines, there is one row per key already
            merges = plan.rule.partial is not None or plan.rule.merger is not None
            how = Combining(plan.ordering_fields, plan.rule if merges else None)
            rows = combine(rows, [rows[key].combine_chunks()], how)
        deletes = self._delete_rows(rows.schema)
        deleted = plan.rule.deletes(rows)
        wins = deleted & (lacks_ordering_value([rows[name] for name in fields], rows.num_rows) | plan.rule.deletes_win)
        deleted, wins = (np.append(flags, np.ones(deletes.num_rows, np.bool_)) for flags in (deleted, wins))
        rows = combine_chunks(pa.concat_tables([rows, deletes]))
        matches = KeyMatches(rows[key]) if positions is None else PositionMatches(positions)
        return Changes(
            matches,
            RowSource(rows),
            stored,
            schema,
            deleted=deleted,
            wins=wins,
            ordering_fields=fields,
            partial=plan.rule.partial if plan.merger is None else None,
            merger=plan.merger,
            indexed_file=indexed_file,
        )

    def inserted(self) -> pa.Table:
        """Return the rows that are not compared with existing ones."""
        return self._own_columns(self.inserts)

    def _delete_rows(self, schema: pa.Schema) -> pa.Table:
        """Return the keys of rows to delete, with nulls in all other columns."""
        keys = pa.chunked_array(self.deleted_keys, pa.string()).combine_chunks()
        if self.positions is None:
            keys = keys.unique()
        key = key_column(self.plan)
        columns = [keys if field.name == key else pa.nulls(len(keys), field.type) for field in schema]
        return pa.Table.from_arrays(columns, schema=schema)

    def _own_columns(self, parts: Sequence[Numbered]) -> pa.Table:
        """Return rows with their own columns, and with their keys if no column has them."""
        schema, extra = self.plan.schema.arrow, key_column(self.plan) == RECORD_KEY
        if extra:
            schema = schema.append(pa.field(RECORD_KEY, pa.string()))
        batches = [
            pa.RecordBatch.from_arrays([*rows.rows.columns, *([rows.keys] if extra else [])], schema=schema)
            for rows, _ in parts
        ]
        return pa.Table.from_batches(batches, schema)


def key_column(plan: WritePlan) -> str:
    """Return the column of changes that has their keys: the meta field, unless a string column of the table has them."""
    config, schema = plan.config, plan.schema.arrow
    names = config.record_key_fields
    kind = field_type(schema, names[0]) if len(names) == 1 and "." not in names[0] else None
    if kind is None or config.uses_complex_keys or not pa.types.is_string(kind):
        return RECORD_KEY
    return names[0]


def _count_rows(parts: Sequence[Numbered]) -> int:
    return sum(len(rows) for rows, _ in parts)


def _move(positions: Integers, start: int) -> Integers:
    """Return *positions* for rows that begin at *start*."""
    moved: Integers = np.where(positions == NOT_IN_BASE_FILE, NOT_IN_BASE_FILE, positions + start)
    return moved
