"""Daft: a table as a data frame, read by a task for each file group, and writes of data frames in one commit."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from typing import cast

import pyarrow as pa
import pyarrow.compute as pc

try:
    import daft
    from daft.io.source import DataSource, DataSourceTask
except ImportError as error:
    message = "hudiformat.daft needs Daft of 0.7 or later: pip install 'hudiformat[daft]'"
    raise ModuleNotFoundError(message, name="daft") from error

from hudiformat.api.table import Table, open_table
from hudiformat.api.tasks import ScanTask, scan_tasks
from hudiformat.api.writing import write_by
from hudiformat.arguments import check_arguments
from hudiformat.conditions.filters import Filter
from hudiformat.read.time_travel import Moment
from hudiformat.storage.opening import Location
from hudiformat.write.commit.transaction import Commit

__all__ = ["read_hudi", "write_hudi"]


@check_arguments
def read_hudi(
    path: Location,
    *,
    as_of: Moment | None = None,
    filter: Filter | None = None,
    options: Mapping[str, str] | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> daft.DataFrame:
    """Return the table at *path* as a data frame of Daft, whose columns and limits are pushed down.

    Arguments are as for :func:`hudiformat.open_table` and :meth:`hudiformat.Table.snapshot`.  Each run reads the newest
    rows, or those *as_of* a moment, of one state of the table.  *filter*, and Daft's own filters on columns that are no
    floating-point numbers, rule out partitions, files and row groups.

    Raises:
        NotATableError: there is no table at *path*.
        SchemaError: *filter* does not fit the columns.

    Source: daft.io.source.DataSource.
    """
    table = open_table(path, options=options, storage_options=storage_options)
    return _Source(table, as_of, filter).read()


@check_arguments
def write_hudi(
    frame: daft.DataFrame,
    path: Location,
    *,
    operation: str = "upsert",
    options: Mapping[str, str] | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> Commit:
    """Write the rows of *frame* into the table at *path*, by batches and in one commit.

    *operation* is ``upsert``, ``insert``, ``bulk_insert``, ``delete``, ``insert_overwrite`` or
    ``insert_overwrite_table``.  Daft computes the rows with all its workers; this process writes them.

    Raises:
        OptionError: there is no such operation.
        SchemaError, DataError, CommitError: as for the method of that name.

    Source: daft.DataFrame.to_arrow_iter.
    """
    table = open_table(path, options=options, storage_options=storage_options)
    return write_by(table, operation, frame.schema().to_pyarrow_schema(), frame.to_arrow_iter())


class _Source(DataSource):  # type: ignore[misc, unused-ignore]  # Daft may have no types
    def __init__(self, table: Table, as_of: Moment | None, filter: Filter | None) -> None:
        self._table = table
        self._as_of = as_of
        self._filter = filter
        self._schema = daft.Schema.from_pyarrow_schema(table.scan(as_of=as_of, filter=filter).schema)

    @property
    def name(self) -> str:
        """The name that plans show."""
        return f"hudiformat: {self._table.path}"

    @property
    def schema(self) -> daft.Schema:
        """The columns, including the meta fields."""
        return self._schema

    async def get_tasks(self, pushdowns: daft.io.pushdowns.Pushdowns) -> AsyncIterator[DataSourceTask]:
        """Yield a task for each file slice."""
        needed = pushdowns.filter_required_column_names()  # Daft applies its filters to the rows
        columns = None if pushdowns.columns is None else [*dict.fromkeys([*pushdowns.columns, *sorted(needed)])]
        also = _pushed(pushdowns.filters, needed, self._schema.to_pyarrow_schema())
        for task in scan_tasks(self._table, as_of=self._as_of, columns=columns, filter=self._filter, also=also):
            yield _Task(task)


def _pushed(predicate: daft.Expression | None, columns: Iterable[str], schema: pa.Schema) -> pc.Expression | None:
    """Return a filter of Daft's as an expression of Arrow's; None if it has no such form, or NaN may differ."""
    if predicate is None or any(pa.types.is_floating(schema.field(name).type) for name in columns):
        return None
    try:
        return cast("pc.Expression", predicate.to_arrow_expr())
    except Exception:  # noqa: BLE001 - Daft raises errors of several kinds for what Arrow does not have
        return None


@dataclass
class _Task(DataSourceTask):  # type: ignore[misc, unused-ignore]  # as above
    task: ScanTask

    @property
    def schema(self) -> daft.Schema:
        """The columns that the task reads."""
        return daft.Schema.from_pyarrow_schema(self.task.query.schema)

    async def read(self) -> AsyncIterator[daft.recordbatch.RecordBatch]:
        """Read the rows."""
        for batch in self.task.batches():
            yield daft.recordbatch.RecordBatch.from_arrow_record_batches([batch], batch.schema)
