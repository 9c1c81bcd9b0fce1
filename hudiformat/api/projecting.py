"""New values of columns: literals, and expressions over the existing rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.errors import DataError, SchemaError
from hudiformat.file_group.merging.rule import MergeRule
from hudiformat.schema.table_schema import TableSchema


def value_expression(value: object, field: pa.Field, *, of: str) -> pc.Expression:
    """Return *value*, a literal or an expression, as an expression of the type of *field*; errors begin with *of*.

    Raises:
        SchemaError: a literal does not fit the column.
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
    """Raise a ValueError if *value* has a fraction and *kind* holds integers: Arrow would drop the fraction."""
    if isinstance(value, float) and pa.types.is_integer(kind) and not value.is_integer():
        raise ValueError("a fraction would be lost")
    if isinstance(value, list | tuple) and hasattr(kind, "value_type"):
        for item in value:
            _refuse_fraction(item, kind.value_type)
    if isinstance(value, dict) and pa.types.is_struct(kind):
        for field in kind:
            _refuse_fraction(value.get(field.name), field.type)


def project(rows: pa.Table, values: Sequence[pc.Expression], names: Sequence[str], *, of: str) -> pa.Table:
    """Return the values of the expressions *values* over *rows* as the columns *names*; error messages begin with *of*.

    Raises:
        SchemaError: an expression does not fit the rows.
    """
    from pyarrow import acero  # noqa: PLC0415 - it imports pandas

    # Empty batches are left out: Arrow expands a literal to the number of rows, and cannot expand a list or map to 0.
    rows = pa.Table.from_batches([batch for batch in rows.to_batches() if batch.num_rows], rows.schema)
    source = acero.Declaration("table_source", acero.TableSourceNodeOptions(rows))
    declared = acero.Declaration("project", acero.ProjectNodeOptions(list(values), list(names)), [source])
    try:
        return declared.to_table(use_threads=False)
    except (pa.ArrowException, ValueError) as error:
        raise SchemaError(f"{of}: {error}") from None


def fit_rows(rows: pa.Table, schema: TableSchema) -> pa.Table:
    """Return *rows*, which have the columns of *schema*, cast to its types.

    Raises:
        DataError: a value does not fit its column.
    """
    return pa.Table.from_batches([schema.fit(batch) for batch in rows.to_batches()], schema.arrow)


def refuse_unset(changes: Mapping[str, tuple[pa.ChunkedArray, pa.ChunkedArray]], rule: MergeRule, *, of: str) -> None:
    """Refuse to change values, by column (before, after), to what *rule* takes for "leave this column as it was".

    Raises:
        DataError: a table with partial updates would keep the value that it has.
    """
    for name, (before, after) in changes.items() if rule.partial is not None else ():
        assert rule.partial is not None  # noqa: S101 - the loop is empty otherwise
        if (rule.partial.is_set(name, before) & ~rule.partial.is_set(name, after)).any():
            what = "null" if rule.partial.marker is None else repr(rule.partial.marker)
            raise DataError(
                f"{of}: column {name}: expected a value other than {what}, which the table's partial updates take for "
                "an unset value, found it; delete the rows and insert them anew",
                column=name,
            )
