"""A query as tasks that can be sent to other processes, one for each file slice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.api.reading import ReadableTable, context_of
from hudiformat.conditions.filters import Filter, as_filter, can_evaluate
from hudiformat.file_group.slices import FileSlice
from hudiformat.read.plan import plan_snapshot
from hudiformat.read.scan import SliceQuery
from hudiformat.read.time_travel import Moment
from hudiformat.storage.protocol import Storage


@dataclass(frozen=True)
class ScanTask:
    """The rows of one file slice, merged from its base file and log files; it can be pickled."""

    storage: Storage
    query: SliceQuery
    file_slice: FileSlice

    @property
    def size(self) -> int:
        """Bytes of the files of the slice."""
        return self.file_slice.size

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the rows in this process."""
        return self.query.batches(self.storage, [self.file_slice])


def scan_tasks(
    table: ReadableTable,
    *,
    as_of: Moment | None = None,
    columns: Sequence[str] | None = None,
    filter: Filter | None = None,
    also: pc.Expression | None = None,
) -> list[ScanTask]:
    """Return the tasks of a snapshot of *table*, on one state of it; arguments are as for ``Table.snapshot``.

    *also* is a further condition, of an engine that applies it again: it is left out if it does not fit the columns.

    Raises:
        SchemaError: the table has no such column, or *filter* does not fit the columns.
    """
    context = context_of(table)
    if also is not None:
        schema = table.scan(as_of=as_of).schema
        own = as_filter(filter, schema)
        if can_evaluate(also, schema):
            filter = also if own is None else own & also
    plan = plan_snapshot(context, as_of=as_of, columns=columns, filter=filter)
    plan.query.prepare()
    return [ScanTask(context.storage, plan.query, one) for one in plan.slices]
