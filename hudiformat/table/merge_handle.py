"""The merge handle: a base file and new rows, updates and deletes -> the next base file of the same file group.

A bucket that is not there yet has no base file; its first one is written in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.basefile import BaseRows, add_meta_columns, scan_base_rows
from hudiformat.basefile.meta_fields import RECORD_KEY, add_file_name, without_file_name
from hudiformat.merge import KeyIndex, number_keys
from hudiformat.merge.ordering import comparable, without_ordering
from hudiformat.naming import WriteToken
from hudiformat.storage import Storage
from hudiformat.table.change_log import DELETE, INSERT, UPDATE, ChangeLog
from hudiformat.table.combining import combine, combines, ordering_fields_of
from hudiformat.table.open_file import OpenBaseFile
from hudiformat.table.places import taken
from hudiformat.table.plan import Operation, WritePlan
from hudiformat.table.stats import WriteCounts, base_file_stat
from hudiformat.timeline import WriteStat
from hudiformat.view import BaseFile

Booleans = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]
Rows = tuple[pa.RecordBatch, pa.Array, int]
"""Rows with the table's own columns, their keys, and the number of the first of them."""


class MergeHandle:
    """Gathers what is to change in a file group, and writes its next base file at the end.

    The old base file streams through, a batch after the other: memory is bounded by a row group, the record keys, and
    what is to change.  Rows that stay keep their meta fields but for the file's name.

    Source: FileGroupReaderBasedMergeHandle; HoodieConcatHandle for rows that are not compared with those there.
    """

    def __init__(
        self,
        storage: Storage,
        plan: WritePlan,
        token: WriteToken,
        partition_path: str,
        *,
        file_id: str,
        base: BaseFile | None,
    ) -> None:
        self._storage = storage
        self._plan = plan
        self._token = token
        self._partition_path = partition_path
        self._file_id = file_id
        self._base = base
        self._changes: list[Rows] = []
        self._inserts: list[Rows] = []
        self._deleted_keys: list[pa.Array] = []
        self._open: OpenBaseFile | None = None
        self._log = (
            ChangeLog(storage, plan, token, partition_path, file_id)
            if plan.config.cdc_enabled and base is not None
            else None
        )
        self.buffered_bytes = 0

    def insert(self, rows: pa.RecordBatch, record_keys: pa.Array, *, first_counter: int) -> None:
        """Take new rows; where an insert may double a key, they are not compared with the rows that are there."""
        doubles = self._plan.operation is not Operation.UPSERT and self._plan.options.allow_duplicates
        (self._inserts if doubles else self._changes).append((rows, record_keys, first_counter))

    def update(self, rows: pa.RecordBatch, record_keys: pa.Array, *, first_counter: int) -> None:
        """Take rows, those that are deletes by their own column among them."""
        self._changes.append((rows, record_keys, first_counter))

    def delete(self, record_keys: pa.Array) -> None:
        """Take keys of rows that go, whatever their ordering values."""
        self._deleted_keys.append(record_keys)

    def flush(self) -> None:
        """Nothing can be written before the end."""

    def close(self) -> list[WriteStat]:
        """Write the base file; its statistic."""
        file = OpenBaseFile(self._storage, self._plan, self._token, self._partition_path, self._file_id)
        self._open = file
        changes = self._gathered()
        counts = WriteCounts()
        for base in self._base_rows(changes.ordering_fields):
            merged, counted = changes.merged(base, self._log)
            counts += counted
            file.write(add_file_name(merged, file.name))
        for rows in (changes.left(), self._table(self._inserts)):
            if self._log is not None:
                self._log.add(INSERT, None, rows)
            counts += WriteCounts(inserts=rows.num_rows)
            file.write(add_file_name(rows, file.name))
        rows_written, size = file.rows, file.close()
        self._open = None
        stat = base_file_stat(
            partition_path=self._partition_path,
            file_id=file.file_id,
            path=file.path,
            rows=rows_written,
            size=size,
            counts=counts,
            previous=None if self._base is None else self._base.name,
        )
        return [stat if self._log is None else replace(stat, cdc_stats=self._log.close())]

    def abandon(self) -> None:
        """Leave everything for the write's rollback to take away."""
        if self._open:
            self._open.abandon()
        if self._log is not None:
            self._log.abandon()

    @property
    def _schema(self) -> pa.Schema:
        """All columns but the file's name, which all rows get when they are written."""
        return without_file_name(self._plan.schema.arrow_with_meta)

    def _base_rows(self, ordering_fields: tuple[str, ...]) -> Iterator[BaseRows]:
        if self._base is None:
            return
        path = f"{self._partition_path}/{self._base.name}" if self._partition_path else str(self._base.name)
        head = pa.schema([self._schema.field(name) for name in dict.fromkeys((RECORD_KEY, *ordering_fields))])
        yield from scan_base_rows(self._storage, path, self._schema, head)

    def _gathered(self) -> Changes:
        plan = self._plan
        fields = ordering_fields_of(plan.config, plan.operation)
        rows = self._table(self._changes)
        if not combines(plan.operation, plan.options):  # else there is one row per key already
            rows = combine(rows, [rows[RECORD_KEY].combine_chunks()], fields)
        gone = self._gone()
        deleted = np.zeros(rows.num_rows, np.bool_)
        if plan.schema.delete_column is not None:
            deleted = np.asarray(pc.fill_null(rows[plan.schema.delete_column], False))
        wins = deleted & without_ordering([rows[name] for name in fields], rows.num_rows)
        deleted, wins = (np.append(flags, np.ones(gone.num_rows, np.bool_)) for flags in (deleted, wins))
        rows = pa.concat_tables([rows, gone]).combine_chunks()  # rows are taken from one chunk, or all are copied first
        index = number_keys(rows[RECORD_KEY])[1]
        return Changes(index, rows, deleted=deleted, wins=wins, ordering_fields=fields, seen=np.zeros_like(deleted))

    def _gone(self) -> pa.Table:
        """The keys of rows that go, with nothing else."""
        keys = pa.chunked_array(self._deleted_keys, pa.string()).combine_chunks().unique()
        schema = self._schema
        columns = [keys if field.name == RECORD_KEY else pa.nulls(len(keys), field.type) for field in schema]
        return pa.Table.from_arrays(columns, schema=schema)

    def _table(self, parts: list[Rows]) -> pa.Table:
        return pa.Table.from_batches(
            [
                add_meta_columns(
                    rows,
                    keys,
                    instant=self._plan.instant,
                    partition_path=self._partition_path,
                    file_name=None,
                    task_partition=self._token.partition,
                    first_counter=first_counter,
                )
                for rows, keys, first_counter in parts
            ],
            self._schema,
        )


