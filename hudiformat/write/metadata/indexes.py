"""Determine which indexes the metadata table of a table has, and what they are made of.

Source: HoodieTableMetadataUtil.getColumnsToIndex, HoodieBackedTableMetadataWriter.getMetadataPartitionsToUpdate.
"""

from __future__ import annotations

import sys
from datetime import timezone

import pyarrow as pa

from hudiformat.codec.avro.schema import avro_to_arrow
from hudiformat.codec.statistics import kind_of
from hudiformat.errors import SchemaError, UnsupportedFeatureError
from hudiformat.file_group.base_file.expressions import IndexedExpression
from hudiformat.file_group.base_file.file_indexes import Indexes
from hudiformat.metadata_table.bloom_filters import BLOOM_FILTERS
from hudiformat.metadata_table.changes import IndexKind
from hudiformat.metadata_table.column_stats import COLUMN_STATS, PARTITION_STATS
from hudiformat.metadata_table.definitions import (
    ALWAYS_INDEXED,
    IndexDefinition,
    default_columns,
    has_value_types,
    hashes_values,
    load_definitions,
    statistics_columns,
)
from hudiformat.metadata_table.kinds.bloom_filters import BloomFiltersKind
from hudiformat.metadata_table.kinds.column_stats import ColumnStatsKind
from hudiformat.metadata_table.kinds.expression_index import EXPRESSION_INDEX, ExpressionIndexKind
from hudiformat.metadata_table.kinds.files import FILES, FilesKind
from hudiformat.metadata_table.kinds.partition_stats import PartitionStatsKind
from hudiformat.metadata_table.kinds.record_index import (
    RECORD_INDEX,
    PartitionedRecordIndexKind,
    RecordIndexKind,
    is_partitioned,
)
from hudiformat.metadata_table.kinds.secondary_index import SecondaryIndexKind
from hudiformat.metadata_table.secondary_index import SECONDARY_INDEX, has_secondary_keys
from hudiformat.metadata_table.stat_records import StatEncoder
from hudiformat.schema.meta_fields import META_FIELDS
from hudiformat.schema.table_schema import TableSchema
from hudiformat.table.state import TableState
from hudiformat.timeline.config_files import VERSION_WITH_COMPLETION_TIMES
from hudiformat.timeline.table_config import TimelineZone

DROP_KEY = "hoodie.metadata.index.drop"
"""The option that names partitions of the metadata table to drop.  Source: HoodieMetadataConfig.DROP_METADATA_INDEX."""

MAINTAINED = (FILES, COLUMN_STATS, PARTITION_STATS, BLOOM_FILTERS, RECORD_INDEX)
"""The partitions that hudiformat keeps up to date, in the order in which they are built."""


def unsupported_partitions(state: TableState) -> list[str]:
    """Return the partitions of the metadata table that hudiformat cannot keep up to date.

    Raises:
        CorruptTableError: the definitions of the table's indexes are damaged.
    """
    indexed = [*secondary_columns(state), *(one.name for one in expressions_of(state))]
    return [name for name in state.config.metadata_partitions if name not in MAINTAINED and name not in indexed]


def indexes_of(state: TableState, schema: TableSchema | None = None) -> Indexes | None:
    """Return what a write must collect for the metadata table; None for nothing.

    *schema* is the schema of the table after the write, if it differs from that of *state*.

    Raises:
        CorruptTableError: the definitions of the table's indexes are damaged.
        SchemaError: as for ``TableState.schema``.
        UnsupportedFeatureError: statistics of a column that is inside a list or a map.
    """
    partitions = state.config.metadata_partitions
    indexes = Indexes(
        indexed_columns(state, schema),
        filters=BLOOM_FILTERS in partitions,
        keys=RECORD_INDEX in partitions,
        values=tuple(dict.fromkeys(secondary_columns(state).values())),
        expressions=expressions_of(state),
    )
    return indexes or None


def expressions_of(state: TableState) -> tuple[IndexedExpression, ...]:
    """Return the expression indexes that can be kept up to date: statistics of functions whose results can have some.

    Raises:
        CorruptTableError, SchemaError: as for :func:`indexes_of`.
    """
    names = [name for name in state.config.metadata_partitions if name.startswith(EXPRESSION_INDEX)]
    definitions = load_definitions(state.storage, state.config) if names else {}
    found = [
        IndexedExpression(name, definition.fields[0], definition.function)
        for name in names
        if (definition := definitions.get(name)) is not None
        and definition.kind == COLUMN_STATS
        and len(definition.fields) == 1
    ]
    return tuple(one for one in found if one.kind(state.schema.arrow_with_meta) is not None)


