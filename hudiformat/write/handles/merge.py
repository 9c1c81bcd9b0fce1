"""The merge handle: merge new rows, updates and deletes with a base file into the next base file of its file group.

A bucket without a base file gets its first one in the same way.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from hudiformat.errors import UnsupportedFeatureError
from hudiformat.file_group.base_file.file_indexes import FileKeys
from hudiformat.file_group.base_file.read import BaseRows, read_file_keys
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
from hudiformat.file_group.renamed_columns import scan_rows
from hudiformat.file_group.slices import FileSlice
from hudiformat.schema.meta_fields import (
    INSERTED,
    RECORD_KEY,
    UPDATED,
    add_file_name,
    add_origin,
    is_meta_field,
    without_file_name,
)
from hudiformat.schema.table_schema import field_type
from hudiformat.storage.threads import BackgroundCalls
from hudiformat.table.options.values import Operation
from hudiformat.table.registered import refuse_lacking_columns
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.write.commit.files import GroupTarget, WriteCounts, base_file_stat
from hudiformat.write.duplicates import combine
from hudiformat.write.handles.base_files import OpenBaseFile
from hudiformat.write.handles.change_log import DELETE, INSERT, UPDATE, ChangeLog
from hudiformat.write.handles.copied_groups import CopiedGroups, open_copied_groups
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

    def merge(self, rows: BaseRows, log: ChangeLog | None = None) -> tuple[pa.Table, WriteCounts]:
        """Return the rows that replace *rows*, in their order, with counts; the changes are added to *log*."""
        head = pa.Table.from_batches([rows.head])
        at, change = self.matches.of(rows)
        wins = self._winning_changes(head, at, change)
        base = merged = None
        if self.partial is not None or self.merger is not None:
            base = pa.Table.from_batches(rows.read(), self.schema)
        if base is not None and self.partial is not None:
            wins, merged = self._merge_columns(base, at, change, wins)
        elif base is not None and self.merger is not None:
            merged = self._merge_by(self.merger, base, at, change)
        at, change = at[wins], change[wins]
        kept = np.ones(head.num_rows, np.bool_)
        kept[at] = False
        updated = ~self.deleted[change]
        counts = WriteCounts(updates=int(updated.sum()), deletes=int((~updated).sum()))
        is_silent = log is None and self.indexed_file is None and base is None
        if is_silent and updated.all() and len(at) == head.num_rows:  # no other column of the old rows is read
            return self.stored(self.rows.take(change), UPDATED), counts
        base = pa.Table.from_batches(rows.read(), self.schema) if base is None else base
        new = self.stored(self.rows.take(change[updated]) if merged is None else merged, UPDATED)
        if log is not None:
            log.add(DELETE, base.take(pa.array(at[~updated])), None)
            log.add(UPDATE, base.take(pa.array(at[updated])), new)
        if self.indexed_file is not None:
            self.indexed_file.drop_values(base, pa.array(at))
            self.indexed_file.add_values(new)
        if not len(at):
            return base, counts
        if counts.deletes:
            self.deleted_keys.append(base[RECORD_KEY].take(pa.array(at[~updated])))
        if not updated.any():
            return base.filter(pa.array(kept)), counts
        both = pa.concat_tables([base, new]).combine_chunks()
        # Three old rows, the second updated, the third deleted:
        #   both     old 0, old 1, old 2, new 0
        #   indices  0  3  -1    of the row in `both` that replaces each old row, -1 for none
        indices = np.where(kept, np.arange(base.num_rows), -1)
        indices[at[updated]] = base.num_rows + np.arange(int(updated.sum()))
        return both.take(pa.array(indices[indices >= 0])), counts

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


Numbered = tuple[LocatedRows, int]
"""Rows, and the sequence number of the first row."""


class MergeHandle:
    """Collects the changes of a file group, and writes its next base file at the end.

    The old base file is streamed batch by batch: memory is bounded by a row group, the record keys, and the changes.
    Rows that stay keep their meta fields, except the file's name.  *below* is the newest slice of the group, if there
    is one.  It must have no log files: they are not read, and the new base file would hide them.

    Raises:
        UnsupportedFeatureError: the slice has log files.

    Source: FileGroupReaderBasedMergeHandle; HoodieConcatHandle for rows that are not compared with existing ones.
    """

    def __init__(self, target: GroupTarget, below: FileSlice | None) -> None:
        _refuse_log_files(target, below)
        if below is not None and below.is_registered:
            refuse_lacking_columns(target.storage, target.plan.config, below)
        base = None if below is None else below.base_file
        self._target = target
        self._plan = target.plan
        self._base = base
        self._changes: list[Numbered] = []
        self._inserts: list[Numbered] = []
        self._deleted_keys: list[pa.Array] = []
        self._deleted_positions: list[Integers | None] = []
        self._numbers: Integers = np.empty(0, np.int64)
        self._open: OpenBaseFile | None = None
        self._log = ChangeLog(target) if self._plan.config.cdc_enabled and base is not None else None
        self.buffered_bytes = 0

    def insert(self, rows: LocatedRows, *, first_counter: int) -> None:
        """Add new rows; if an insert may add a key again, they are not compared with the existing rows."""
        doubles = self._plan.operation is not Operation.UPSERT and self._plan.options.allow_duplicates
        (self._inserts if doubles else self._changes).append((rows, first_counter))

    def update(self, rows: LocatedRows, *, first_counter: int) -> None:
        """Add rows that update existing rows, or delete them by their own delete column."""
        self._changes.append((rows, first_counter))

    def delete(self, record_keys: pa.Array, *, positions: Integers | None = None) -> None:
        """Add keys of rows to delete, whatever their ordering values."""
        self._deleted_keys.append(record_keys)
        self._deleted_positions.append(positions)

    def flush(self) -> None:
        """Do nothing: nothing can be written before the end."""

    def close(self) -> list[WriteStat]:
        """Write the base file, and return its statistic."""
        if self._base_path is None:
            return self._write_file(None)
        touched = self._touched()
        with open_copied_groups(
            self._target, self._base_path, touched, only_updates=self._only_updates(touched), key=self._key
        ) as copied:
            return self._write_file(copied)

    def _write_file(self, copied: CopiedGroups | None) -> list[WriteStat]:
        # The size of a row only decides where the first row group ends: that is not worth reading commits for.
        file = OpenBaseFile(self._target, row_size=self._plan.options.sizing.record_size_estimate, copied=copied)
        self._open = file
        self._numbers = _numbers([*self._changes, *self._inserts])
        changes = self._build_changes(file)
        counts = WriteCounts()
        # With indexes, rows are written in this thread, because the values for the indexes are collected in it.
        with BackgroundCalls(apart=self._target.threads > 1 and self._plan.indexes is None) as behind:
            for part in self._parts(file, changes.ordering_fields, copied):
                if not isinstance(part, BaseRows):
                    behind.call(*part)
                    continue
                merged, counted = changes.merge(part, self._log)
                counts += counted
                behind.call(file.write, add_file_name(merged, file.name))
            behind.finish()
        new_keys = [pa.array([], pa.string())]
        for rows in (changes.remaining_rows(), self._add_meta_fields(self._own_columns(self._inserts), INSERTED)):
            if self._log is not None:
                self._log.add(INSERT, None, rows)
            counts += WriteCounts(inserts=rows.num_rows)
            file.write(add_file_name(rows, file.name))
            file.add_keys(rows[RECORD_KEY])
            file.add_values(rows)
            new_keys += rows[RECORD_KEY].chunks
        for keys in changes.deleted_keys:
            file.drop_keys(keys)
        # The bloom filter of the old file has all keys but the new ones; those that are deleted do no harm in it.
        added = pa.concat_arrays(new_keys)
        if copied is None:
            size = file.close(known=self._base_keys(), added=added)
        else:
            size = file.close(own=copied.keys_with(added, bloom_filter=self._plan.options.bloom_filter))
        rows_written = file.rows
        self._open = None
        stat = base_file_stat(
            partition_path=self._target.partition_path,
            file_id=file.file_id,
            path=file.path,
            rows=rows_written,
            size=size,
            counts=counts,
            previous=None if self._base is None else self._base.name,
            indexed=file.indexed,
        )
        return [stat if self._log is None else replace(stat, cdc_stats=self._log.close())]

    def abandon(self) -> None:
        """Stop writing; the rollback of the write deletes the files."""
        if self._open:
            self._open.abandon()
        if self._log is not None:
            self._log.abandon()

    @property
    def _schema(self) -> pa.Schema:
        """All columns except the file's name, which all rows get when they are written."""
        return without_file_name(self._plan.schema.arrow_with_meta)

    def _parts(
        self, file: OpenBaseFile, ordering_fields: tuple[str, ...], copied: CopiedGroups | None
    ) -> Iterator[BaseRows | tuple[Callable[[int], None], int]]:
        """Yield the rows of the old base file, and in their place what copies them to *file*."""
        if copied is None:
            yield from self._base_rows(ordering_fields)
            return
        for number in range(copied.count):
            if number in copied.chosen:
                yield file.copy, number
                continue
            yield from self._base_rows(ordering_fields, groups=(number,))
            if copied.kept:
                yield file.replace, number

    def _base_rows(
        self, ordering_fields: tuple[str, ...], *, groups: Collection[int] | None = None
    ) -> Iterator[BaseRows]:
        if self._base_path is None:
            return
        first = ordering_fields if self._positions() is not None and ordering_fields else (RECORD_KEY, *ordering_fields)
        head = pa.schema([self._schema.field(name) for name in dict.fromkeys(first)])
        storage, path, virtual = self._target.storage, self._base_path, self._plan.virtual_keys
        if virtual is None:
            yield from scan_rows(storage, path, self._schema, head, history=self._plan.history, groups=groups)
            return
        found = scan_rows(storage, path, virtual.stored(self._schema), virtual.stored(head), history=self._plan.history)
        yield from virtual.fill_base(found, head, self._schema)

    @property
    def _base_path(self) -> str | None:
        if self._base is None:
            return None
        return self._target.path(self._base.name.stored_as)

    def _base_keys(self) -> FileKeys | None:
        """Return the keys that the footer of the old base file describes."""
        return None if self._base_path is None else read_file_keys(self._target.storage, self._base_path)

    @property
    def _key(self) -> str:
        """The column of changes that has their keys: the meta field, unless one string column of the table has them."""
        config, schema = self._plan.config, self._plan.schema.arrow
        names = config.record_key_fields
        kind = field_type(schema, names[0]) if len(names) == 1 and "." not in names[0] else None
        if kind is None or config.uses_complex_keys or not pa.types.is_string(kind):
            return RECORD_KEY
        return names[0]

    def _build_changes(self, file: OpenBaseFile) -> Changes:
        plan = self._plan
        indexed_file = file if plan.indexes is not None and plan.indexes.values else None
        merger = plan.merger
        fields = () if merger is not None else plan.ordering_fields
        positions = self._positions()
        rows = self._own_columns(self._changes)
        if not plan.combines:  # if the write combines, there is one row per key already
            merges = plan.rule.partial is not None or plan.rule.merger is not None
            how = Combining(plan.ordering_fields, plan.rule if merges else None)
            rows = combine(rows, [rows[self._key].combine_chunks()], how)
        deletes = self._delete_rows(rows.schema)
        deleted = plan.rule.deletes(rows)
        wins = deleted & (lacks_ordering_value([rows[name] for name in fields], rows.num_rows) | plan.rule.deletes_win)
        deleted, wins = (np.append(flags, np.ones(deletes.num_rows, np.bool_)) for flags in (deleted, wins))
        rows = combine_chunks(pa.concat_tables([rows, deletes]))
        matches = KeyMatches(rows[self._key]) if positions is None else PositionMatches(positions)
        return Changes(
            matches,
            RowSource(rows),
            self._add_meta_fields,
            self._schema,
            deleted=deleted,
            wins=wins,
            ordering_fields=fields,
            partial=plan.rule.partial if merger is None else None,
            merger=merger,
            indexed_file=indexed_file,
        )

    def _positions(self) -> Integers | None:
        """Return the rows of the base file that the changes belong to, deletes last; None if keys must be compared."""
        every = [*(rows.positions for rows, _ in self._changes), *self._deleted_positions]
        known = [positions for positions in every if positions is not None]
        if len(known) < len(every) or not self._plan.combines:
            return None
        return np.concatenate([np.empty(0, np.int64), *known])

    def _touched(self) -> Integers | None:
        """Return the rows of the base file that changes touch, and NOT_IN_BASE_FILE for new rows; None if unknown."""
        has_changes = bool(self._changes or self._deleted_keys)
        known = self._positions() if has_changes else np.empty(0, np.int64)
        new = sum(len(rows) for rows, _ in self._inserts)
        return None if known is None else np.append(known, np.full(new, NOT_IN_BASE_FILE))

    def _only_updates(self, touched: Integers | None) -> bool:
        """Return whether no row comes or goes; *touched* is what :meth:`_touched` says."""
        if touched is None or self._inserts or self._deleted_keys or self._plan.merger is not None:
            return False
        deletes = any(self._plan.rule.deletes(rows.rows).any() for rows, _ in self._changes)
        return not deletes and not (touched == NOT_IN_BASE_FILE).any()

    def _delete_rows(self, schema: pa.Schema) -> pa.Table:
        """Return the keys of rows to delete, with nulls in all other columns."""
        keys = pa.chunked_array(self._deleted_keys, pa.string()).combine_chunks()
        if self._positions() is None:
            keys = keys.unique()
        columns = [keys if field.name == self._key else pa.nulls(len(keys), field.type) for field in schema]
        return pa.Table.from_arrays(columns, schema=schema)

    def _own_columns(self, parts: list[Numbered]) -> pa.Table:
        """Return rows with their own columns, and with their keys if no column has them."""
        schema, extra = self._plan.schema.arrow, self._key == RECORD_KEY
        if extra:
            schema = schema.append(pa.field(RECORD_KEY, pa.string()))
        batches = [
            pa.RecordBatch.from_arrays([*rows.rows.columns, *([rows.keys] if extra else [])], schema=schema)
            for rows, _ in parts
        ]
        return pa.Table.from_batches(batches, schema)

    def _add_meta_fields(self, rows: pa.Table, operation: str) -> pa.Table:
        """Return rows of :meth:`_own_columns` with all meta fields except the file's name, numbered call by call."""
        numbers, self._numbers = np.split(self._numbers, [rows.num_rows])
        return add_origin(
            rows.select(self._plan.schema.arrow.names),
            rows[self._key],
            pa.array(numbers),
            instant=self._plan.instant,
            partition_path=self._target.partition_path,
            task_partition=self._target.token.partition,
            operation=operation if self._plan.schema.keeps_operations else None,
        )


def _refuse_log_files(target: GroupTarget, below: FileSlice | None) -> None:
    """Raise an UnsupportedFeatureError if the slice has log files.

    Sizing never chooses such a group, so this only happens in COPY_ON_WRITE tables with log files.
    """
    if below is not None and below.log_files:
        raise UnsupportedFeatureError(
            f"the file group {below.file_id} in partition {below.partition_path!r} of "
            f"{target.storage.root}: expected no log files in a copy-on-write table, found "
            "some, whose rows a new base file would hide; make the table MERGE_ON_READ and "
            "compact it",
            feature="rewriting a base file that has log files",
        )


def _numbers(parts: list[Numbered]) -> Integers:
    """Return the sequence numbers of all rows of *parts*."""
    return np.concatenate([np.empty(0, np.int64), *(np.arange(first, first + len(rows)) for rows, first in parts)])
