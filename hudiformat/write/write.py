"""The way of a write, from top to bottom: prepare, begin, locate, route, write, publish.

- *Prepare*: :func:`prepare` checks the columns, converts the rows and computes their keys, before anything is written.
- *Begin*: :func:`hudiformat.write.commit.transaction.begin_write` puts an instant on the timeline, with a plan.
- *Locate*: :meth:`WriteTask.locate` combines duplicates, and the index finds the file group of each row.
- *Route*: :meth:`WriteTask.write` gives the rows of each partition to its ``PartitionWriter``, which assigns new rows
  to file groups by sizing, and hands all rows to the handles of their file groups.
- *Write*: the handles encode blocks and base files while rows come, and the rest in :meth:`WriteTask.finish`, which
  closes them side by side and then makes all files durable together.
- *Publish*: :meth:`hudiformat.write.commit.transaction.Transaction.commit` makes all of it visible in one step.

:func:`write_rows` does all of it in one process.  On a cluster the driver prepares, begins and publishes; jobs of the
cluster, or the tasks, locate the rows; each task routes and writes its rows with a ``WriteTask``.  The tasks share the
plan, and differ in their write token.  Services that are due before and after a write are called beside it, by
``hudiformat.services.inline``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.codec.avro.incoming import adapt_to_schema
from hudiformat.codec.avro.types import Kind, Leaf, decimal_of, parse_avro_types
from hudiformat.codec.custom_types import is_vector
from hudiformat.errors import SchemaError, UnsupportedFeatureError, warn
from hudiformat.naming.file_names import WriteToken
from hudiformat.schema.evolution import SCHEMA_ON_READ, WIDEN_DECIMALS, wider_decimals
from hudiformat.schema.meta_fields import check_delete_column
from hudiformat.schema.table_schema import RowKeys, SchemaChange, TableSchema, as_reader, field_type
from hudiformat.schema.time_labels import unit_of
from hudiformat.storage.opening import open_storage
from hudiformat.storage.protocol import Storage
from hudiformat.storage.threads import FileCloser, threads_for
from hudiformat.table.cache import TableCache
from hudiformat.table.options.values import Operation, SortMode
from hudiformat.table.state import TableState
from hudiformat.table.support import refuse_columns_of_format, refuse_unwritable
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.timeline.table_config import TableType
from hudiformat.write.commit.files import GroupTarget, refuse_finished_write
from hudiformat.write.commit.markers import MarkerFile
from hudiformat.write.commit.partitions import refuse_nested_together
from hudiformat.write.commit.plan import WritePlan, partial_schema
from hudiformat.write.commit.transaction import Committed, attempts
from hudiformat.write.duplicates import combine_keyed
from hudiformat.write.index.global_index import locate_everywhere
from hudiformat.write.index.tagging import Tagger
from hudiformat.write.made_keys import add_keys
from hudiformat.write.metadata.indexes import refuse_changes_of_indexed
from hudiformat.write.partial_updates import partial_rows
from hudiformat.write.partition import PARTS_OF_A_BLOCK, PartitionWriter
from hudiformat.write.rows import KeyedRows, LocatedRows
from hudiformat.write.task_threads import ENCODED_TOGETHER, TaskThreads
from hudiformat.write.time_labels import refuse_wrong_labels

_PANDAS = b"pandas"
"""The key of an Arrow schema that says that its types were guessed from a data frame."""
_MOST_DIGITS = 38
"""The digits of a decimal that Polars gives every column of Decimals."""
_LOCAL_TOKEN = WriteToken(0, 0, 0)
_MANY_PARTITIONS = 32
"""Of so many new partitions, the metadata files are synced together with the data files."""


@dataclass(frozen=True, slots=True)
class TaskLimits:
    """How much a task does at a time.

    It buffers *max_buffered* bytes of rows over all its partitions before it writes out the fullest partitions; rows
    that rewrite a base file, and the keys of deletes, stay in memory to the end.  Rows are located in pieces of
    *batch_rows* rows; many rows in *batches* pieces, or in more of them of *batch_bytes* each.  The small blocks of
    *encoded_together* file groups are encoded together.  The rows of a file group are few, and handed over together, if
    a block has room for *parts_of_a_block* times their bytes.
    """

    max_buffered: int = 256 * 1024 * 1024
    batch_rows: int = 65_536
    batches: int = 4
    batch_bytes: int = 64 * 1024 * 1024
    encoded_together: int = ENCODED_TOGETHER
    parts_of_a_block: int = PARTS_OF_A_BLOCK


TASK_LIMITS = TaskLimits()


def write_rows(state: TableState, *, operation: Operation, data: Any, limits: TaskLimits = TASK_LIMITS) -> Committed:
    """Write *data* in one commit of *operation*; return the commit and the state of the table after it.

    *state* is the table as the write found it, with its schema.  If a row cannot be written, nothing is.
    *limits* are those of its task.

    Raises:
        SchemaError, DataError: the rows cannot be written.
        CommitError: the write did not become visible.
    """
    rows, change = prepare(state, operation, data)
    for write in attempts(state, operation, in_tasks=False, change=change):
        with write, local_task(write.plan, state.storage, cache=state.context.parsed.cache, limits=limits) as task:
            for located in task.locate(rows):
                task.write(located)
            write.commit(task.finish())
    return write.result


@dataclass(frozen=True, slots=True)
class CheckedColumns:
    """The schema to which the rows of a write are converted, and how it changes the schema of the table.

    ``change`` is None if the rows do not have all columns: in a delete, and in a partial update.
    """

    schema: TableSchema
    change: SchemaChange | None = None

    def fit(self, rows: pa.Table) -> pa.Table:
        """Return *rows* with these columns and types; in a delete, all other columns are dropped.

        Raises:
            DataError: a value does not fit its column.
        """
        arrow = self.schema.arrow
        if rows.schema.equals(arrow):
            return rows
        names = [name for name in rows.schema.names if self.change is not None or arrow.get_field_index(name) >= 0]
        return pa.Table.from_batches([self.schema.fit(batch.select(names)) for batch in rows.to_batches()], arrow)


def check_rows(state: TableState, operation: Operation, schema: pa.Schema) -> CheckedColumns:
    """Return the schema to which the rows of a write are converted; only columns are checked, no row is read.

    Raises:
        SchemaError: the table cannot get the columns, it would lose some, or Avro has no such type.
        OptionError: the columns of a partial update are not columns of the table, or lack an ordering column.
        DataError: a column that keys are made of is missing.
        UnsupportedFeatureError: the table cannot be written.
    """
    refuse_unwritable(state)
    keys = RowKeys.of(state.config)
    keys.check(schema)
    if operation is Operation.DELETE:  # a row that carries its key and path needs no partition columns
        names = [name for name in keys.columns if not keys.key_meta_fields or schema.get_field_index(name) >= 0]
        table = keys.schema_of_rows(state.schema).only(names)
        table.check(pa.schema([schema.field(name) for name in table.arrow.names]))
        return CheckedColumns(table)
    partial = partial_schema(operation, state.options)
    if partial is not None:
        table = partial_rows(state, partial, schema)
        table.check(schema)
        return CheckedColumns(table)
    table = state.schema.evolve(schema, state.options.evolution)
    check_wider_decimals(state, table, guessed=_PANDAS in (schema.metadata or {}))
    table.check(schema)
    rows = keys.schema_of_rows(table)
    keys.check(rows.arrow)
    refuse_new_kinds(state, table, by_ids=state.has_ids())
    if table.relabels(state.schema):
        refuse_wrong_labels(state, table)
    return CheckedColumns(rows, SchemaChange(state.schema, table))


def check_wider_decimals(state: TableState, table: TableSchema, *, guessed: bool) -> None:
    """Refuse rows that widen a decimal column, if the options say so; else warn if their types are *guessed*.

    Arrow gives a column of Decimals from pandas the digits of its longest number, so that one number changes the type
    of the table's column for good.  Polars gives all Decimals the most digits that there are, and so do sums in SQL.

    Raises:
        SchemaError: the option ``hudiformat.decimals.widen`` is false.
    """
    if table.is_like(state.schema):
        return
    for path, old, new in wider_decimals(parse_avro_types(state.schema.avro), parse_avro_types(table.avro)):
        text = f"{state.storage.root}: the column {path} of type {old} becomes {new}, by the type of the rows to write"
        if not state.options.widen_decimals:
            raise SchemaError(
                f"{text}, and {WIDEN_DECIMALS}=false forbids it: round the values, or cast the column", column=path
            )
        if guessed or _has_most_digits(new):
            warn(f"{text}; round the values to keep it, and set {WIDEN_DECIMALS}=false to refuse such rows")


def _has_most_digits(kind: Kind) -> bool:
    decimal = decimal_of(kind) if isinstance(kind, Leaf) else None
    return decimal is not None and decimal[0] == _MOST_DIGITS


def refuse_new_kinds(state: TableState, table: TableSchema, *, by_ids: bool) -> None:
    """Refuse type changes of key, partition, ordering and indexed columns that would break existing rows.

    Record keys and partition paths are texts.  An integer and the string of its digits have the same text, so the one
    column type may become the other; the key of 1 as a double is another text.  In copy-on-write tables, Hudi cannot
    compare old ordering values with new ones that are strings.  A new ``_hoodie_is_deleted`` must be a boolean, and a
    column with a secondary index cannot be changed.  *by_ids* says that the table is to have an internal schema, which
    Hudi cannot read if it has a vector.

    Raises:
        SchemaError: such a column changes; the error names the column and both types.
        UnsupportedFeatureError: the table's format or its internal schema cannot have a column.
    """
    keys, old, new = RowKeys.of(state.config), state.schema.arrow, table.arrow
    kinds = {one.name: one.type for one in new}
    changed = {one.name: one.type for one in old if kinds.get(one.name, one.type) != one.type}
    check_delete_column(pa.schema([one for one in new if old.get_field_index(one.name) < 0]))
    for name in (*keys.key_fields, *keys.partition_fields):
        before, after = field_type(old, name), field_type(new, name)
        if before is not None and after not in (None, before) and not _has_the_same_text(before, after):
            raise _type_change_error(name, before, after, "existing rows would get other keys")
    is_cow = state.config.table_type is TableType.COPY_ON_WRITE
    for name in state.config.ordering_fields if is_cow else ():
        if name in changed and pa.types.is_string(new.field(name).type):
            raise _type_change_error(
                name,
                changed[name],
                new.field(name).type,
                "Hudi cannot compare strings with the existing ordering values",
            )
    if state.config.metadata_partitions:
        refuse_changes_of_indexed(state, new)
    refuse_columns_of_format(state.config, new)
    if by_ids:
        _refuse_new_vectors(old if state.has_ids() else pa.schema([]), new)


def _refuse_new_vectors(old: pa.Schema, new: pa.Schema) -> None:
    """Refuse vectors that the columns *old*, which an internal schema has already, do not have.

    Source: SerDeHelper.parseTypeFromJson, Hudi 1.2.0, which knows no vectors: Hudi cannot read an internal schema with
    one, changes no column any more, and takes the names of columns for those of the files.
    """
    name = next((one.name for one in new if is_vector(one.type) and old.get_field_index(one.name) < 0), None)
    if name is not None:
        raise UnsupportedFeatureError(
            f"the column {name}: expected no vector in a table whose columns are kept by ids ({SCHEMA_ON_READ}), found "
            "one, with which Hudi cannot read those ids; change columns without that option, or drop the vector",
            feature="vectors in an internal schema",
        )


def _has_the_same_text(old: pa.DataType, new: pa.DataType) -> bool:
    return bool(pa.types.is_integer(old) and (pa.types.is_integer(new) or pa.types.is_string(new)))


def _type_change_error(name: str, old: pa.DataType, new: pa.DataType, reason: str) -> SchemaError:
    return SchemaError(
        f"column {name} of type {old} cannot become {new}: {reason}; cast the rows to {old}",
        column=name,
    )


def prepare(state: TableState, operation: Operation, data: Any) -> tuple[KeyedRows, SchemaChange | None]:
    """Return the rows of *data* with their keys, and how they change the schema of the table.

    The rows have the columns and types of the write; in a delete, the columns of the keys.  The change is None if the
    rows do not have all columns.  Invalid rows, keys and paths are found here, before the timeline is touched.

    Raises:
        SchemaError, DataError: the rows cannot be written.
    """
    reader = read_incoming(state, operation, data)
    checked = check_rows(state, operation, reader.schema)
    schema, given = checked.schema, reader.schema.names
    names = [*set(given).intersection(schema.arrow.names)] if operation is Operation.DELETE else given
    rows = pa.Table.from_batches([schema.fit(batch.select(names)) for batch in reader], schema.arrow)
    return KeyedRows.of(RowKeys.of(state.config), rows), checked.change


def read_incoming(state: TableState, operation: Operation, data: Any) -> pa.RecordBatchReader:
    """Return a reader of *data* with types that can be stored, and with keys if the table has no record key columns.

    Raises:
        DataError: *data* is not tabular, or the rows of a delete do not carry their keys.
    """
    reader = as_reader(data)
    if not reader.schema.equals(state.schema.arrow):
        units = {path: unit_of(label) for path, label in state.options.evolution.time_labels}
        reader = adapt_to_schema(reader, state.schema.arrow, units)
    return reader if state.config.record_key_fields else add_keys(state, operation, reader)


class WriteTask:
    """Writes rows into their file groups.  Use it as a context manager; :meth:`finish` returns the statistics.

    ``plan`` is the plan of the write, and ``tagger`` finds the file group of a row.  *threads* threads write base
    files.
    """

    def __init__(
        self,
        plan: WritePlan,
        token: WriteToken,
        *,
        storage: Storage | None = None,
        cache: TableCache | None = None,
        threads: int = 1,
        limits: TaskLimits = TASK_LIMITS,
    ) -> None:
        self.plan = plan
        self._limits = limits
        self._token = token
        self._storage = open_storage(plan.root) if storage is None else storage
        self._keys = RowKeys.of(plan.config)
        self._partitions: dict[str, PartitionWriter] = {}
        self._stats: list[WriteStat] = []
        self._counter = 1
        self._buffered = 0
        self._side_by_side = TaskThreads(
            threads=threads, is_far=not self._storage.capabilities.map, encoded_together=limits.encoded_together
        )
        self.tagger = Tagger(self._storage, plan, cache=cache, threads=self._side_by_side.threads)
        self._complete_files = FileCloser(self._storage, sync=plan.options.sync)
        self._markers = None if plan.in_tasks else MarkerFile(self._storage, plan.instant)

    def write(self, located: LocatedRows) -> None:
        """Write rows that have the table's own columns; in a delete, the columns that keys are made of.

        Raises:
            UnsupportedFeatureError: an update of a file group in a pending clustering.
        """
        # Rows that would exceed the memory are taken group by group, so that the fullest can be written in between.
        fits = self._buffered + located.nbytes <= self._limits.max_buffered
        partition = self._partition(located.path)
        for part in (located,) if fits else located.by_group():
            self._buffered -= partition.buffered_bytes
            partition.write(part)
            self._buffered += partition.buffered_bytes
            if self._buffered > self._limits.max_buffered:
                self._flush_fullest()

    def locate(self, rows: KeyedRows) -> Iterator[LocatedRows]:
        """Return *rows* with their file groups, one row per key if the write combines duplicates.

        A row that moves to another partition is deleted from the file group where it was.

        Raises:
            DataError: a record key exists although it must not.
            UnsupportedFeatureError: as for :meth:`write`.
        """
        plan = self.plan
        rows = combine_keyed(plan, rows)
        rows = replace(rows, rows=self._keys.drop_key_fields(rows.rows))
        if plan.looks_everywhere:
            routes = locate_everywhere(plan, self._storage, rows)
            for (path, file_id), keys in routes.moved.items():
                self.remove(path, file_id, keys)
            return routes.locate(batch_rows=self._limits.batch_rows)
        if plan.operation is Operation.BULK_INSERT and plan.options.bulk_insert_sort is not SortMode.NONE:
            rows = _sort_by_key(rows)
        # If some partitions are written before the others, the memory of their rows has to become free.
        in_one = not self._buffered and rows.rows.nbytes <= self._limits.max_buffered
        locate = partial(self.tagger.locate, in_one=in_one)
        # Many rows make large pieces: keys that are neighbours in the index are then looked up together, and each piece
        # is split into its partitions, which takes Python some time for each of them.
        count = max(self._limits.batches, rows.rows.nbytes // self._limits.batch_bytes)
        pieces = rows.batches(max(self._limits.batch_rows, len(rows) // count))
        if self.tagger.looks_up:  # what one piece reads, the next ones use
            return chain.from_iterable(map(locate, pieces))
        return chain.from_iterable(self._side_by_side.threads.map(lambda piece: [*locate(piece)], pieces))

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Look up the keys of *batch*, and write its rows as :meth:`write` does.

        Raises:
            DataError: a record key is null or empty, or exists although it must not.
            UnsupportedFeatureError: as for :meth:`write`.
        """
        keyed = KeyedRows.of(self._keys, batch)
        for located in self.tagger.locate(replace(keyed, rows=self._keys.drop_key_fields(batch))):
            self.write(located)

    def remove(self, path: str, file_id: str, record_keys: pa.Array) -> None:
        """Delete rows from a file group because they move to another partition.

        Raises:
            UnsupportedFeatureError: the file group is in a pending clustering.
        """
        self._partition(path).remove(file_id, record_keys)

    def end_groups(self, path: str) -> None:
        """Finish and forget the file groups of a partition that have rows so far: no more rows will come for them."""
        if path in self._partitions:
            self._buffered -= self._partitions[path].buffered_bytes
            self._side_by_side.close(self._partitions[path])
            self._stats += self._side_by_side.finish()

    def finish(self) -> list[WriteStat]:
        """Write what is left, and return a statistic for every file of this task."""
        self.tagger.list_partitions(path for path, one in self._partitions.items() if one.changes_groups)
        self._enter_together([one for one in self._partitions.values() if one.is_new and not one.is_empty])
        if self._markers is not None:
            self._markers.begin(sum(one.groups_with_rows for one in self._partitions.values()), [*self._partitions])
        for path in tuple(self._partitions):
            self._side_by_side.close(self._partitions[path])
            del self._partitions[path]
        self._stats += self._side_by_side.finish()
        self._complete_files.finish()
        self.tagger.note_written(self._stats)
        self._close_markers()
        return self._stats

    def _enter_together(self, new: Sequence[PartitionWriter]) -> None:
        """Make several folders partitions, side by side; of many, what that writes is synced in the end."""
        if len(new) <= 1:
            return
        refuse_nested_together(self._storage, [one.path for one in new])
        if len(new) >= _MANY_PARTITIONS and self._complete_files.sync_all_at_end():
            for one in new:
                one.leave_sync()
        self._side_by_side.enter(new)

    def finish_apart(self) -> list[WriteStat]:
        """Finish as :meth:`finish` does, in a process that may run on after its write has been committed or abandoned.

        Raises:
            WriteConflictError: the write is over; the files of this task are deleted.
        """
        stats = self.finish()
        refuse_finished_write(self._storage, self.plan.config, self.plan.instant, stats)
        return stats

    def __enter__(self) -> WriteTask:
        return self

    def __exit__(self, *_error: object) -> None:
        self._side_by_side.stop()
        for partition in self._partitions.values():
            partition.abandon()
        self._complete_files.abandon()
        self._close_markers()

    def _close_markers(self) -> None:
        if self._markers is not None:
            self._markers.close()

    def _partition(self, path: str) -> PartitionWriter:
        if path not in self._partitions:
            threads = self._side_by_side.threads
            target = GroupTarget(
                self._storage,
                self.plan,
                self._token,
                path,
                complete=self._complete_files,
                markers=self._markers,
                threads=threads,
            )
            self._partitions[path] = PartitionWriter(
                target, self.tagger.partition(path), self._count, parts_of_a_block=self._limits.parts_of_a_block
            )
        return self._partitions[path]

    def _count(self, rows: int) -> int:
        first, self._counter = self._counter, self._counter + rows
        return first

    def _flush_fullest(self) -> None:
        sizes = {path: partition.buffered_bytes for path, partition in self._partitions.items()}
        for path in sorted(sizes, key=sizes.__getitem__, reverse=True):
            if self._buffered <= self._limits.max_buffered:
                break
            self._side_by_side.flush(self._partitions[path].open_handles())
            self._buffered -= sizes[path]
        self._buffered = sum(partition.buffered_bytes for partition in self._partitions.values())


