"""New values of columns: literals, and expressions over rows as they are."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.errors import SchemaError
from hudiformat.schema.table_schema import TableSchema


def value_expression(value: object, field: pa.Field, *, of: str) -> pc.Expression:
    """What *value*, a literal or an expression, puts into the column *field*; *of* begins the errors.

    Raises:
        SchemaError: a literal that does not fit the column.
    """
    if isinstance(value, pc.Expression):
        return value.cast(field.type)
    try:
        _refuse_fraction(value, field.type)
        return pc.scalar(pa.scalar(value, field.type))
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise SchemaError(
            f"{of}: column {field.name!r} of type {field.type} cannot be {value!r}: {error}", column=field.name
        ) from None


def _refuse_fraction(value: object, kind: pa.DataType) -> None:
    """Raise a ValueError where *value* has a fraction and *kind* has integers: Arrow would cut it off."""
    if isinstance(value, float) and pa.types.is_integer(kind) and not value.is_integer():
        raise ValueError("a fraction would be lost")
    if isinstance(value, list | tuple) and hasattr(kind, "value_type"):
        for item in value:
            _refuse_fraction(item, kind.value_type)
    if isinstance(value, dict) and pa.types.is_struct(kind):
        for field in kind:
            _refuse_fraction(value.get(field.name), field.type)


def projected(rows: pa.Table, values: Sequence[pc.Expression], names: Sequence[str], *, of: str) -> pa.Table:
    """The columns *names*, each with one of *values* over *rows*; *of* begins the errors.

    Raises:
        SchemaError: an expression does not fit the rows.
    """
    from pyarrow import acero  # noqa: PLC0415 - it imports pandas

    # Arrow cannot repeat a list or a map no times, as it tries to for a batch without rows in front of others.
    rows = pa.Table.from_batches([batch for batch in rows.to_batches() if batch.num_rows], rows.schema)
    source = acero.Declaration("table_source", acero.TableSourceNodeOptions(rows))
    declared = acero.Declaration("project", acero.ProjectNodeOptions(list(values), list(names)), [source])
    try:
        return declared.to_table(use_threads=False)
    except (pa.ArrowException, ValueError) as error:
        raise SchemaError(f"{of}: {error}") from None


def fit_rows(rows: pa.Table, schema: TableSchema) -> pa.Table:
    """*rows*, which have the columns of *schema*, with its types.

    Raises:
        DataError: a value that does not fit its column.
    """
    return pa.Table.from_batches([schema.fit(batch) for batch in rows.to_batches()], schema.arrow)
