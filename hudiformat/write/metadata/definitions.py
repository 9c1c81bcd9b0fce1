"""Change the definitions of a table's indexes after writes and services."""

from __future__ import annotations

from dataclasses import replace

from hudiformat.codec.statistics import kind_of
from hudiformat.metadata_table.column_stats import COLUMN_STATS
from hudiformat.metadata_table.definitions import DEFINITIONS_KEY, encode_definitions, load_definitions
from hudiformat.schema.table_schema import TableSchema
from hudiformat.table.state import TableState
from hudiformat.write.metadata.indexes import joining_columns


def define_columns(state: TableState, schema: TableSchema) -> None:
    """Have the definition of the column statistics name the columns of *schema*, which the table has after a commit.

    *state* is the state before the commit.  Columns that *schema* no longer has are removed: one of the same name may
    be added later, and a definition names no column that some files have no record of.  Columns whose statistics began
    with the commit are added.

    Raises:
        CorruptTableError: the definitions of the table's indexes are damaged.
        StorageError: the definitions cannot be written.

    Source: HoodieColumnStatsIndexUtils.updateColsToIndex, Hudi 1.2.0, which does so once the commit is completed.
    """
    if COLUMN_STATS not in state.config.metadata_partitions:
        return
    definitions = load_definitions(state.storage, state.config)
    definition = definitions.get(COLUMN_STATS)
    if definition is None:
        return
    columns = schema.arrow_with_meta
    kept = [name for name in definition.fields if kind_of(columns, name) is not None]
    fields = (*kept, *joining_columns(state, schema))
    # Without fields the definition would stand for the default columns.
    if fields in ((), definition.fields):
        return
    changed = {**definitions, COLUMN_STATS: replace(definition, fields=fields)}
    state.storage.create(state.config.properties[DEFINITIONS_KEY], encode_definitions(changed), overwrite=True)


def forget_definitions(state: TableState, dropped: set[str]) -> None:
    """Remove the definitions of dropped indexes: Hudi believes that every index that is defined exists."""
    definitions = load_definitions(state.storage, state.config)
    left = {name: one for name, one in definitions.items() if name not in dropped}
    if left != definitions:
        state.storage.create(state.config.properties[DEFINITIONS_KEY], encode_definitions(left), overwrite=True)
