"""The answer to a query, before it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Scan:
    """Rows of a table that are read when they are asked for, as often as they are, batch by batch.

    Anything that speaks Arrow's C stream takes it as it is: DuckDB, Polars, pandas, ``pa.table(scan)``.  *batches*
    begins a new reading.

    Raises:
        HudiFormatError: from whatever reads, what reading a slice raises.

    Source: HoodieFileGroupReader.getClosableIterator.
    """

    schema: pa.Schema
    batches: Callable[[], Iterator[pa.RecordBatch]]

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self.batches()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.reader().__arrow_c_stream__(requested_schema)

    def reader(self) -> pa.RecordBatchReader:
        """The batches as a reader, which can be read once."""
        return pa.RecordBatchReader.from_batches(self.schema, self.batches())

    def read_all(self) -> pa.Table:
        """All rows, in memory.

        Raises:
            HudiFormatError: whatever reading a slice raises.
        """
        return pa.Table.from_batches(self.batches(), self.schema)

    def to_pandas(self, **options: Any) -> Any:
        """All rows as a pandas data frame; *options* are those of ``pyarrow.Table.to_pandas``."""
        return self.read_all().to_pandas(**options)
