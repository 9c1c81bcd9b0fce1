"""Plan what a query reads, on one state of the table.

A plan names the file slices to read, or for change data the writes.  Rows are read from the plan later, in this process
or in others, without reading the timeline again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.arguments import as_name_list
from hudiformat.conditions.filters import Filter, as_filter, can_evaluate, columns_of
from hudiformat.errors import FilesGoneError
from hudiformat.file_group.base_file.format import refuse_unreadable
from hudiformat.file_group.bootstrap.sources import require_sources
from hudiformat.file_group.reader import SliceReader
from hudiformat.file_group.slices import FileSlice, ListedFiles
from hudiformat.read.changes import CHANGE_SCHEMA, ChangeReader, change_schema, refuse_without_changes
from hudiformat.read.explain import explain
from hudiformat.read.explanation import ScanExplanation
from hudiformat.read.incremental import Span, Write, commit_time_condition, writes_within, written_slices
from hudiformat.read.scan import Scan, SliceQuery
from hudiformat.read.skipping import PartitionPruner, drop_skipped
from hudiformat.read.time_travel import Moment, as_instant, check_as_of, refuse_cleaned
from hudiformat.storage.protocol import Storage
from hudiformat.table.one_state import MOST_ATTEMPTS, run_on_stable_state
from hudiformat.table.schema_files import finer_times, schema_history
from hudiformat.table.state import TableContext, TableState

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class SlicePlan:
    """The file slices that a query reads, and the columns and conditions that it applies to each."""

    query: SliceQuery
    slices: Sequence[FileSlice]

    def scan(self, storage: Storage, explain: Callable[[], ScanExplanation]) -> Scan:
        """Return a scan, which reads the rows when it is iterated; *explain* returns its explanation.

        Raises:
            SchemaError: the table has no such column; from the scan, the filter does not fit the columns.
        """
        return self.query.scan(storage, self.slices, explain)

    def read_all(self, storage: Storage) -> pa.Table:
        """Read all rows into memory.

        Raises:
            SchemaError: the table has no such column, or the filter does not fit the columns.
        """
        return pa.Table.from_batches(self.query.batches(storage, self.slices, keeps_all=True), self.query.schema)

    def count(self, storage: Storage) -> int:
        """Count the rows, reading only what is needed for that.

        Raises:
            SchemaError: the filter does not fit the columns.
        """
        query, reader = self.query, self.query.reader
        tested = [] if query.filter is None else columns_of(query.filter, reader.output_schema)
        return replace(query, columns=(*tested, reader.column_to_count)[:1]).count(storage, self.slices)


@dataclass(frozen=True, slots=True)
class ChangePlan:
    """The writes whose changes a query reads, and the columns and the filter that it applies to the changes."""

    reader: ChangeReader
    writes: Sequence[Write]
    columns: Sequence[str] | None = None
    filter: pc.Expression | None = None

    @property
    def schema(self) -> pa.Schema:
        """The columns of the changes.

        Raises:
            SchemaError: there is no such column.
        """
        return change_schema(self.columns)

    def changes(self) -> Iterator[pa.RecordBatch]:
        """Yield the changes, in the order of the writes."""
        return self.reader.changes(self.writes, self.columns, self.filter)


@dataclass(frozen=True, slots=True)
class TableSnapshot:
    """The file slices of a table at one moment, of which any number of queries are planned, now or later."""

    state: TableState
    reader: SliceReader
    slices: Sequence[FileSlice]

    def plan(self, columns: Sequence[str] | None = None, filter: Filter | None = None) -> SlicePlan:
        """Plan a query of these slices.

        Indexes that describe the newest rows alone are used while there are no newer ones.

        Raises:
            SchemaError: the table has no such column.
        """
        condition = None if filter is None else as_filter(filter, self.reader.output_schema)
        query, slices = SliceQuery(self.reader, columns, condition), list(self.slices)
        if (pruner := _pruner(self.reader, condition)) is not None:
            paths = set(pruner.holding(list(dict.fromkeys(one.partition_path for one in slices))))
            slices = [one for one in slices if one.partition_path in paths]
        return _plan_slices(self.state, query, slices, is_later=True)


def take_snapshot(context: TableContext, as_of: Moment | None = None) -> TableSnapshot:
    """Return the snapshot of a table as of a moment or now.

    Raises:
        TableError, StorageError: as for :func:`plan_snapshot`.
    """

    def take(state: TableState, listed: ListedFiles) -> TableSnapshot:
        refuse_unreadable(state.config)
        reader = slice_reader(state, as_of)
        slices = state.slices(as_of=reader.as_of, listed=listed)
        if reader.as_of is not None:
            refuse_cleaned(state, slices, reader.as_of, None)
        return TableSnapshot(state, reader, slices)

    return run_on_stable_state(context, take, of_the_past=as_of is not None)


def slice_reader(state: TableState, as_of: Moment | None = None) -> SliceReader:
    """Return a reader of single file slices, as of a moment or now; it can be pickled for other processes.

    Raises:
        TableError: the rows of that moment are not known, or were cleaned.
    """
    moment = instant_of(state, as_of)
    if moment is not None:
        check_as_of(state, moment)
    schema = state.schema if moment is None else state.schema_at(moment)
    return SliceReader(
        state.config,
        schema,
        state.visibility,
        moment,
        merger=state.context.merger,
        merge_memory=state.options.merge_memory,
        damage=state.options.damage,
        history=schema_history(state, moment) if state.has_ids() else None,
        times=None if moment is None else finer_times(state, schema, moment),
    )


def instant_of(state: TableState, moment: Moment | None) -> str | None:
    """Return the instant of the table that a moment of time travel stands for; None for None.

    Raises:
        NameFormatError: a text is not a moment.
    """
    return None if moment is None else as_instant(moment, state.config.timeline_zone)


def plan_snapshot(
    context: TableContext,
    *,
    as_of: Moment | None = None,
    columns: str | Sequence[str] | None = None,
    filter: Filter | None = None,
    with_logs: bool = True,
) -> SlicePlan:
    """Plan a snapshot query, or a read-optimized one without log files, as of a moment or now.

    Raises:
        TableError: the rows of that moment are not known, or were cleaned; or a clean deleted files during every
            attempt.
        StorageError: a base file is missing that a commit names, unless ``hudiformat.damage`` is skip.
    """
    names = None if columns is None else as_name_list(columns)

    def plan(state: TableState, listed: ListedFiles) -> SlicePlan:
        refuse_unreadable(state.config)
        reader = slice_reader(state, as_of)
        condition = None if filter is None else as_filter(filter, reader.output_schema)
        pruner = _pruner(reader, condition)
        slices = state.slices(as_of=reader.as_of, pruner=pruner, listed=listed)
        if reader.as_of is not None:
            refuse_cleaned(state, slices, reader.as_of, pruner)
        return _plan_slices(state, SliceQuery(reader, names, condition, with_logs), slices)

    return run_on_stable_state(context, plan, of_the_past=as_of is not None)


def explain_snapshot(
    context: TableContext,
    *,
    as_of: Moment | None = None,
    filter: Filter | None = None,
    with_logs: bool = True,
) -> ScanExplanation:
    """Explain which file slices :func:`plan_snapshot` leaves out and why, on the current state of the table.

    Raises:
        TableError: as for :func:`plan_snapshot`.
        CorruptTableError: a base file is damaged.
    """

    def explained(state: TableState, listed: ListedFiles) -> ScanExplanation:
        refuse_unreadable(state.config)
        reader = slice_reader(state, as_of)
        condition = None if filter is None else as_filter(filter, reader.output_schema)
        query = SliceQuery(reader, None, condition, with_logs)
        slices = state.slices(as_of=query.reader.as_of, listed=listed)
        return explain(state, query, slices, _pruner(reader, condition))

    return run_on_stable_state(context, explained, of_the_past=as_of is not None)


def plan_incremental(
    context: TableContext,
    span: Span,
    *,
    columns: str | Sequence[str] | None = None,
    filter: Filter | None = None,
) -> SlicePlan:
    """Plan an incremental query: the rows written within *span*, as the last write within *span* left them.

    Raises:
        TableError: the table is of version 6, and a write older than completed ones is pending; or as for a snapshot.
        UnsupportedFeatureError: the table has no meta fields.
    """
    names = None if columns is None else as_name_list(columns)

    def plan(state: TableState, listed: ListedFiles) -> SlicePlan:
        refuse_unreadable(state.config)
        writes = writes_within(state, span)
        written = commit_time_condition(state.config, state.storage.root, span, writes)
        slices = written_slices(state, writes)
        reader = replace(slice_reader(state), incremental=True)
        query = SliceQuery(reader, names, as_filter(filter, reader.output_schema), written_by=written)
        return _plan_slices(state, query, state.slices(listed=listed) if slices is None else slices)

    return run_on_stable_state(context, plan)


def plan_changes(
    context: TableContext,
    span: Span,
    *,
    columns: str | Sequence[str] | None = None,
    filter: Filter | None = None,
) -> ChangePlan:
    """Plan a change query: what the writes within *span* did to each record.

    Raises:
        UnsupportedFeatureError: the table keeps no change data.
    """
    names = None if columns is None else as_name_list(columns)

    def plan(state: TableState, _listed: ListedFiles) -> ChangePlan:
        refuse_unreadable(state.config)
        refuse_without_changes(state.config, state.storage.root)
        reader = ChangeReader(state.storage, slice_reader(state))
        return ChangePlan(reader, writes_within(state, span), names, as_filter(filter, CHANGE_SCHEMA))

    return run_on_stable_state(context, plan)


def rows_of_state(
    state: TableState,
    columns: Sequence[str],
    filter: Filter | None,
) -> Iterator[tuple[FileSlice, pa.Table, pa.Table]]:
    """Yield each file slice of *state* with its rows, for a write that is based on *state*.

    The second table holds the columns that partition paths are made of, as the files store them.  The first shows the
    values parsed from the path, which may differ from the value that the path was made of.

    Raises:
        SchemaError, FilterError: the table has no such column, or the filter does not fit the columns.
    """
    reader = slice_reader(state)
    query = SliceQuery(reader, columns, as_filter(filter, reader.output_schema))
    slices = _plan_slices(state, query, state.slices(pruner=_pruner(reader, query.filter))).slices
    for one, (shown, stored) in zip(slices, query.tables_with_stored(state.storage, slices), strict=True):
        yield one, shown, stored


def read_or_plan_again(
    context: TableContext, plan: Callable[[], SlicePlan], read: Callable[[SlicePlan, Storage], _Answer]
) -> _Answer:
    """Return what *read* returns of a plan; plan again if another writer deletes files of it before they are read.

    Raises:
        FilesGoneError: files were deleted during every attempt, or the new plan names the same files.
    """
    planned = plan()
    for left in range(MOST_ATTEMPTS - 1, -1, -1):
        try:
            return read(planned, context.storage)
        except FilesGoneError:  # noqa: PERF203 - an attempt is a whole query
            before, planned = planned, plan()
            if not left or list(planned.slices) == list(before.slices):
                raise
    raise AssertionError("the last attempt returns or raises")


def _plan_slices(state: TableState, query: SliceQuery, slices: list[FileSlice], *, is_later: bool = False) -> SlicePlan:
    """Return the plan of a query, without the slices that indexes and statistics rule out.

    *is_later* says that *state* may have been overtaken since it was read.
    """
    pruner = _pruner(query.reader, query.filter)
    if pruner is not None:
        is_newest = query.is_newest and (not is_later or state.again() is state)
        slices = drop_skipped(state, slices, pruner, with_logs=query.with_logs, is_newest=is_newest)
    require_sources(state.storage, slices)
    return SlicePlan(query, slices)


def _pruner(reader: SliceReader, condition: pc.Expression | None) -> PartitionPruner | None:
    """Return a pruner for the filter; None without one, or if it does not fit the columns, which reading reports."""
    if condition is None or not can_evaluate(condition, reader.output_schema):
        return None
    return PartitionPruner(reader.partition_columns, reader.output_schema, condition)
