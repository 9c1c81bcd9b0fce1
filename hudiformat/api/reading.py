"""The methods of a table that read: snapshots, incremental queries, changes, and what files there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from hudiformat.api.history import history
from hudiformat.api.html import html_of_table
from hudiformat.api.lazy import lazy_frame
from hudiformat.api.packages import import_package
from hudiformat.api.stats import SMALL_FILE_LIMIT, slice_stats
from hudiformat.arguments import check_arguments
from hudiformat.conditions.filters import Filter
from hudiformat.errors import HudiFormatError, OptionError
from hudiformat.file_group.base_file.format import refuse_unreadable
from hudiformat.file_group.reader import SliceReader
from hudiformat.file_group.slices import FileSlice, ListedFiles
from hudiformat.naming.file_names import join_path
from hudiformat.notebook import show_error
from hudiformat.read.diff import TableDiff, diff_table
from hudiformat.read.incremental import Span
from hudiformat.read.plan import (
    SlicePlan,
    explain_snapshot,
    instant_of,
    plan_changes,
    plan_incremental,
    plan_snapshot,
    read_or_plan_again,
    slice_reader,
    take_snapshot,
)
from hudiformat.read.scan import Scan, first_rows
from hudiformat.read.time_travel import Moment
from hudiformat.table.one_state import run_on_stable_state
from hudiformat.table.state import TableContext, TableState
from hudiformat.timeline.table_config import TableConfig
from hudiformat.timeline.timeline import Timeline

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import polars as pl

    from hudiformat.read.dataset import TableDataset


class ReadableTable:
    """The methods of a table that only read: its timeline, its file slices and its rows.

    Every call reads the timeline again, so a table object sees the commits of other writers.

    Raises:
        UnsupportedFeatureError: from any call that needs a feature of Hudi that is not supported; the error names it.

    Source: HoodieTableMetaClient, HoodieTableFileSystemView.
    """

    def __init__(self, context: TableContext) -> None:
        self._context = context

    def __repr__(self) -> str:
        config = self.config
        return f"<Table {config.name!r}: {config.table_type.value}, version {config.version}, at {self.path}>"

    def _repr_html_(self) -> str:
        try:
            return run_on_stable_state(self._context, html_of_table)
        except HudiFormatError as error:
            return show_error(f"Table {self.config.name}", error)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the newest rows as an Arrow C stream, for ``pa.table(table)``, DuckDB, Polars and pandas."""
        return self.scan().__arrow_c_stream__(requested_schema)

    @property
    def path(self) -> str:
        """The base path of the table."""
        return str(self._context.storage.root)  # a plain text

    @property
    def config(self) -> TableConfig:
        """The table's properties."""
        return self._context.config

    @property
    def timeline(self) -> Timeline:
        """The active timeline, read anew."""
        return self._context.state().timeline

    @property
    def schema(self) -> pa.Schema:
        """The table's columns without the meta fields."""
        return run_on_stable_state(self._context, lambda state, _: state.schema.arrow)

    def history(self) -> pa.Table:
        """Return one row for each completed write of the active timeline, newest first.

        A row has the write's instant, action and operation, its numbers of rows, files and bytes, and its seconds.
        """
        return run_on_stable_state(self._context, lambda state, _: history(state))

    def partitions(self) -> list[str]:
        """Return the partition paths that have file slices, sorted; ``[""]`` for a table without partitions."""
        return sorted({one.partition_path for one in self.file_slices()})

    @check_arguments
    def files(self, partition: str | None = None) -> list[str]:
        """Return the base and log files of the newest file slices, as paths relative to the table's."""
        return [join_path(one.partition_path, name) for one in self.file_slices(partition) for name in one.file_names]

    @check_arguments
    def stats(self, *, small_file_limit: int = SMALL_FILE_LIMIT) -> pa.Table:
        """Return one row for each partition path: the numbers of its file groups, base files and log files, and bytes.

        ``log_ratio`` is bytes of log files per byte of base files.  ``small_base_files`` is the number of base files
        below *small_file_limit* bytes.
        """
        return slice_stats(self.file_slices(), small_file_limit=small_file_limit)

    def count(self, filter: Filter | None = None) -> int:
        """Return the number of rows of the table, or of those for which *filter* is true.

        Raises:
            SchemaError: *filter* does not fit the columns.
        """
        return read_or_plan_again(self._context, self._planner(None, None, filter, with_logs=True), SlicePlan.count)

    @check_arguments
    def head(
        self,
        n: int = 5,
        columns: str | Sequence[str] | None = None,
        filter: Filter | None = None,
    ) -> pa.Table:
        """Return the first *n* rows; reading stops after them.

        Raises:
            SchemaError: the table has no such column, or *filter* does not fit the columns.
        """
        if n < 0:
            raise OptionError(f"n: expected 0 or more rows, found {n}", option="n")
        return first_rows(self.scan(columns=columns, filter=filter), n)

    def to_pandas(
        self,
        as_of: Moment | None = None,
        columns: str | Sequence[str] | None = None,
        filter: Filter | None = None,
    ) -> pd.DataFrame:
        """Return a :meth:`snapshot` as a pandas data frame."""
        return self.snapshot(as_of, columns, filter).to_pandas()

    def to_polars(
        self,
        as_of: Moment | None = None,
        columns: str | Sequence[str] | None = None,
        filter: Filter | None = None,
    ) -> pl.DataFrame:
        """Return a :meth:`snapshot` as a Polars data frame.

        Raises:
            UnsupportedFeatureError: Polars is not installed.
        """
        return import_package("polars", extra="polars").from_arrow(self.snapshot(as_of, columns, filter))

    def lazy(self, as_of: Moment | None = None) -> pl.LazyFrame:
        """Return a Polars lazy frame, as ``hudiformat.polars.scan_hudi`` does: what it asks for is pushed down.

        Raises:
            UnsupportedFeatureError: Polars is not installed, or is older than 1.28.
        """
        return lazy_frame(take_snapshot(self._context, as_of))

    def dataset(self, as_of: Moment | None = None) -> TableDataset:
        """Return the table as an Arrow dataset: DuckDB, Polars and others push columns and filters down to it.

        Without *as_of*, each query of the dataset reads the newest rows.
        """
        from hudiformat.read.dataset import TableDataset  # noqa: PLC0415 - pyarrow.dataset imports pandas

        return TableDataset(self, as_of)

    def to_duckdb(
        self,
        connection: duckdb.DuckDBPyConnection | None = None,
        *,
        as_of: Moment | None = None,
        columns: str | Sequence[str] | None = None,
        filter: Filter | None = None,
    ) -> duckdb.DuckDBPyRelation:
        """Return a DuckDB relation, in *connection* or DuckDB's default one, that pushes filters and columns down.

        The rows are those of this moment, or as of an earlier one.  With *columns* or *filter*, which are as for
        :meth:`scan`, the relation can be read only once.

        Raises:
            UnsupportedFeatureError: DuckDB is not installed.
        """
        package = import_package("duckdb", extra="duckdb")
        found = package.connect(":default:") if connection is None else connection
        if columns is not None or filter is not None:
            return found.from_arrow(self.scan(as_of=as_of, columns=columns, filter=filter).reader())
        from hudiformat.api.relation import relation_of  # noqa: PLC0415 - pyarrow.dataset imports pandas

        return relation_of(take_snapshot(self._context, as_of), found)

    @check_arguments
    def file_slices(self, partition: str | None = None, *, as_of: Moment | None = None) -> list[FileSlice]:
        """Return the newest file slice of each file group, of one partition path or of all, as of an instant or now.

        The file listing comes from the metadata table if there is one, unless ``hoodie.metadata.enable`` is false.

        Source: AbstractTableFileSystemView.getLatestMergedFileSlicesBeforeOrOn.
        """

        def slices(state: TableState, listed: ListedFiles) -> list[FileSlice]:
            refuse_unreadable(state.config)
            return state.slices(partition, as_of=instant_of(state, as_of), listed=listed)

        return run_on_stable_state(self._context, slices, of_the_past=as_of is not None)

    def snapshot(
        self,
        as_of: Moment | None = None,
        columns: str | Sequence[str] | None = None,
        filter: Filter | None = None,
    ) -> pa.Table:
        """Return the newest rows, merged from base files and log files.

        With *as_of*, an instant, a date or a datetime, these are the rows as of that moment.  *columns* selects
        columns, which may be meta fields.  *filter* is a pyarrow expression, text such as ``"p = 'x' and v > 0"``, or
        tuples such as ``[("v", ">", 0)]``; it may use columns that are not selected.

        Raises:
            SchemaError: the table has no such column, or *filter* does not fit the columns.
            DecodeError: the content of a log block is damaged.

        Source: HoodieFileGroupReader; spec/merging.md.
        """
        return read_or_plan_again(
            self._context, self._planner(as_of, columns, filter, with_logs=True), SlicePlan.read_all
        )

    def read_optimized(
        self,
        as_of: Moment | None = None,
        columns: str | Sequence[str] | None = None,
        filter: Filter | None = None,
    ) -> pa.Table:
        """Return the rows of the newest base files without their log files; arguments are as for :meth:`snapshot`.

        Raises:
            SchemaError: the table has no such column.

        Source: BaseFileOnlyRelation.
        """
        return read_or_plan_again(
            self._context, self._planner(as_of, columns, filter, with_logs=False), SlicePlan.read_all
        )

    @check_arguments
    def scan(
        self,
        *,
        as_of: Moment | None = None,
        columns: str | Sequence[str] | None = None,
        filter: Filter | None = None,
        with_logs: bool = True,
        batch_size: int | None = None,
    ) -> Scan:
        """Return a scan of the rows of a :meth:`snapshot`, which is read batch by batch, one file slice after another.

        After the first batch, threads read the next slices meanwhile.  In memory are the log files of these slices,
        together up to ``hoodie.memory.merge.max.size`` bytes unless those of one are larger.  Batches have at most
        *batch_size* rows.

        Raises:
            OptionError: *batch_size* is less than 1.
            SchemaError: the table has no such column.

        Source: HoodieFileGroupReader; spec/merging.md.
        """
        if batch_size is not None and batch_size < 1:
            raise OptionError(f"batch_size: expected at least 1 row, found {batch_size}", option="batch_size")
        explain = partial(explain_snapshot, self._context, as_of=as_of, filter=filter, with_logs=with_logs)
        found = self._planner(as_of, columns, filter, with_logs=with_logs)().scan(self._context.storage, explain)
        return found if batch_size is None else found.with_batch_size(batch_size)

    def _planner(
        self,
        as_of: Moment | None,
        columns: str | Sequence[str] | None,
        condition: Filter | None,
        *,
        with_logs: bool,
    ) -> Callable[[], SlicePlan]:
        return partial(
            plan_snapshot, self._context, as_of=as_of, columns=columns, filter=condition, with_logs=with_logs
        )

    def diff(self, first: Moment, second: Moment | None = None) -> TableDiff:
        """Compare the rows and files as of *first* with those as of *second*, or now; both are as for *as_of*.

        Rows are matched by partition path and record key.  File slices that are the same at both moments are not read;
        the others are held in memory.

        Raises:
            TableError: the rows of one of the moments are not known, or were cleaned.
            UnsupportedFeatureError: the table has neither meta fields nor a record key.

        Source: CommitsCompareProcedure, Hudi 1.2.0; hudi-cli's ``diff``.
        """
        return diff_table(self._context, first, second)

    @check_arguments
    def incremental(
        self,
        begin: Moment,
        end: Moment | None = None,
        columns: str | Sequence[str] | None = None,
        filter: Filter | None = None,
    ) -> pa.Table:
        """Return the rows that were written after *begin* and up to *end*, or up to now, with their newest values.

        The values are those after the last write of this span.  *begin* and *end* are completion times from table
        version 8 on, and instants below it; ``timeline`` has both.  ``"000"`` is before all writes.  Deleted rows are
        not returned: see :meth:`cdc`.  If files of the span have been cleaned, the rows of the newest snapshot that
        were written in the span are returned.

        Raises:
            TableError: in a table of version 6, files of the span have been cleaned, or a write is still pending
                although later writes have completed.
            UnsupportedFeatureError: the table has no meta fields.

        Source: MergeOnReadIncrementalRelationV1 and V2, Hudi 1.2.0; spec/queries.md.
        """
        span = Span.of(self.config, begin, end)
        plan = partial(plan_incremental, self._context, span, columns=columns, filter=filter)
        return read_or_plan_again(self._context, plan, SlicePlan.read_all)

    @check_arguments
    def cdc(
        self,
        begin: Moment,
        end: Moment | None = None,
        columns: str | Sequence[str] | None = None,
        filter: Filter | None = None,
    ) -> pa.Table:
        """Return the changes of records after *begin* and up to *end*, or up to now, as for :meth:`incremental`.

        The columns are strings: ``op`` (``i``, ``u`` or ``d``), ``ts_ms`` (the instant of the write), ``before`` and
        ``after`` (the record as JSON).  *columns* selects some of them; *filter* may use all of them.

        Raises:
            SchemaError: there is no such column, or *filter* does not fit the columns.
            TableError: files of the span have been cleaned.
            UnsupportedFeatureError: the table keeps no change data (``hoodie.table.cdc.enabled``).

        Source: HoodieCDCExtractor, CDCFileGroupIterator, Hudi 1.2.0; spec/queries.md.
        """
        span = Span.of(self.config, begin, end)
        plan = plan_changes(self._context, span, columns=columns, filter=filter)
        return pa.Table.from_batches(plan.changes(), plan.schema)

    def slice_reader(self, *, as_of: Moment | None = None) -> SliceReader:
        """Return a reader of single file slices, which can be sent to another process.

        Raises:
            TableError: the rows of the table as of *as_of* are not known, or their files were cleaned.
        """
        return run_on_stable_state(self._context, lambda state, _: slice_reader(state, as_of))


def context_of(table: ReadableTable) -> TableContext:
    """Return what an open table works with, for the command line and for Spark, which run parts of its methods."""
    return table._context  # noqa: SLF001 - no part of the public class
