"""The schema, the columns and the rows that a caller wants of a block's records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.conditions import Filter, as_filter
from hudiformat.errors import SchemaError, unknown_column

_ROW = "__row__"
_FEW = 1 << 16


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


def columns_of(condition: pc.Expression, schema: pa.Schema) -> list[str]:
    """The columns of *schema* that *condition* uses.

    Raises:
        SchemaError: *condition* uses another column, or compares values that cannot be compared.
    """
    # Arrow does not list the columns of an expression, but it raises an error if one of them is missing.
    text = str(condition)
    tried = schema.empty_table().select([name for name in schema.names if name in text])
    if _error_of(condition, tried) is not None:  # or its text has a name in another form
        tried = schema.empty_table()
        if (message := _error_of(condition, tried)) is not None:
            raise SchemaError(f"the filter {condition} does not fit the columns {', '.join(schema.names)}: {message}")
    return [name for name in tried.column_names if _error_of(condition, tried.drop_columns([name])) is not None]


def rows_where(condition: pc.Expression, batch: pa.RecordBatch) -> npt.NDArray[np.int64]:
    """The rows for which *condition* is true, in ascending order; null counts as false."""
    table = pa.Table.from_batches([batch])
    numbered = table.append_column(_ROW, pa.array(np.arange(table.num_rows)))
    rows: npt.NDArray[np.int64] = filtered(numbered, condition)[_ROW].to_numpy()
    return rows


def filtered(table: pa.Table, condition: pc.Expression) -> pa.Table:
    """As ``table.filter(condition)``; threads, which take longer than few rows, are used for many.

    Raises:
        ArrowException: *condition* uses a column that is not there, or compares values that cannot be compared.
    """
    if table.num_rows > _FEW:
        return table.filter(condition)
    from pyarrow import acero  # noqa: PLC0415 - it imports pandas

    source = acero.Declaration("table_source", acero.TableSourceNodeOptions(table))
    return acero.Declaration("filter", acero.FilterNodeOptions(condition), [source]).to_table(use_threads=False)


def _error_of(condition: pc.Expression, table: pa.Table) -> Any:
    """The message of Arrow's error when it filters *table* by *condition*; None if it can."""
    try:
        filtered(table, condition)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowKeyError, pa.ArrowTypeError) as error:
        return str(error)
    return None
