"""The reading half of a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hudiformat.api.history import history
from hudiformat.api.stats import SMALL_FILE_LIMIT, slice_stats
from hudiformat.arguments import checks_arguments
from hudiformat.conditions.taken import Filter
from hudiformat.errors import OptionError, UnsupportedFeatureError
from hudiformat.file_group.reader import SliceReader, refuse_unreadable
from hudiformat.file_group.slices import FileSlice
from hudiformat.naming.file_names import join_path
from hudiformat.read.incremental import Span
from hudiformat.read.plan import (
    SlicePlan,
    explain_snapshot,
    instant_of,
    plan_changes,
    plan_incremental,
    plan_snapshot,
    read_rows,
    slice_reader,
)
from hudiformat.read.scan import Scan
from hudiformat.read.time_travel import Moment
from hudiformat.schema.meta_fields import RECORD_KEY
from hudiformat.table.one_state import on_one_state
from hudiformat.table.state import TableContext, TableState
from hudiformat.timeline.table_config import TableConfig
from hudiformat.timeline.timeline import Timeline

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import polars as pl

    from hudiformat.api.dataset import TableDataset


class ReadableTable:
    """A table as its readers see it: its timeline, its file slices, its rows.

    Every call reads the timeline again, so a table object sees what others commit.

    Raises:
        UnsupportedFeatureError: from any call that needs a feature of Hudi's that is not supported; it is named.

    Source: HoodieTableMetaClient, HoodieTableFileSystemView.
    """

    def __init__(self, context: TableContext) -> None:
        self.context = context

    def __repr__(self) -> str:
        config = self.config
        return f"<Table {config.name!r}: {config.table_type.value}, version {config.version}, at {self.path}>"

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The newest rows, for whatever speaks Arrow's C stream: ``pa.table(table)``, DuckDB, Polars, pandas."""
        return self.scan().__arrow_c_stream__(requested_schema)

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

    def history(self) -> pa.Table:
        """The commits of the active timeline, the newest first: what each did, to how many rows, files and bytes."""
        return on_one_state(self.context, history, lists=False)

    def partitions(self) -> list[str]:
        """The partition paths that have file slices, in order; ``[""]`` of a table without partitions."""
        return sorted({one.partition_path for one in self.file_slices()})

    @checks_arguments
    def files(self, partition: str | None = None) -> list[str]:
        """The base and log files of the newest file slices, by their paths below the table's."""
        return [join_path(one.partition_path, name) for one in self.file_slices(partition) for name in one.file_names]

    @checks_arguments
    def stats(self, *, small_file_limit: int = SMALL_FILE_LIMIT) -> pa.Table:
        """A row for each partition path: its file groups, base and log files, and their bytes.

        ``log_ratio`` is bytes of log files per byte of base files.  Base files below *small_file_limit* bytes are
        ``small_base_files``.
        """
        return slice_stats(self.file_slices(), small_file_limit=small_file_limit)

    def count(self, filter: Filter | None = None) -> int:  # noqa: A002
        """How many rows the table has, or those for which *filter* is true.

        Raises:
            SchemaError: *filter* does not fit the columns.
        """
        key = [RECORD_KEY] if self.config.populate_meta_fields else list(self.config.record_key_fields[:1])
        return sum(batch.num_rows for batch in self.scan(columns=key, filter=filter))

    @checks_arguments
    def head(
        self,
        n: int = 5,
        columns: str | Sequence[str] | None = None,
        filter: Filter | None = None,  # noqa: A002
    ) -> pa.Table:
        """The first *n* rows that are read; what follows them is not.

        Raises:
            SchemaError: the table has no such column, or *filter* does not fit the columns.
        """
        if n < 0:
            raise OptionError(f"n: expected 0 or more rows, found {n}", option="n")
        scan = self.scan(columns=columns, filter=filter)
        found: list[pa.RecordBatch] = []
        for batch in scan:
            found.append(batch.slice(0, min(n - sum(map(len, found)), len(batch))))
            if sum(map(len, found)) >= n:
                break
        return pa.Table.from_batches(found, scan.schema)

    def to_pandas(
        self,
        as_of: Moment | None = None,
        columns: str | Sequence[str] | None = None,
        filter: Filter | None = None,  # noqa: A002
    ) -> pd.DataFrame:
        """Return a :meth:`snapshot` as a pandas data frame."""
        return self.snapshot(as_of, columns, filter).to_pandas()

    def to_polars(
        self,
        as_of: Moment | None = None,
        columns: str | Sequence[str] | None = None,
        filter: Filter | None = None,  # noqa: A002
    ) -> pl.DataFrame:
        """Return a :meth:`snapshot` as a Polars data frame.

        Raises:
            UnsupportedFeatureError: Polars is not installed.
        """
        return _module("polars").from_arrow(self.snapshot(as_of, columns, filter))

    def lazy(self, as_of: Moment | None = None) -> pl.LazyFrame:
        """Return a lazy frame of Polars; its projections, predicates and numbers of rows are pushed down.

        Raises:
            UnsupportedFeatureError: Polars is not installed.
        """
        return _module("polars").scan_pyarrow_dataset(self.dataset(as_of))

    def dataset(self, as_of: Moment | None = None) -> TableDataset:
        """The table as a dataset of Arrow, which DuckDB, Polars and others query with filters and columns pushed down.

        Without *as_of* each query sees the newest rows.
        """
        from hudiformat.api.dataset import TableDataset  # noqa: PLC0415 - pyarrow.dataset imports pandas

        return TableDataset(self, as_of)

    def to_duckdb(
        self,
        connection: duckdb.DuckDBPyConnection | None = None,
        *,
        as_of: Moment | None = None,
        columns: str | Sequence[str] | None = None,
        filter: Filter | None = None,  # noqa: A002
    ) -> duckdb.DuckDBPyRelation:
        """Return a relation of DuckDB, in *connection* or in that of the module, that pushes filters and columns down.

        With *columns* or *filter*, as for :meth:`scan`, the rows of the relation can be read once.

        Raises:
            UnsupportedFeatureError: DuckDB is not installed.
        """
        is_chosen = columns is not None or filter is not None
        rows = self.scan(as_of=as_of, columns=columns, filter=filter).reader() if is_chosen else self.dataset(as_of)
        return (connection or _module("duckdb")).from_arrow(rows)

    @checks_arguments
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
        filter: Filter | None = None,  # noqa: A002 - the name that pyarrow uses too
    ) -> pa.Table:
        """The newest rows, base files and log files merged.

        *as_of* is an instant, a date or a datetime: rows as of that moment.  *columns* picks columns, meta fields
        included.  *filter* is a pyarrow expression, text such as ``"p = 'x' and v > 0"``, or tuples as in
        ``[("v", ">", 0)]``; it may use all columns.

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
        filter: Filter | None = None,  # noqa: A002
    ) -> pa.Table:
        """The rows of the newest base files alone, without their log files; arguments as for :meth:`snapshot`.

        Raises:
            SchemaError: the table has no such column.

        Source: BaseFileOnlyRelation.
        """
        return read_rows(self.context, self._planned(as_of, columns, filter, with_logs=False))

    @checks_arguments
    def scan(
        self,
        *,
        as_of: Moment | None = None,
        columns: str | Sequence[str] | None = None,
        filter: Filter | None = None,  # noqa: A002
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
        condition: Filter | None,
        *,
        with_logs: bool,
    ) -> Callable[[], SlicePlan]:
        return partial(plan_snapshot, self.context, as_of=as_of, columns=columns, filter=condition, with_logs=with_logs)

    @checks_arguments
    def incremental(
        self,
        begin: Moment,
        end: Moment | None = None,
        columns: str | Sequence[str] | None = None,
        filter: Filter | None = None,  # noqa: A002
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

    @checks_arguments
    def cdc(
        self,
        begin: Moment,
        end: Moment | None = None,
        columns: str | Sequence[str] | None = None,
        filter: Filter | None = None,  # noqa: A002
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


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        message = f"{name} is not installed: pip install {name}"
        raise UnsupportedFeatureError(message, feature=name) from error