def write_keyed(
    plan: WritePlan, rows: KeyedRows, *, storage: Storage | None = None, cache: TableCache | None = None
) -> list[WriteStat]:
    """Locate and write *rows* in this process, for a write that other processes begin and commit.

    Returns the statistics of the files; *cache* is as for :func:`local_task`.
    """
    with local_task(plan, storage, cache=cache) as task:
        for located in task.locate(rows):
            task.write(located)
        return task.finish()


def local_task(
    plan: WritePlan,
    storage: Storage | None = None,
    *,
    cache: TableCache | None = None,
    limits: TaskLimits = TASK_LIMITS,
) -> WriteTask:
    """Return the only task of a write in this process; *cache* has the keys of files from earlier writes."""
    storage = open_storage(plan.root) if storage is None else storage
    return WriteTask(plan, _LOCAL_TOKEN, storage=storage, cache=cache, threads=threads_for(storage), limits=limits)


def _sort_by_key(rows: KeyedRows) -> KeyedRows:
    """Return *rows* sorted by partition path and record key.

    Source: GlobalSortPartitioner, RDDPartitionSortPartitioner; if one task has all rows, both do the same.
    """
    order = pc.sort_indices(
        pa.table({"path": rows.paths, "key": rows.keys}), [("path", "ascending"), ("key", "ascending")]
    )
    return rows.take(np.asarray(order).astype(np.int64))
