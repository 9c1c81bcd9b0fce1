"""The slices of a query, one after the other, as batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.basefile.meta_fields import COMMIT_TIME
from hudiformat.storage import Storage
from hudiformat.table.pruning import filtered, fits
from hudiformat.table.read import SliceReader
from hudiformat.table.scan import Scan
from hudiformat.view import FileSlice


@dataclass(frozen=True)
class SliceQuery:
    """What a query asks of the slices that it found.

    ``filter`` is asked of all columns, those that are not among ``columns`` too.  ``written_by`` is a further filter,
    by commit time.
    """

    reader: SliceReader
    columns: Sequence[str] | None = None
    filter: pc.Expression | None = None
    with_logs: bool = True
    written_by: pc.Expression | None = None

    def scan(self, storage: Storage, slices: Sequence[FileSlice]) -> Scan:
        """The rows, a batch at a time.

        Raises:
            SchemaError: the table has no such column; from the scan, the filter does not fit the columns.
        """
        schema = self.reader.project(self.columns)
        return Scan(schema, lambda: self._rows(storage, slices, schema.names))

    def _rows(self, storage: Storage, slices: Sequence[FileSlice], names: list[str]) -> Iterator[pa.RecordBatch]:
        needed = self._needed(names)
        conditions = [condition for condition in (self.written_by, self.filter) if condition is not None]
        for file_slice in slices:
            for rows in self.reader.scan(
                storage, file_slice, columns=needed, with_logs=self.with_logs, may_hold=self.filter
            ):
                for condition in conditions:
                    rows = filtered(rows, condition)  # noqa: PLW2901
                yield rows.select(names)

    def _needed(self, names: list[str]) -> list[str]:
        """The columns to read: *names*, and what is only filtered by."""
        every = self.reader.output_schema
        if self.filter is not None and not fits(self.filter, pa.schema([every.field(name) for name in names])):
            return list(every.names)
        missing = [COMMIT_TIME] if self.written_by is not None and COMMIT_TIME not in names else []
        return [*names, *missing]