@dataclass(slots=True)
class Changes:
    """What is to change in a base file, by key: ``keys`` finds the row in ``rows``, or nothing where ``deleted``.

    A delete that ``wins`` has no ordering value.  ``seen`` are those that have met their row: of several rows with one
    key only the first meets it, as in Hudi.
    """

    keys: KeyIndex
    rows: pa.Table
    deleted: Booleans
    wins: Booleans
    ordering_fields: tuple[str, ...]
    seen: Booleans

    def merged(self, rows: BaseRows, log: ChangeLog | None = None) -> tuple[pa.Table, WriteCounts]:
        """What takes the place of *rows*, in their order; what is done to them is told to *log*."""
        head = pa.Table.from_batches([rows.head])
        at, change = self._meetings(head)
        beaten = self._beaten(head, at, change)
        at, change = at[beaten], change[beaten]
        kept = np.ones(head.num_rows, np.bool_)
        kept[at] = False
        updated = ~self.deleted[change]
        counts = WriteCounts(updates=int(updated.sum()), deletes=int((~updated).sum()))
        if log is None and updated.all() and len(at) == head.num_rows:  # no other column of the old rows is read
            return taken(self.rows, change[np.argsort(at)]), counts
        base = pa.Table.from_batches(rows.read(), self.rows.schema)
        if log is not None:
            log.add(DELETE, base.take(pa.array(at[~updated])), None)
            log.add(UPDATE, base.take(pa.array(at[updated])), taken(self.rows, change[updated]))
        if not len(at):
            return base, counts
        if not updated.any():
            return base.filter(pa.array(kept)), counts
        both = pa.concat_tables([base, taken(self.rows, change[updated])]).combine_chunks()
        places = np.where(kept, np.arange(base.num_rows), -1)
        places[at[updated]] = base.num_rows + np.arange(int(updated.sum()))
        return both.take(pa.array(places[places >= 0])), counts

    def left(self) -> pa.Table:
        """The rows whose key was not there."""
        if not self.rows.num_rows:
            return self.rows
        return self.rows.filter(pa.array(~self.seen & ~self.deleted))

    def _meetings(self, base: pa.Table) -> tuple[Integers, Integers]:
        """The rows of *base* that meet a change, and which change each of them meets."""
        at, numbers = self.keys.find(base[RECORD_KEY])
        change, first = np.unique(self.keys.rows[numbers], return_index=True)
        new = ~self.seen[change]
        self.seen[change] = True
        return at[first[new]], change[new]

    def _beaten(self, base: pa.Table, at: Integers, change: Integers) -> Booleans:
        """Which of the rows that meet a change lose to it: all, but those with a higher ordering value."""
        if not self.ordering_fields:
            return np.ones(len(at), np.bool_)
        columns = tuple(
            pa.chunked_array(
                [*taken(self.rows[name], change).chunks, *taken(base[name], at).chunks],
                base.schema.field(name).type,
            )
            for name in self.ordering_fields
        )
        ranks = comparable(columns, 2 * len(at))
        beaten: Booleans = self.wins[change] | (ranks[: len(at)] >= ranks[len(at) :])
        return beaten
