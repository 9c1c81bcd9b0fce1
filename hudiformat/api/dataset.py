"""A table as a dataset of Arrow: DuckDB and Polars push columns, filters and limits down into it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import dataset

from hudiformat.arguments import one_or_more
from hudiformat.errors import ArgumentError, shown
from hudiformat.read.scan import Scan
from hudiformat.read.time_travel import Moment


class Scanned(Protocol):
    """What is asked of a table: the ``Table``."""

    def scan(self, *, as_of: Any = None, columns: Any = None, filter: Any = None) -> Scan:  # noqa: A002
        """The rows, read when they are asked for."""

    def head(self, n: int = 5, columns: Any = None, filter: Any = None) -> pa.Table:  # noqa: A002
        """The first rows."""

    def count(self, filter: Any = None) -> int:  # noqa: A002
        """How many rows there are."""


class TableDataset(dataset.Dataset):  # type: ignore[misc]  # pyarrow has no types
    """The rows of a table, as they are when they are read, or as of a moment.

    What is asked of it prunes partitions, files and row groups as :meth:`hudiformat.Table.scan` does.

    Source: pyarrow.dataset.Dataset.
    """

    def __init__(self, table: Scanned, as_of: Moment | None = None) -> None:
        self._table = table
        self._as_of = as_of
        self._schema = table.scan(as_of=as_of).schema

    def __repr__(self) -> str:
        return f"<TableDataset of {self._table!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return TableDataset, (self._table, self._as_of)

    @property
    def schema(self) -> pa.Schema:
        """The columns, the meta fields among them."""
        return self._schema

    def scanner(
        self,
        columns: str | Sequence[str] | None = None,
        filter: pc.Expression | None = None,  # noqa: A002 - pyarrow's name
        **_hints: object,
    ) -> dataset.Scanner:
        """What reads *columns* of the rows for which *filter* is true; hints about batches and threads have no effect.

        Raises:
            ArgumentError: *columns* are expressions.
            SchemaError: there is no such column, or *filter* does not fit the columns.
        """
        if isinstance(columns, dict):
            raise ArgumentError(f"columns: expected names, found {shown(columns)}", argument="columns")
        names = None if columns is None else one_or_more(columns)
        scan = self._table.scan(as_of=self._as_of, columns=names, filter=filter)
        return dataset.Scanner.from_batches(scan.reader())

    def to_table(
        self,
        columns: str | Sequence[str] | None = None,
        filter: pc.Expression | None = None,  # noqa: A002
        **_hints: object,
    ) -> pa.Table:
        """Return the rows that :meth:`scanner` reads, in memory."""
        return self.scanner(columns, filter).to_table()

    def to_batches(
        self,
        columns: str | Sequence[str] | None = None,
        filter: pc.Expression | None = None,  # noqa: A002
        **_hints: object,
    ) -> pa.RecordBatchReader:
        """Return the rows that :meth:`scanner` reads, batch by batch."""
        return self.scanner(columns, filter).to_reader()

    def head(
        self,
        num_rows: int,
        columns: str | Sequence[str] | None = None,
        filter: pc.Expression | None = None,  # noqa: A002
        **_hints: object,
    ) -> pa.Table:
        """Return the first *num_rows* rows that :meth:`scanner` reads; the rows after them are not read."""
        return self._table.head(num_rows, None if columns is None else one_or_more(columns), filter)

    def count_rows(self, filter: pc.Expression | None = None, **_hints: object) -> int:  # noqa: A002
        """How many rows there are, or for how many *filter* is true."""
        return self._table.count(filter)

    def get_fragments(self, filter: pc.Expression | None = None) -> NoReturn:  # noqa: A002
        """A table has no fragments of Arrow's: rows of several files are merged.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("a Hudi table has no fragments; use to_batches()")