def is_of_records(partition: str) -> bool:
    """Return whether a partition of the metadata table has entries of single records of the table."""
    return partition == RECORD_INDEX or partition.startswith(SECONDARY_INDEX)


def secondary_columns(state: TableState) -> dict[str, str]:
    """Return the columns, as dotted paths, of the secondary indexes that can be kept up to date, by index name.

    Raises:
        CorruptTableError, SchemaError: as for :func:`indexes_of`.
    """
    partitions = state.config.metadata_partitions
    named = [name for name in partitions if name.startswith(SECONDARY_INDEX)]
    if not named or RECORD_INDEX not in partitions:
        return {}
    definitions, schema = load_definitions(state.storage, state.config), state.schema.arrow_with_meta
    found: dict[str, str] = {}
    for name in named:
        columns = definitions[name].fields if name in definitions else ()
        kind = column_type(schema, columns[0]) if len(columns) == 1 else None
        if kind is not None and has_secondary_keys(kind):
            found[name] = columns[0]
    return found


def refuse_changes_of_indexed(state: TableState, new: pa.Schema) -> None:
    """Refuse *new* columns of a table if a column with a secondary index changes its type, or is missing.

    Raises:
        SchemaError: such a column changes or is missing.
        CorruptTableError: the definitions of the table's indexes are damaged.

    Source: HoodieTable.validateSecondaryIndexSchemaEvolution, Hudi 1.2.0.
    """
    for index, path in secondary_columns(state).items():
        old, now = (column_type(schema, path) for schema in (state.schema.arrow_with_meta, new))
        if now != old and path not in META_FIELDS:
            change = "be dropped or renamed" if now is None else f"be changed from {old} to {now}"
            raise SchemaError(
                f"column {path} cannot {change}: it has the secondary index {index}; drop the index first, by "
                f"{DROP_KEY}={index}",
                column=path,
            )


def indexed_columns(state: TableState, schema: TableSchema | None = None) -> tuple[str, ...]:
    """Return the columns whose statistics the metadata table keeps; none if it keeps no statistics.

    *schema* is the schema of the table after a write, if it differs from that of *state*.

    Raises:
        CorruptTableError, SchemaError, UnsupportedFeatureError: as for :func:`indexes_of`.
    """
    if COLUMN_STATS not in state.config.metadata_partitions:
        return ()
    definition = load_definitions(state.storage, state.config).get(COLUMN_STATS)
    names = statistics_of(state, definition, schema)
    columns = (schema or state.schema).arrow_with_meta
    roots = set(columns.names)
    for name in names:
        if kind_of(columns, name) is None and name.partition(".")[0] in roots:
            raise UnsupportedFeatureError(
                f"{state.storage.root}: expected statistics of single values in the metadata "
                f"table, found those of {name}, which hudiformat does not compute; set "
                f"{DROP_KEY}={COLUMN_STATS} to drop the statistics",
                feature=f"column statistics of {name}",
            )
    return names


def joining_columns(state: TableState, schema: TableSchema | None) -> dict[str, pa.DataType]:
    """Return the columns, with their types, that get statistics with a commit after which the table has *schema*.

    From version 8 on these are columns that come to a table whose definition has all others.  A definition with fewer
    columns was made of chosen ones.

    Raises:
        CorruptTableError, SchemaError: as for :func:`indexes_of`.
    """
    is_first = not state.timeline.completed_writes
    if schema is None or is_first or COLUMN_STATS not in state.config.metadata_partitions:
        return {}
    columns = schema.arrow_with_meta
    if state.config.version >= VERSION_WITH_COMPLETION_TIMES:
        new = _columns_to_define(state, load_definitions(state.storage, state.config).get(COLUMN_STATS), schema)
    else:
        before = set(statistics_of(state, None))
        after = _single_columns(schema.avro) if before else statistics_of(state, None, schema)
        new = [name for name in after if name not in before]
    return {name: kind for name in new if (kind := kind_of(columns, name)) is not None}


def _columns_to_define(state: TableState, definition: IndexDefinition | None, schema: TableSchema) -> list[str]:
    """Return the columns that are to join the *definition* of the column statistics, as *schema* has them first.

    Hudi's next write would name them, and take a file without a record of one of them for one with nulls alone.

    Source: HoodieColumnStatsIndexUtils.updateColsToIndex, ColumnStatsIndexSupport.transpose, Hudi 1.2.0.
    """
    named = set(definition.fields) if definition is not None else set()
    if not named or not named.issuperset(set(default_columns(state.schema.avro)).difference(ALWAYS_INDEXED)):
        return []
    return [name for name in default_columns(schema.avro) if name not in named and name not in ALWAYS_INDEXED]


