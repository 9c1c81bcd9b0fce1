"""Partial updates: an upsert that brings some of the columns of existing rows.  Rules: spec/writing.md.

Source: HoodieAppendHandle, MergeIntoHoodieTableCommand, Hudi 1.2.0.
"""

from __future__ import annotations

import pyarrow as pa

from hudiformat.errors import OptionError, SchemaError, UnsupportedFeatureError, did_you_mean
from hudiformat.file_group.merging.behaviour import merge_mode
from hudiformat.schema.evolution import PARTIAL_SCHEMA
from hudiformat.schema.table_schema import RowKeys, TableSchema
from hudiformat.table.options.values import IndexType
from hudiformat.table.state import TableState
from hudiformat.timeline.table_config import MergeMode, TableType

_VERSION = 8
"""The first table version whose log blocks may hold some columns only."""


def partial_rows(state: TableState, partial: TableSchema, found: pa.Schema) -> TableSchema:
    """What the rows of a partial update have to have: the columns of *partial*, and those that keys are made of.

    *found* are the columns that they have.

    Raises:
        UnsupportedFeatureError: the table, or its index, cannot take partial updates.
        OptionError: *partial* is no schema of some of the table's columns, or lacks what says which row counts.
        SchemaError: the rows have other columns, or miss one.
    """
    _refuse(state)
    _check_schema(state, partial)
    keys = RowKeys.of(state.config)
    wanted = {*keys.key_fields, *keys.partition_fields, *partial.arrow.names}
    table = state.schema
    rows = table.only([name for name in table.arrow.names if name in wanted])
    for name in sorted(wanted.symmetric_difference(found.names)):
        what = "is missing from" if name in wanted else "is not to be in"
        raise SchemaError(
            f"the column {name!r} {what} the rows of a partial update; they have {', '.join(rows.arrow.names)}, by "
            f"{PARTIAL_SCHEMA} and the table's keys",
            column=name,
        )
    return rows


def _refuse(state: TableState) -> None:
    config, options = state.config, state.options
    refused = {
        "tables without a record key": not config.record_key_fields,
        "COPY_ON_WRITE tables": config.table_type is TableType.COPY_ON_WRITE,
        f"tables of version {config.version}": config.version < _VERSION,
        "a bucket index, which does not say whether a row is there": options.index_type is IndexType.BUCKET,
        "a global index that moves rows, which would need all columns": options.is_global and options.moves_partitions,
        "a merger of one's own": state.context.merger is not None,
    }
    for feature, present in refused.items():
        if present:
            raise UnsupportedFeatureError(
                f"{state.storage.root}: {PARTIAL_SCHEMA} with {feature}", feature=f"partial updates with {feature}"
            )


def _check_schema(state: TableState, partial: TableSchema) -> None:
    table = state.schema
    try:
        columns = partial.arrow
    except SchemaError as error:
        raise _wrong(f"not the schema of a record: {error}") from error
    for field in columns:
        if table.arrow.get_field_index(field.name) < 0 or table.arrow.field(field.name).type != field.type:
            known = ", ".join(f"{column.name} ({column.type})" for column in table.arrow)
            hint = did_you_mean(field.name, table.arrow.names) if table.arrow.get_field_index(field.name) < 0 else ""
            raise _wrong(f"the table has no column {field.name!r} of type {field.type}{hint}; it has {known}")
    if {table.delete_column}.intersection(columns.names):  # Hudi writes such a delete as an update
        raise _wrong(f"a row with {table.delete_column} is no partial update: delete by key")
    if merge_mode(state.config) is MergeMode.EVENT_TIME_ORDERING:
        for name in sorted(set(state.config.ordering_fields).difference(columns.names)):
            raise _wrong(f"the ordering column {name!r} is missing; there are {', '.join(columns.names)}")


def _wrong(message: str) -> OptionError:
    return OptionError(f"{PARTIAL_SCHEMA}: {message}", option=PARTIAL_SCHEMA)
