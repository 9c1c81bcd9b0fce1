"""Updates and deletes by a condition: the rows for which it is true are read, changed and written in one commit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import cast

import pyarrow as pa

from hudiformat.api.projecting import fit_rows, project, refuse_unset, value_expression
from hudiformat.conditions.filters import Filter
from hudiformat.errors import SchemaError, unknown_column_error
from hudiformat.file_group.merging.rule import MergeRule, rule_of_rows
from hudiformat.read.plan import rows_of_state
from hudiformat.schema.table_schema import RowKeys
from hudiformat.table.options.values import Operation
from hudiformat.table.state import TableState
from hudiformat.write.commit.transaction import Committed, attempts
from hudiformat.write.duplicates import combine_keyed
from hudiformat.write.rows import KeyedRows, LocatedRows
from hudiformat.write.write import check_rows, local_task

_ROWS_AT_ONCE = 1 << 31
"""All rows of a file group are one batch, unless they have more than 2 GB of text."""


def delete_where(state: TableState, *, where: Filter) -> Committed:
    """Delete the rows for which *where* is true; return the commit and the state of the table after it.

    Raises:
        SchemaError, FilterError: *where* does not fit the table.
        HudiFormatError: as for a delete by keys.
    """
    keys = RowKeys.of(state.config)
    columns = keys.schema_of_rows(state.schema).only(keys.columns).arrow
    return _write(state, Operation.DELETE, columns, where, lambda rows: rows)


def update_where(state: TableState, *, values: Mapping[str, object], where: Filter | None) -> Committed:
    """Set columns to *values* in the rows for which *where* is true; return the commit and the state after it.

    Raises:
        SchemaError: the table has no such column, it is a column of the record key or partition path, or a value does
            not fit its column.
        DataError: a value is one that the table takes for an unset one, which changes nothing.
        HudiFormatError: as for an upsert.
    """
    keys = RowKeys.of(state.config)
    check_updated(values, state.schema.arrow.names, keys.columns)
    columns = keys.schema_of_rows(state.schema).arrow
    rule = rule_of_rows(state.config, state.schema)
    return _write(state, Operation.UPSERT, columns, where, partial(_set_columns, values=values, rule=rule))


def _write(
    state: TableState,
    operation: Operation,
    columns: pa.Schema,
    where: Filter | None,
    change: Callable[[pa.Table], pa.Table],
) -> Committed:
    """Read the rows for which *where* is true, apply *change* to them, and write them to their own file groups.

    No record key is looked up: a row with the same key in another file group stays as it is.  The rows are read after
    the write has begun, so a commit that another writer completes after that is found to be a conflict.
    """
    checked = check_rows(state, operation, columns)
    keys = RowKeys.of(state.config)
    for write in attempts(state, operation, in_tasks=False, change=checked.change):
        with write, local_task(write.plan, state.storage, cache=state.context.parsed.cache) as task:
            for one, shown, stored in rows_of_state(state.again(), columns.names, where):
                rows = fit_rows(_replace_by_stored(change(shown), stored), checked.schema).combine_chunks()
                keyed = KeyedRows(rows, keys.record_keys(rows), pa.repeat(one.partition_path, len(rows)))
                keyed = combine_keyed(write.plan, keyed)
                for part in replace(keyed, rows=keys.drop_key_fields(keyed.rows)).batches(_ROWS_AT_ONCE):
                    batch = cast("pa.RecordBatch", part.rows)
                    task.write(LocatedRows(one.partition_path, batch, part.keys, (one.file_id,)))
            write.commit(task.finish())
    return write.result


def check_updated(names: Iterable[str], known: Sequence[str], keys: Sequence[str]) -> None:
    """Raise a SchemaError if one of *names* is not among the columns *known*, or is one of the *keys*."""
    for name in names:
        if name not in known:
            raise unknown_column_error(name, known, prefix="update: ")
        if name in keys:
            raise SchemaError(
                f"update: the column {name!r} is of the record key or partition path, which a row keeps; delete the "
                "row and insert it anew",
                column=name,
            )


def _set_columns(rows: pa.Table, values: Mapping[str, object], rule: MergeRule) -> pa.Table:
    """Return *rows* with columns set to *values*, which are literals or expressions over the rows before the update."""
    fields = [field for field in rows.schema if field.name in values]
    expressions = [value_expression(values[field.name], field, of="update") for field in fields]
    changed = project(rows, expressions, [field.name for field in fields], of="update")
    try:
        new = {field.name: _cast(changed[field.name], field) for field in fields}
    except (pa.ArrowException, ValueError) as error:  # Arrow raises both
        raise SchemaError(f"update: {error}") from None
    refuse_unset({name: (rows[name], column) for name, column in new.items()}, rule, of="update")
    return pa.Table.from_arrays([new.get(name, rows[name]) for name in rows.schema.names], schema=rows.schema)


def _cast(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    """Return *column* with the type of *field*.

    A column that has this type already is not cast: Arrow cannot cast a null struct that has required fields, not even
    to its own type.
    """
    if column.type.equals(field.type) and (field.nullable or not column.null_count):
        return column
    return pa.table([column], names=[field.name]).cast(pa.schema([field])).column(0)


def _replace_by_stored(rows: pa.Table, stored: pa.Table) -> pa.Table:
    """Return *rows*, in which the columns of *stored* replace the columns with the same names."""
    for name in stored.schema.names:
        number = rows.schema.get_field_index(name)
        rows = rows.set_column(number, rows.schema.field(number), stored[name])
    return rows