def _single_columns(avro: str) -> list[str]:
    return [column.name for column in avro_to_arrow(avro) if not pa.types.is_nested(column.type)]


def statistics_of(
    state: TableState, definition: IndexDefinition | None, schema: TableSchema | None = None
) -> tuple[str, ...]:
    """Return the columns whose statistics are kept by the *definition* of the index; *schema* as for indexed_columns.

    Version 6 has no definitions.  There Hudi's writers go by their options, and its readers believe that a column
    without statistics has only nulls if another column of the file has some; so all columns have statistics there, or
    none has, if the values of one do not fit into a record (a decimal of 38 digits).

    Raises:
        SchemaError: as for ``TableState.schema``.
    """
    avro = (schema or state.schema).avro
    if state.config.version >= VERSION_WITH_COMPLETION_TIMES:
        new = [] if schema is None else _columns_to_define(state, definition, schema)
        return (*statistics_columns(definition, avro), *new)
    columns = default_columns(avro, sys.maxsize, has_types=False, binary=True)
    return () if set(_single_columns(avro)).difference(columns) else tuple(dict.fromkeys([*META_FIELDS, *columns]))


def kinds_of(state: TableState, schema: TableSchema | None, own_schema: str) -> list[IndexKind]:
    """Return the kinds of the partitions of the metadata table; *schema* has the table's columns, if not as in *state*.

    *own_schema* is the Avro schema of the metadata table's records, as JSON.

    Raises:
        CorruptTableError: the definitions of the table's indexes are damaged.
        SchemaError: as for ``TableState.schema``.
    """
    partitions = state.config.metadata_partitions
    has_statistics = COLUMN_STATS in partitions
    kept = [name for name in MAINTAINED if name in partitions and (has_statistics or name != PARTITION_STATS)]
    names = [FILES, *(name for name in kept if name != FILES)]
    definition = load_definitions(state.storage, state.config).get(COLUMN_STATS) if has_statistics else None
    found = [kind_of_index(state, name, definition, own_schema, schema) for name in names]
    definitions = load_definitions(state.storage, state.config)
    for name, column in secondary_columns(state).items():
        found.append(SecondaryIndexKind(name, column, own_schema, hashes_values(definitions[name], state.config)))
    for one in expressions_of(state):
        typed = StatEncoder(own_schema, has_types=has_value_types(definitions[one.name], state.config))
        results = one.kind(state.schema.arrow_with_meta)
        assert results is not None  # noqa: S101 - those without are left out
        found.append(ExpressionIndexKind(one.name, one.column, results, typed))
    return found


def kind_of_index(
    state: TableState,
    name: str,
    definition: IndexDefinition | None,
    own_schema: str,
    schema: TableSchema | None = None,
) -> IndexKind:
    """Return the kind of the partition *name*; *definition* is that of the column statistics, the rest as for kinds_of.

    Raises:
        SchemaError: as for ``TableState.schema``.
    """
    if name == FILES:
        return FilesKind(own_schema)
    if name == BLOOM_FILTERS:
        return BloomFiltersKind(own_schema)
    if name == RECORD_INDEX:
        is_utc = state.config.timeline_zone is TimelineZone.UTC
        index = RecordIndexKind(own_schema, timezone.utc if is_utc else None)
        is_own = definition is not None and definition.name == RECORD_INDEX  # of an index that is being built
        found = definition if is_own else load_definitions(state.storage, state.config).get(RECORD_INDEX)
        return PartitionedRecordIndexKind(index) if is_partitioned(found) else index
    names = statistics_of(state, definition, schema)
    encoder = StatEncoder(own_schema, has_types=has_value_types(definition, state.config))
    if name == COLUMN_STATS:
        return ColumnStatsKind(names, encoder)
    columns = (state.schema if schema is None else schema).arrow_with_meta
    kinds = {name: kind for name in names if (kind := kind_of(columns, name)) is not None}
    return PartitionStatsKind(kinds, encoder)


def column_type(schema: pa.Schema, path: str) -> pa.DataType | None:
    """Return the type of the column *path*, which may be inside others; None if there is no such column."""
    name, *inner = path.split(".")
    kind = schema.field(name).type if schema.get_field_index(name) >= 0 else None
    for one in inner:
        if kind is None or not pa.types.is_struct(kind) or kind.get_field_index(one) < 0:
            return None
        kind = kind.field(one).type
    return kind
