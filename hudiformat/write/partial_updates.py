"""Partial updates: an upsert whose rows have only some of the table's columns.  Rules: spec/writing.md.

Source: HoodieAppendHandle, MergeIntoHoodieTableCommand, Hudi 1.2.0.
"""

from __future__ import annotations

import pyarrow as pa

from hudiformat.errors import OptionError, SchemaError, UnsupportedFeatureError, suggest_names
from hudiformat.file_group.merging.rule import rule_of_rows
from hudiformat.schema.evolution import PARTIAL_SCHEMA
from hudiformat.schema.table_schema import RowKeys, TableSchema
from hudiformat.table.options.values import IndexType
from hudiformat.table.state import TableState
from hudiformat.timeline.table_config import MergeMode, TableType

_VERSION = 8
"""The first table version whose log blocks may hold only some of the columns."""


def partial_rows(state: TableState, partial: TableSchema, found: pa.Schema) -> TableSchema:
    """Return the schema that the rows of a partial update must have: the columns of *partial* and those of the keys.

    *found* is the schema that the rows have.

    Raises:
        UnsupportedFeatureError: the table, or its index, does not support partial updates.
        OptionError: *partial* does not consist of columns of the table, or lacks an ordering column.
        SchemaError: the rows have a column too many or too few.
    """
    _refuse_unsupported(state)
    _check_schema(state, partial)
    keys = RowKeys.of(state.config)
    wanted = {*keys.key_columns, *keys.partition_columns, *partial.arrow.names}
    table = state.schema
    rows = table.only([name for name in table.arrow.names if name in wanted])
    for name in sorted(wanted.symmetric_difference(found.names)):
        what = "is missing from" if name in wanted else "must not be in"
        raise SchemaError(
            f"the column {name!r} {what} the rows of a partial update: by {PARTIAL_SCHEMA} and the table's keys they "
            f"have {', '.join(rows.arrow.names)}",
            column=name,
        )
    return rows


def _refuse_unsupported(state: TableState) -> None:
    config, options = state.config, state.options
    rule = rule_of_rows(config, state.schema) if state.context.merger is None else None
    refused = {
        "tables without a record key": not config.record_key_fields,
        "COPY_ON_WRITE tables": config.table_type is TableType.COPY_ON_WRITE,
        f"tables of version {config.version}": config.version < _VERSION,
        "a bucket index, which cannot tell whether a row exists": options.index_type is IndexType.BUCKET,
        "a global index that moves rows, which would need all columns": options.is_global and options.moves_partitions,
        "a custom merger": state.context.merger is not None,
        "a partial update mode, which says by values what a row sets": rule is not None and rule.partial is not None,
    }
    for feature, present in refused.items():
        if present:
            raise UnsupportedFeatureError(
                f"{state.storage.root}: {PARTIAL_SCHEMA}: expected a table whose rows can be "
                f"updated in part, found {feature}; write whole rows",
                feature=f"partial updates with {feature}",
            )


def _check_schema(state: TableState, partial: TableSchema) -> None:
    table = state.schema
    try:
        columns = partial.arrow
    except SchemaError as error:
        raise _schema_error(f"expected the Avro schema of a record, found another text: {error}") from error
    for field in columns:
        if table.arrow.get_field_index(field.name) < 0 or table.arrow.field(field.name).type != field.type:
            known = ", ".join(f"{column.name} ({column.type})" for column in table.arrow)
            hint = suggest_names(field.name, table.arrow.names) if table.arrow.get_field_index(field.name) < 0 else ""
            raise _schema_error(
                f"expected columns of the table, {known}, found {field.name!r} of type {field.type}{hint}"
            )
    rule = rule_of_rows(state.config, table)
    for name in rule.delete_columns:
        if columns.get_field_index(name) >= 0:  # Hudi writes such a delete as an update
            raise _schema_error(f"expected no deletes, found the column {name}; delete by key instead")
    if rule.mode is MergeMode.EVENT_TIME_ORDERING:
        for name in sorted(set(rule.ordering_fields).difference(columns.names)):
            raise _schema_error(f"expected the ordering column {name!r}, found {', '.join(columns.names)}; add it")


def _schema_error(message: str) -> OptionError:
    return OptionError(f"{PARTIAL_SCHEMA}: {message}", option=PARTIAL_SCHEMA)
