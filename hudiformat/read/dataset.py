"""A table as an Arrow dataset: DuckDB and Polars push columns, filters and limits down into it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import dataset

from hudiformat.arguments import as_name_list
from hudiformat.errors import ArgumentError, format_value
from hudiformat.read.scan import Scan, first_rows
from hudiformat.read.time_travel import Moment


class ScannableTable(Protocol):
    """The methods of ``Table`` that a dataset calls."""

    def scan(self, *, as_of: Any = None, columns: Any = None, filter: Any = None) -> Scan:
        """Return a scan, which reads the rows batch by batch while it is iterated."""

    def count(self, filter: Any = None) -> int:
        """Return the number of rows for which *filter* is true."""


class TableDataset(dataset.Dataset):
    """The rows of a table as an Arrow dataset: the newest rows at the time of each query, or the rows as of a moment.

    Filters and columns of a query prune partitions, files and row groups as in :meth:`hudiformat.Table.scan`.

    Source: pyarrow.dataset.Dataset.
    """

    def __init__(self, table: ScannableTable, as_of: Moment | None = None) -> None:
        self._table = table
        self._as_of = as_of
        self._schema = table.scan(as_of=as_of).schema

    def __repr__(self) -> str:
        return f"<TableDataset of {self._table!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return TableDataset, (self._table, self._as_of)

    @property
    def schema(self) -> pa.Schema:
        """The columns, including the meta fields."""
        return self._schema

    def scanner(
        self,
        columns: str | Sequence[str] | None = None,
        filter: pc.Expression | None = None,
        **_hints: object,
    ) -> dataset.Scanner:
        """Return a scanner of *columns* of the rows for which *filter* is true.

        Hints about batches and threads are accepted and have no effect.

        Raises:
            ArgumentError: *columns* are expressions.
            SchemaError: there is no such column, or *filter* does not fit the columns.
        """
        if isinstance(columns, dict):
            raise ArgumentError(f"columns: expected names, found {format_value(columns)}", argument="columns")
        names = None if columns is None else as_name_list(columns)
        scan = self._table.scan(as_of=self._as_of, columns=names, filter=filter)
        return dataset.Scanner.from_batches(scan.reader())

    def to_table(
        self,
        columns: str | Sequence[str] | None = None,
        filter: pc.Expression | None = None,
        **_hints: object,
    ) -> pa.Table:
        """Return the rows that :meth:`scanner` reads, in memory."""
        return self.scanner(columns, filter).to_table()

    def to_batches(
        self,
        columns: str | Sequence[str] | None = None,
        filter: pc.Expression | None = None,
        **_hints: object,
    ) -> pa.RecordBatchReader:
        """Return the rows that :meth:`scanner` reads, batch by batch."""
        return self.scanner(columns, filter).to_reader()

    def head(
        self,
        num_rows: int,
        columns: str | Sequence[str] | None = None,
        filter: pc.Expression | None = None,
        **_hints: object,
    ) -> pa.Table:
        """Return the first *num_rows* rows that :meth:`scanner` reads; the rows after them are not read."""
        names = None if columns is None else as_name_list(columns)
        return first_rows(self._table.scan(as_of=self._as_of, columns=names, filter=filter), num_rows)

    def count_rows(self, filter: pc.Expression | None = None, **_hints: object) -> int:
        """Return the number of rows, or of those for which *filter* is true."""
        if self._as_of is None:
            return self._table.count(filter)
        names = self._schema.names[:1]
        return sum(rows.num_rows for rows in self._table.scan(as_of=self._as_of, columns=names, filter=filter))

    def get_fragments(self, filter: pc.Expression | None = None) -> NoReturn:
        """Refuse: a table has no Arrow fragments, as a row may be merged from several files.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("a Hudi table has no fragments; use to_batches()")
