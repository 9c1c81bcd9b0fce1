"""Which indexes the metadata table of a table has, and what they are made of.

Source: HoodieTableMetadataUtil.getColumnsToIndex, HoodieBackedTableMetadataWriter.getMetadataPartitionsToUpdate.
"""

from __future__ import annotations

from hudiformat.basefile import kind_of
from hudiformat.errors import UnsupportedFeatureError
from hudiformat.metadata import (
    COLUMN_STATS,
    FILES,
    PARTITION_STATS,
    ColumnStatsKind,
    FilesKind,
    IndexKind,
    PartitionStatsKind,
    StatEncoder,
    has_value_types,
    load_definitions,
    statistics_columns,
)
from hudiformat.table import TableSchema, TableState

DROP_KEY = "hoodie.metadata.index.drop"
"""The option that names partitions of the metadata table to drop.  Source: HoodieMetadataConfig.DROP_METADATA_INDEX."""

KEPT_UP = (FILES, COLUMN_STATS, PARTITION_STATS)
"""The partitions that every action keeps up."""


def indexed_columns(state: TableState) -> tuple[str, ...]:
    """The columns whose statistics a write has to collect; none where the metadata table keeps none.

    Raises:
        CorruptTableError: the definitions of the table's indexes are damaged.
        SchemaError: as for ``TableState.schema``.
        UnsupportedFeatureError: one of them is inside a list or a map.
    """
    if COLUMN_STATS not in state.config.metadata_partitions:
        return ()
    definition = load_definitions(state.storage, state.config).get(COLUMN_STATS)
    names = statistics_columns(definition, state.schema.avro)
    columns = state.schema.arrow_with_meta
    for name in names:
        if kind_of(columns, name) is None and name.partition(".")[0] in columns.names:
            raise UnsupportedFeatureError(
                f"{state.storage.root}: the metadata table keeps statistics of {name}, and hudiformat computes none of "
                f"values in lists and maps: set {DROP_KEY}={COLUMN_STATS} to drop the statistics",
                feature=f"column statistics of {name}",
            )
    return names


def kinds_of(state: TableState, schema: TableSchema | None, own_schema: str) -> list[IndexKind]:
    """The kinds of the partitions of the metadata table; *schema* has the table's columns, if not as in *state*.

    *own_schema* is the Avro schema of the metadata table's records, as JSON.

    Raises:
        CorruptTableError: the definitions of the table's indexes are damaged.
        SchemaError: as for ``TableState.schema``.
    """
    partitions = state.config.metadata_partitions
    found: list[IndexKind] = [FilesKind(own_schema)]
    if COLUMN_STATS in partitions:
        definition = load_definitions(state.storage, state.config).get(COLUMN_STATS)
        names = statistics_columns(definition, state.schema.avro)
        encoder = StatEncoder(own_schema, has_types=has_value_types(definition, state.config))
        found.append(ColumnStatsKind(names, encoder))
        if PARTITION_STATS in partitions:
            columns = (state.schema if schema is None else schema).arrow_with_meta
            kinds = {name: kind for name in names if (kind := kind_of(columns, name)) is not None}
            found.append(PartitionStatsKind(kinds, encoder))
    return found
