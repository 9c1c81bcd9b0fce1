"""The merge handle: merge new rows, updates and deletes with a base file into the next base file of its file group.

A bucket without a base file gets its first one in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from hudiformat.errors import UnsupportedFeatureError
from hudiformat.file_group.base_file.file_indexes import FileKeys
from hudiformat.file_group.base_file.read import BaseRows, read_few_rows, read_file_keys
from hudiformat.file_group.merging.keys import RowSource
from hudiformat.file_group.merging.rule import Combining, lacks_ordering_value
from hudiformat.file_group.renamed_columns import scan_rows
from hudiformat.file_group.slices import FileSlice
from hudiformat.schema.meta_fields import (
    INSERTED,
    RECORD_KEY,
    add_file_name,
    add_origin,
    without_file_name,
)
from hudiformat.schema.table_schema import field_type
from hudiformat.storage.threads import BackgroundCalls
from hudiformat.table.options.values import Operation
from hudiformat.table.registered import refuse_lacking_columns
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.write.commit.files import GroupTarget, WriteCounts, base_file_stat
from hudiformat.write.commit.plan import WritePlan
from hudiformat.write.duplicates import combine
from hudiformat.write.handles.base_files import OpenBaseFile, row_group_size
from hudiformat.write.handles.change_log import INSERT, ChangeLog
from hudiformat.write.handles.copied_groups import CopiedGroups, open_copied_groups
from hudiformat.write.handles.file_changes import ChangedRows, Changes, KeyMatches, PositionMatches
from hudiformat.write.rows import NOT_IN_BASE_FILE, Integers, LocatedRows, combine_chunks

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

    def compared(self) -> ChangedRows:
        """Return all of it but the inserts, ready to be matched with the rows of the file."""
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
        return ChangedRows(matches, RowSource(rows), deleted, wins, fields)

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
    """Return the column of changes that has their keys: the meta field, unless a column of the table has the same."""
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


_SMALL_FILE = 256 * 1024
"""Base files of at most so many bytes, and of one row group, are merged together: calls take most of their time."""


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
        self.target = target
        self._plan = target.plan
        self._base = base
        self.collected = CollectedChanges(self._plan)
        self._numbers: Integers = np.empty(0, np.int64)
        self._open: OpenBaseFile | None = None
        self._log = ChangeLog(target) if self._plan.config.cdc_enabled and base is not None else None
        self.buffered_bytes = 0

    def insert(self, rows: LocatedRows, *, first_counter: int) -> None:
        """Add new rows; if an insert may add a key again, they are not compared with the existing rows."""
        self.collected.insert(rows, first_counter)

    def update(self, rows: LocatedRows, *, first_counter: int) -> None:
        """Add rows that update existing rows, or delete them by their own delete column."""
        self.collected.update(rows, first_counter)

    def delete(self, record_keys: pa.Array, *, positions: Integers | None = None) -> None:
        """Add keys of rows to delete, whatever their ordering values."""
        self.collected.delete(record_keys, positions)

    def flush(self) -> None:
        """Do nothing: nothing can be written before the end."""

    @property
    def is_small(self) -> bool:
        """Whether the base file is small, and can be merged together with others: see ``merge_together``."""
        plan, base = self._plan, self._base
        if base is None or base.size > min(_SMALL_FILE, row_group_size(plan)) or not self.target.keeps_files_alone:
            return False
        return plan.merger is None and plan.rule.partial is None and self.collected.touched is not None

    def close(self) -> list[WriteStat]:
        """Write the base file, and return its statistic."""
        if self._base_path is None:
            return self._write_file(None)
        touched = self.collected.touched
        only_updates, key = self.collected.only_update(touched), key_column(self._plan)
        with open_copied_groups(self.target, self._base_path, touched, only_updates=only_updates, key=key) as copied:
            return self._write_file(copied)

    def _write_file(self, copied: CopiedGroups | None) -> list[WriteStat]:
        # The size of a row only decides where the first row groups end: that is not worth reading commits for.
        row_size = self._plan.options.sizing.record_size_estimate if copied is None else copied.row_size
        file = OpenBaseFile(self.target, row_size=row_size, copied=copied)
        self._open = file
        self._numbers = self.collected.numbers
        plan = self._plan
        changes = Changes(
            self.collected.compared(),
            self._add_meta_fields,
            self._schema,
            partial=plan.rule.partial if plan.merger is None else None,
            merger=plan.merger,
            indexed_file=file if plan.indexes is not None and plan.indexes.values else None,
        )
        counts = WriteCounts()
        # With indexes, rows are written in this thread, because the values for the indexes are collected in it.
        with BackgroundCalls(apart=self.target.threads.exist and self._plan.indexes is None) as behind:
            for part in self._parts(file, changes.changed.ordering_fields, copied):
                if not isinstance(part, BaseRows):
                    behind.call(*part)
                    continue
                merged, counted = changes.merge(part, self._log)
                counts += counted
                behind.call(file.write, add_file_name(merged, file.name))
            behind.finish()
        new_keys = [pa.array([], pa.string())]
        for rows in (changes.remaining_rows(), self._add_meta_fields(self.collected.inserted(), INSERTED)):
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
        return [self._stat(size, counts)]

    def read(self) -> tuple[pa.Table, FileKeys] | None:
        """Return the rows of the base file without its name, and what its footer says of their keys.

        Returns None if there are very many: few bytes may be many equal rows.
        """
        assert self._base_path is not None  # noqa: S101 - a file that is small is there
        return read_few_rows(self.target.storage, self._base_path, self._schema)

    def close_with(
        self, rows: pa.Table, counts: WriteCounts, *, known: FileKeys, added: pa.Array, size: int
    ) -> list[WriteStat]:
        """Write *rows*, of about *size* bytes, which are those of the base file with all changes.

        *known* are the keys that the old file had, *added* those that are new.
        """
        file = self._open = OpenBaseFile(self.target, row_size=self._plan.options.sizing.record_size_estimate)
        file.write(add_file_name(rows, file.name), size=size)
        return [self._stat(file.close(known=known, added=added), counts)]

    def _stat(self, size: int, counts: WriteCounts) -> WriteStat:
        """Return the statistic of the file that was open, and is closed now."""
        file, self._open = self._open, None
        assert file is not None  # noqa: S101 - the callers have opened it
        stat = base_file_stat(
            partition_path=self.target.partition_path,
            file_id=file.file_id,
            path=file.path,
            rows=file.rows,
            size=size,
            counts=counts,
            previous=None if self._base is None else self._base.name,
            indexed=file.indexed,
        )
        return stat if self._log is None else replace(stat, cdc_stats=self._log.close())

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
        has_positions = self.collected.positions is not None
        first = ordering_fields if has_positions and ordering_fields else (RECORD_KEY, *ordering_fields)
        head = pa.schema([self._schema.field(name) for name in dict.fromkeys(first)])
        storage, path, virtual = self.target.storage, self._base_path, self._plan.virtual_keys
        if virtual is None:
            yield from scan_rows(storage, path, self._schema, head, history=self._plan.history, groups=groups)
            return
        found = scan_rows(storage, path, virtual.stored(self._schema), virtual.stored(head), history=self._plan.history)
        yield from virtual.fill_base(found, head, self._schema)

    @property
    def _base_path(self) -> str | None:
        if self._base is None:
            return None
        return self.target.path(self._base.name.stored_as)

    def _base_keys(self) -> FileKeys | None:
        """Return the keys that the footer of the old base file describes."""
        return None if self._base_path is None else read_file_keys(self.target.storage, self._base_path)

    def _add_meta_fields(self, rows: pa.Table, operation: str) -> pa.Table:
        """Return rows of the collected changes with all meta fields except the file's name, numbered call by call."""
        numbers, self._numbers = np.split(self._numbers, [rows.num_rows])
        return add_meta_fields(self.target, rows, numbers, operation, partition_path=self.target.partition_path)


def add_meta_fields(
    target: GroupTarget, rows: pa.Table, numbers: Integers, operation: str, *, partition_path: str | pa.Array
) -> pa.Table:
    """Return *rows* of collected changes with all meta fields except the file's name; *numbers* are those of the rows.

    *partition_path* is the text for all rows, or an array with one text per row.
    """
    plan = target.plan
    return add_origin(
        rows.select(plan.schema.arrow.names),
        rows[key_column(plan)],
        pa.array(numbers),
        instant=plan.instant,
        partition_path=partition_path,
        task_partition=target.token.partition,
        operation=operation if plan.schema.keeps_operations else None,
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
