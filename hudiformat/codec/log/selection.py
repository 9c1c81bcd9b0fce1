"""Which schema, columns and rows a caller asks for when it reads the records of a block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.conditions.filters import Filter, as_filter, match_rows
from hudiformat.errors import unknown_column_error


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """What a caller asks for: the *schema* to convert rows to, the *columns* of it, and a *filter* of rows.

    None means the schema that the records were written with, all columns and all rows.  With *views*, columns of
    strings and bytes are Arrow's views, unless the schema says otherwise.  With *relabel*, the schema is that of the
    table of the records, which decides what the numbers of timestamps count (:func:`convert_to_schema`).
    """

    schema: pa.Schema | None = None
    columns: Sequence[str] | None = None
    filter: Filter | None = None
    views: bool = False
    relabel: bool = False

    def condition(self, schema: pa.Schema) -> pc.Expression | None:
        """Return the filter as an expression over the columns of *schema*; None without a filter.

        Raises:
            SchemaError: the filter does not fit the columns.
            FilterError: the filter is not a condition.
        """
        return as_filter(self.filter, schema)


def select_fields(schema: pa.Schema, columns: Sequence[str]) -> pa.Schema:
    """Return the fields of *schema* that *columns* name, in the order of *columns*.

    Raises:
        SchemaError: there is no column of that name.
    """
    for name in columns:
        if schema.get_field_index(name) < 0:
            raise unknown_column_error(name, schema.names)
    return pa.schema([schema.field(name) for name in columns], metadata=schema.metadata)


def find_matching_rows(condition: pc.Expression, batch: pa.RecordBatch) -> npt.NDArray[np.int64]:
    """Return the numbers of the rows for which *condition* is true, in ascending order; null counts as false."""
    flags = match_rows(pa.Table.from_batches([batch]), condition)
    return np.flatnonzero(np.asarray(pc.fill_null(flags, False)))
