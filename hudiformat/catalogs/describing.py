"""Describe a table as a catalog has it: its names there, its columns, partition keys and properties.  Pure.

Source: HiveSyncTool, HMSDDLExecutor.createTable, SparkDataSourceTableUtils, Hudi 1.2.0; spec/catalogs.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hudiformat.catalogs.column_types import hive_type, spark_schema_text
from hudiformat.catalogs.objects import (
    AS_READ_OPTIMIZED,
    EXTERNAL,
    LAST_COMMIT,
    LAST_COMPLETION,
    MANAGED,
    PATH,
    PROVIDER,
    WRITER,
    CatalogColumn,
    CatalogTable,
    StorageDescriptor,
)
from hudiformat.codec.avro.types import Column, Leaf, parse_avro_types
from hudiformat.schema.table_schema import TableSchema
from hudiformat.table.options.sync import SyncOptions, TableStrategy
from hudiformat.timeline.table_config import TableConfig, TableType

_PARQUET_FORMATS = (
    "org.apache.hudi.hadoop.HoodieParquetInputFormat",
    "org.apache.hudi.hadoop.realtime.HoodieParquetRealtimeInputFormat",
    "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
    "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe",
)
_ORC_INPUT = "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat"
_ORC_FORMATS = (
    _ORC_INPUT,
    _ORC_INPUT,
    "org.apache.hadoop.hive.ql.io.orc.OrcOutputFormat",
    "org.apache.hadoop.hive.ql.io.orc.OrcSerde",
)
_SCHEMA = "spark.sql.sources.schema."
_TEXT = Leaf("string", '"string"')


@dataclass(frozen=True, slots=True)
class View:
    """A name under which a catalog has a table: with log files (*real_time*), or *read_optimized*, or copy-on-write."""

    name: str
    real_time: bool = False
    read_optimized: bool = False


def views_of(config: TableConfig, options: SyncOptions) -> tuple[View, ...]:
    """Return the names that a catalog has for a table, in the order in which Hudi syncs them.

    Source: HiveSyncTool.initTableNameVars, doSync, Hudi 1.2.0.
    """
    name = options.table or config.name
    if config.table_type is TableType.COPY_ON_WRITE:
        return (View(name),)
    if options.strategy is TableStrategy.RO:
        return (View(name, read_optimized=True),)
    if options.strategy is TableStrategy.RT:
        return (View(name, real_time=True),)
    optimized = View(name if options.skip_ro_suffix else f"{name}_ro", read_optimized=True)
    # With skip_ro_suffix this is NAME twice: Hudi's NAME is without log files after the first commit, and with them
    # after each later one, unless hoodie.meta.sync.sync_snapshot_with_table_name=false.
    plain = [View(name, real_time=True)] if options.snapshot_with_table_name else []
    return (optimized, View(f"{name}_rt", real_time=True), *plain)


@dataclass(frozen=True, slots=True)
class TableFacts:
    """What a catalog is told of a table: *columns* as files have them, with or without meta fields."""

    database: str
    base_path: str
    columns: tuple[Column, ...]
    partition_fields: tuple[str, ...]
    owner: str
    base_file_format: str = "PARQUET"

    @classmethod
    def of(cls, config: TableConfig, schema: TableSchema, options: SyncOptions, *, root: str, owner: str) -> TableFacts:
        """Return the facts of a table at *root*, as far as the options do not say otherwise."""
        avro = schema.avro if options.omit_meta_fields else schema.avro_with_meta
        fields = config.partition_fields if options.partition_fields is None else options.partition_fields
        return cls(
            database=options.database or config.database or "default",
            base_path=(options.base_path or root).rstrip("/"),
            columns=parse_avro_types(avro).columns,
            partition_fields=fields,
            owner=owner,
            base_file_format=config.base_file_format,
        )


def describe(view: View, facts: TableFacts, options: SyncOptions) -> CatalogTable:
    """Return the table that a catalog should have for *view*, before it has been told of a commit.

    Raises:
        SchemaError: a column has a type that Hive or Spark does not have.
    """
    columns = [_hive_column(one, options) for one in facts.columns if one.name not in facts.partition_fields]
    keys = [_partition_key(name, facts, options) for name in facts.partition_fields]
    plain, real_time, output, serde = _ORC_FORMATS if facts.base_file_format == "ORC" else _PARQUET_FORMATS
    return CatalogTable(
        facts.database.lower(),
        view.name.lower(),
        StorageDescriptor(
            tuple(columns),
            location_of(facts.base_path),
            real_time if view.real_time else plain,
            output,
            serde,
            _serde_parameters(view, facts, options),
        ),
        tuple(keys),
        {**({} if options.managed else {"EXTERNAL": "TRUE"}), **_parameters(facts, options)},
        MANAGED if options.managed else EXTERNAL,
        facts.owner,
    )


def location_of(base_path: str) -> str:
    """Return a base path as a URI: a metastore would take a path without a scheme for one of its own file system."""
    return base_path if ":/" in base_path else f"file:{base_path}"


def _hive_column(column: Column, options: SyncOptions) -> CatalogColumn:
    comment = (column.doc or "") if options.comments else ""
    return CatalogColumn(column.name.lower(), hive_type(column, timestamps=options.timestamps), comment)


def _partition_key(name: str, facts: TableFacts, options: SyncOptions) -> CatalogColumn:
    column = next((one for one in facts.columns if one.name == name), Column(name, _TEXT))
    return CatalogColumn(name.lower(), hive_type(column, timestamps=options.timestamps))


def _serde_parameters(view: View, facts: TableFacts, options: SyncOptions) -> dict[str, str]:
    found = {**options.serde_properties, "serialization.format": "1"}
    if options.as_datasource:  # else the path comes with the first commit
        found |= {AS_READ_OPTIMIZED: "true" if view.read_optimized else "false", PATH: facts.base_path}
    return found


def _parameters(facts: TableFacts, options: SyncOptions) -> dict[str, str]:
    if not options.as_datasource:
        return dict(options.table_properties)
    names = facts.partition_fields
    known = {one.name: one for one in facts.columns}
    data = [one for one in facts.columns if one.name not in names]
    text = spark_schema_text([*data, *(known.get(name, Column(name, _TEXT)) for name in names)])
    parts = [text[start : start + options.schema_length] for start in range(0, len(text), options.schema_length)]
    version = {"spark.sql.create.version": options.spark_version} if options.spark_version else {}
    counted = {f"{_SCHEMA}numPartCols": str(len(names))} if names else {}
    return {
        **options.table_properties,
        PROVIDER: "hudi",
        **version,
        f"{_SCHEMA}numParts": str(len(parts)),
        **{f"{_SCHEMA}part.{number}": part for number, part in enumerate(parts)},
        **counted,
        **{f"{_SCHEMA}partCol.{number}": name for number, name in enumerate(names)},
    }


def with_changes(existing: CatalogTable, wanted: CatalogTable, *, comments: bool) -> CatalogTable:
    """Return *existing* with what *wanted* has otherwise; what others have added to it stays.

    Columns are changed if a name or a type differs.  With *comments*, comments are changed too.

    Source: HiveSyncTool.syncSchema and syncProperties, HoodieHiveSyncClient, Hudi 1.2.0.
    """
    old, new = existing.storage, wanted.storage
    columns = old.columns if _types(old.columns) == _types(new.columns) else new.columns
    if comments:
        columns = tuple(_with_comments(columns, {one.name: one.comment for one in new.columns}))
    formats = (new.input_format, new.output_format)
    has_all = _has_all(old.serde_parameters, new.serde_parameters)
    if not has_all or (old.input_format, old.output_format) != formats:
        old = replace(
            old,
            input_format=new.input_format,
            output_format=new.output_format,
            serde=new.serde,
            serde_parameters=new.serde_parameters,
        )
    added = {key: value for key, value in wanted.parameters.items() if key != "EXTERNAL"}
    parameters = existing.parameters if _has_all(existing.parameters, added) else {**existing.parameters, **added}
    return replace(existing, storage=replace(old, columns=columns), parameters=parameters)


def same_columns(one: CatalogTable, other: CatalogTable) -> bool:
    """Return whether two tables have the same columns with the same types, in any order."""
    return _types(one.storage.columns) == _types(other.storage.columns)


def _types(columns: Sequence[CatalogColumn]) -> dict[str, str]:
    return {one.name.lower(): "".join(one.type.lower().split()) for one in columns}


def _with_comments(columns: Iterable[CatalogColumn], comments: Mapping[str, str]) -> Iterator[CatalogColumn]:
    for column in columns:
        comment = comments.get(column.name.lower(), column.comment or "")
        yield column if comment == (column.comment or "") else replace(column, comment=comment)


def _has_all(there: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    return all(there.get(key) == value for key, value in wanted.items())


def with_commit(
    table: CatalogTable,
    *,
    base_path: str,
    location: str,
    commit: str | None,
    completion: str | None,
    writer: str,
) -> CatalogTable:
    """Return *table*, told of the newest *commit*; without one only the *writer* is noted.

    Source: HoodieHiveSyncClient.updateLastCommitTimeSynced and updateHoodieWriterVersion, Hudi 1.2.0.
    """
    if commit is None:
        return replace(table, parameters={**table.parameters, WRITER: writer})
    parameters = {**table.storage.serde_parameters, PATH: base_path}
    storage = replace(table.storage, location=location, serde_parameters=parameters)
    times = {LAST_COMMIT: commit, **({LAST_COMPLETION: completion} if completion else {})}
    return replace(table, storage=storage, parameters={**table.parameters, **times, WRITER: writer})
