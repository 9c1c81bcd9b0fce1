"""What is wanted of a block's records: a schema, some of its columns, the rows for which a condition holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.errors import SchemaError

_ROW = "__row__"


@dataclass(frozen=True, slots=True)
class Wanted:
    """The *schema* to bring rows to, the *columns* of it, or of what was written, and which rows; None is all."""

    schema: pa.Schema | None = None
    columns: list[str] | None = None
    filter: pc.Expression | None = None


def selected(schema: pa.Schema, columns: list[str]) -> pa.Schema:
    """The schema of *columns* alone.

    Raises:
        SchemaError: there is no column of that name.
    """
    for name in columns:
        if schema.get_field_index(name) < 0:
            raise SchemaError(f"column {name} is not in the schema, which has {schema.names}", column=name)
    return pa.schema([schema.field(name) for name in columns], metadata=schema.metadata)


def columns_of(condition: pc.Expression, schema: pa.Schema) -> list[str]:
    """The columns of *schema* that *condition* looks at.

    Raises:
        SchemaError: *condition* looks at something else, or compares what cannot be compared.
    """
    nothing = schema.empty_table()
    if (message := _objection(condition, nothing)) is not None:
        raise SchemaError(f"the filter {condition} does not fit the columns {', '.join(schema.names)}: {message}")
    # Arrow does not say what an expression refers to, but it misses what is not there.
    return [name for name in schema.names if _objection(condition, nothing.drop_columns([name])) is not None]


def rows_where(condition: pc.Expression, batch: pa.RecordBatch) -> npt.NDArray[np.int64]:
    """The rows for which *condition* is true, in ascending order; null counts as false."""
    table = pa.Table.from_batches([batch])
    numbered = table.append_column(_ROW, pa.array(np.arange(table.num_rows)))
    rows: npt.NDArray[np.int64] = numbered.filter(condition)[_ROW].to_numpy()
    return rows


def _objection(condition: pc.Expression, table: pa.Table) -> Any:
    try:
        table.filter(condition)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowKeyError, pa.ArrowTypeError) as error:
        return str(error)
    return None
