"""The reading half of a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.query import (
    Moment,
    Scan,
    SlicePlan,
    SliceReader,
    Span,
    explain_snapshot,
    instant_of,
    plan_changes,
    plan_incremental,
    plan_snapshot,
    read_rows,
    slice_reader,
)
from hudiformat.table import TableContext, TableState, on_one_state, refuse_unreadable
from hudiformat.timeline import TableConfig, Timeline
from hudiformat.view import FileSlice


class ReadableTable:
    """A table as its readers see it: its timeline, its file slices, its rows.

    Every call reads the timeline again, so a table object sees what others commit.

    Raises:
        UnsupportedFeatureError: from any call that needs a feature of Hudi's that is not supported; it is named.

    Source: HoodieTableMetaClient, HoodieTableFileSystemView.
    """

    def __init__(self, context: TableContext) -> None:
        self.context = context

    @property
    def path(self) -> str:
        """The base path."""
        return self.context.storage.root

    @property
    def config(self) -> TableConfig:
        """The table's properties."""
        return self.context.config

    @property
    def timeline(self) -> Timeline:
        """The instants of the active timeline, as they are now."""
        return self.context.state().timeline

    @property
    def schema(self) -> pa.Schema:
        """The table's own columns, without the meta fields."""
        return on_one_state(self.context, lambda state: state.schema.arrow, lists=False)

    def file_slices(self, partition: str | None = None, *, as_of: Moment | None = None) -> list[FileSlice]:
        """The newest file slice of each file group, of one partition path or of all, as of an instant or now.

        Files are listed by the table's metadata table where it has one, unless ``hoodie.metadata.enable`` is false.

        Source: AbstractTableFileSystemView.getLatestMergedFileSlicesBeforeOrOn.
        """

        def slices(state: TableState) -> list[FileSlice]:
            refuse_unreadable(state.config)
            return state.slices(partition, as_of=instant_of(state, as_of))

        return on_one_state(self.context, slices, of_the_past=as_of is not None)

    def snapshot(
        self,
        as_of: Moment | None = None,
        columns: str | Sequence[str] | None = None,
        filter: pc.Expression | None = None,  # noqa: A002 - the name that pyarrow uses too
    ) -> pa.Table:
        """The newest rows, base files and log files merged.

        *as_of* is an instant, a date or a datetime: rows as of that moment.  *columns* picks columns, meta fields
        included.  *filter* is a pyarrow expression over the columns that are read.

        Raises:
            SchemaError: the table has no such column, or *filter* does not fit the columns.
            DecodeError: a log block is damaged inside.

        Source: HoodieFileGroupReader; spec/merging.md.
        """
        return read_rows(self.context, self._planned(as_of, columns, filter, with_logs=True))

    def read_optimized(
        self,
        as_of: Moment | None = None,
        columns: str | Sequence[str] | None = None,
        filter: pc.Expression | None = None,  # noqa: A002
    ) -> pa.Table:
        """The rows of the newest base files alone, without their log files; arguments as for :meth:`snapshot`.

        Raises:
            SchemaError: the table has no such column.

        Source: BaseFileOnlyRelation.
        """
        return read_rows(self.context, self._planned(as_of, columns, filter, with_logs=False))

    def scan(
        self,
        *,
        as_of: Moment | None = None,
        columns: str | Sequence[str] | None = None,
        filter: pc.Expression | None = None,  # noqa: A002
        with_logs: bool = True,
    ) -> Scan:
        """As :meth:`snapshot`, read batch by batch when the rows are asked for, file slice after file slice.

        Memory is bounded by the log files of a slice, and by ``hoodie.memory.merge.max.size`` of them.

        Raises:
            SchemaError: the table has no such column.

        Source: HoodieFileGroupReader; spec/merging.md.
        """
        explain = partial(explain_snapshot, self.context, as_of=as_of, filter=filter, with_logs=with_logs)
        return self._planned(as_of, columns, filter, with_logs=with_logs)().scan(self.context.storage, explain)

    def _planned(
        self,
        as_of: Moment | None,
        columns: str | Sequence[str] | None,
        condition: pc.Expression | None,
        *,
        with_logs: bool,
    ) -> Callable[[], SlicePlan]:
        return partial(plan_snapshot, self.context, as_of=as_of, columns=columns, filter=condition, with_logs=with_logs)

    def incremental(
        self,
        begin: Moment,
        end: Moment | None = None,
        columns: str | Sequence[str] | None = None,
        filter: pc.Expression | None = None,  # noqa: A002
    ) -> pa.Table:
        """The rows that were written after *begin* and up to *end*, or up to now, in the state of the last of them.

        Moments are completion times from table version 8 on, instants below; both are in ``timeline``.  ``"000"`` is
        before all of them.  Deletes leave no rows: see :meth:`cdc`.  Where files of that time have been cleaned away,
        those of the table's newest rows are given that were written then.

        Raises:
            TableError: in a table of version 6, files of that time have been cleaned away, or a write is pending that
                later ones have overtaken.
            UnsupportedFeatureError: the table has no meta fields.

        Source: MergeOnReadIncrementalRelationV1 and V2, Hudi 1.2.0; spec/queries.md.
        """
        span = Span.of(self.config, begin, end)
        return read_rows(self.context, partial(plan_incremental, self.context, span, columns=columns, filter=filter))

    def cdc(
        self,
        begin: Moment,
        end: Moment | None = None,
        columns: str | Sequence[str] | None = None,
        filter: pc.Expression | None = None,  # noqa: A002
    ) -> pa.Table:
        """What was done to each record after *begin* and up to *end*, or up to now; moments as for :meth:`incremental`.

        Columns, all texts: ``op`` (``i``, ``u`` or ``d``), ``ts_ms`` (the instant of the write), ``before`` and
        ``after`` (the record as JSON).  *columns* picks some of them, and *filter* is an expression over all of them.

        Raises:
            SchemaError: there is no such column, or *filter* does not fit the columns.
            TableError: files of that time have been cleaned away.
            UnsupportedFeatureError: the table keeps no change data (``hoodie.table.cdc.enabled``).

        Source: HoodieCDCExtractor, CDCFileGroupIterator, Hudi 1.2.0; spec/queries.md.
        """
        span = Span.of(self.config, begin, end)
        plan = plan_changes(self.context, span, columns=columns, filter=filter)
        return pa.Table.from_batches(plan.changes(), plan.schema)

    def slice_reader(self, *, as_of: Moment | None = None) -> SliceReader:
        """What reads single slices of the table, here or in another process.

        Raises:
            TableError: the rows of the table at *as_of* are not known, or were cleaned.
        """
        return on_one_state(self.context, lambda state: slice_reader(state, as_of), lists=False)
