"""The schema, the columns and the rows that a caller wants of a block's records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.conditions.taken import Filter, as_filter, matching
from hudiformat.errors import unknown_column

_ROW = "__row__"


@dataclass(frozen=True, slots=True)
class Wanted:
    """The *schema* to bring rows to, the *columns* of it or of the written schema, and a filter; None means all.

    With *views* columns of strings and bytes are Arrow's views, unless the schema says otherwise.
    """

    schema: pa.Schema | None = None
    columns: Sequence[str] | None = None
    filter: Filter | None = None
    views: bool = False

    def condition(self, schema: pa.Schema) -> pc.Expression | None:
        """The filter of rows with the columns of *schema*.

        Raises:
            SchemaError, FilterError: it does not fit them, or is none.
        """
        return as_filter(self.filter, schema)


def selected(schema: pa.Schema, columns: Sequence[str]) -> pa.Schema:
    """The fields of *schema* that *columns* name.

    Raises:
        SchemaError: there is no column of that name.
    """
    for name in columns:
        if schema.get_field_index(name) < 0:
            raise unknown_column(name, schema.names)
    return pa.schema([schema.field(name) for name in columns], metadata=schema.metadata)


def rows_where(condition: pc.Expression, batch: pa.RecordBatch) -> npt.NDArray[np.int64]:
    """The rows for which *condition* is true, in ascending order; null counts as false."""
    table = pa.Table.from_batches([batch])
    numbered = table.append_column(_ROW, pa.array(np.arange(table.num_rows)))
    rows: npt.NDArray[np.int64] = matching(numbered, condition)[_ROW].to_numpy()
    return rows
