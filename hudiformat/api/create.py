"""Create a table: its folders, its properties and, if the options enable it, its metadata table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone

import pyarrow as pa

from hudiformat.api.table import Table, open_table
from hudiformat.arguments import ArrowSchema, as_name_list, check_arguments
from hudiformat.errors import (
    OptionError,
    SchemaError,
    TableExistsError,
    UnsupportedFeatureError,
    unknown_column_error,
    warn,
)
from hudiformat.file_group.base_file.format import WRITABLE_FORMATS
from hudiformat.naming.file_names import BASE_FILE_EXTENSIONS
from hudiformat.naming.timed_partitions import timed_options
from hudiformat.schema.given_schema import schema_of
from hudiformat.schema.meta_fields import check_delete_column
from hudiformat.schema.table_schema import RowKeys, TableSchema, field_type
from hudiformat.storage.opening import Location, open_storage
from hudiformat.storage.protocol import Storage
from hudiformat.table.bucket_config import save_bucket_rules
from hudiformat.table.new_table import check_table_name, new_table_config
from hudiformat.table.options.agreement import options_of
from hudiformat.table.options.buckets import BucketEngine, format_bucket_rules
from hudiformat.table.options.keys import KEEP_OPERATIONS, TABLE_KEYS, parse_write_options
from hudiformat.table.options.merging import merging_of
from hudiformat.table.options.parsers import member_of, parse_boolean
from hudiformat.table.options.sync import TABLE_EXTRACTOR
from hudiformat.table.options.timed_paths import SLASHES, partition_types_of, split_partition_fields
from hudiformat.table.options.values import CdcMode, IndexType, WriteOptions
from hudiformat.table.state import Clock, TableClock
from hudiformat.table.support import (
    AMBIGUOUS_KEYS,
    CHOOSE_KEYS,
    PLACEHOLDERS,
    WRITABLE_VERSIONS,
    refuse_columns_of_format,
    refuse_without_meta_fields,
    shows_placeholders,
)
from hudiformat.timeline.config_files import PROPERTIES_FILE, format_table_config, has_table, update_table_config
from hudiformat.timeline.table_config import KeyGenerator, TableConfig, TableType, TimelineZone, key_generator_named
from hudiformat.write.made_keys import with_key_fields
from hudiformat.write.metadata.setting_up import refuse_partitioned_index, set_up_metadata_table


@check_arguments
def create_table(
    path: Location,
    *,
    name: str,
    schema: ArrowSchema,
    record_key: str | Sequence[str],
    ordering: str | Sequence[str] = (),
    partition_by: str | Sequence[str] = (),
    table_type: str = "MERGE_ON_READ",
    version: int = 9,
    options: Mapping[str, str] | None = None,
    clock: Clock | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> Table:
    """Create an empty table at *path* and return it.

    *path* is a local path, a URI such as ``s3://bucket/table``, or a storage that ``open_storage`` returned.  The
    columns *record_key* identify a record.  If two records have the same key, the record with the higher values in
    the columns *ordering* wins; without *ordering*, the newer record wins.  With ``record_key=[]`` every inserted
    row gets a generated key in the meta field ``_hoodie_record_key``.  The values of the columns *partition_by*
    name the partition folders.  *schema* is a schema of pyarrow, or a data frame of pandas or Polars, or anything
    else that exports Arrow: its columns are taken as they would be written, times of nanoseconds as microseconds.
    *version* is 9, 8 (written by Hudi 1.0) or 6 (written by Hudi 0.14 and 0.15); below 9 a table has at most one
    ordering column, and with several partition columns it needs several record key columns.

    *options* are Hudi's keys.  The options that all writers of the table must share, such as the index and the number
    of buckets, are saved in the table's properties, where Hudi reads them too.  With ``hoodie.metadata.enable`` true
    the table gets a metadata table.  *clock* and *storage_options* are as for ``open_table``.

    Raises:
        TableExistsError: there is a table at *path* already.
        SchemaError: Avro cannot hold the type of a column, or the schema lacks a key column.
        OptionError: Avro does not allow the name, an option is unknown or has a bad value, or a table below version 9
            has several ordering columns.
        UnsupportedFeatureError: the table type or version is not supported.

    Source: HoodieTableMetaClient.TableBuilder; spec/table-properties.md.
    """
    _refuse_unsupported(table_type, version)
    check_table_name(name)
    options = dict(options or {})
    parse_write_options(options)
    storage = open_storage(path, storage_options=storage_options)
    refuse_existing(storage)
    new = describe_table(
        name=name,
        schema=schema_of(schema),
        record_key=as_name_list(record_key),
        ordering=as_name_list(ordering),
        partition_by=as_name_list(partition_by),
        table_type=table_type,
        version=version,
        options=options,
    )
    table = make_table(storage, new, clock)
    if forgotten := _forgotten_options(new):
        named = ", ".join(f"{key!r}: {new.options[key]!r}" for key in forgotten)
        warn(
            f"{storage.root}: the table does not keep {', '.join(forgotten)}, which only the table object that "
            f"create_table returns goes by; from then on write hf.open_table(path, options={{{named}}})"
        )
    return table


def _forgotten_options(new: NewTable) -> list[str]:
    """Return the options that have an effect on writes, and that the properties of the table do not keep.

    Those of the metadata table are kept by the metadata table that is there.
    """
    kept = options_of(new.config, {})
    return [
        key
        for key, value in new.options.items()
        if not key.startswith("hoodie.metadata.") and _changes(new.config, key, value, kept)
    ]


def _changes(config: TableConfig, key: str, value: str, kept: WriteOptions) -> bool:
    try:
        return options_of(config, {key: value}) != kept
    except OptionError:  # it goes with others alone
        return True


def make_table(storage: Storage, new: NewTable, clock: Clock | None) -> Table:
    """Make the table *new*, without rows, at the root of *storage*, where there is none, and return it."""
    config = new.config
    if new.parsed.bucketing.rules:
        save_bucket_rules(storage, new.parsed)
    storage.make_folder(config.history_folder)  # this makes the timeline's folder too: without it Hudi finds no table
    # The properties are written after the folders: a process that stops before them leaves no table, and a process that
    # stops after them leaves a table without a metadata table, which is valid.
    storage.create(PROPERTIES_FILE, format_table_config(config, saved_at=datetime.now(timezone.utc)))
    if new.parsed.metadata_enable:
        found = set_up_metadata_table(
            storage, config, new.parsed, new.stored, clock or TableClock(config.timeline_zone)
        )
        update_table_config(storage, found, saved_at=datetime.now(timezone.utc))
    return open_table(storage, options=new.options, clock=clock)


def refuse_existing(storage: Storage) -> None:
    """Raise a TableExistsError if there is a table at the root of *storage*."""
    if has_table(storage):
        raise TableExistsError(f"{storage.root}: there is a table already", path=storage.root)


@dataclass(frozen=True, slots=True)
class NewTable:
    """A table that is to be created: its properties, and the *options* of its writers, also ``parsed``.

    ``stored`` is the schema of its files.
    """

    config: TableConfig
    options: Mapping[str, str]
    parsed: WriteOptions
    stored: TableSchema


def describe_table(
    *,
    name: str,
    schema: pa.Schema,
    record_key: Sequence[str],
    ordering: Sequence[str],
    partition_by: Sequence[str],
    table_type: str,
    version: int,
    options: Mapping[str, str],
    properties: Mapping[str, str] | None = None,
) -> NewTable:
    """Return the table that :func:`create_table` makes for its arguments; *properties* are further ones of the table.

    Raises:
        SchemaError, OptionError, UnsupportedFeatureError: as :func:`create_table`.
    """
    _refuse_unsupported(table_type, version)
    check_table_name(name)
    partition_by, types = split_partition_fields("partition_by", list(partition_by))
    types = types or partition_types_of(options)
    generator = _key_generator(options, types, partition_by)
    merging = merging_of(options, ordering, version=version)
    _check_columns(schema, record_key, merging.ordering_fields, partition_by, ordering=merging.ordering_fields)
    _check_types(schema, merging.ordering_fields)
    drops = _drops_partition_columns(options, table_type, generator, partition_by)
    stored = pa.schema([field for field in schema if not (drops and field.name in partition_by)])
    config = new_table_config(
        name=name,
        table_type=TableType(table_type),
        record_key_fields=tuple(record_key),
        partition_fields=partition_by,
        partition_types=types,
        key_generator=generator,
        ordering_fields=merging.ordering_fields,
        merge_mode=merging.mode,
        payload_class=merging.payload_class,
        hive_style_partitioning=_flag(options, "hoodie.datasource.write.hive_style_partitioning"),
        url_encode_partitioning=_flag(options, "hoodie.datasource.write.partitionpath.urlencode"),
        timeline_zone=_timeline_zone(options),
        version=version,
        cdc_enabled=_flag(options, "hoodie.table.cdc.enabled"),
        drop_partition_columns=drops,
        slash_separated_dates=_has_slash_dates(options, generator, partition_by, schema),
        populate_meta_fields=_flag(options, "hoodie.populate.meta.fields", default="true"),
        base_file_format=_base_file_format(options),
        partition_metafile_use_base_format=_flag(options, "hoodie.partition.metafile.use.base.format"),
        extra={
            "hoodie.table.create.schema": TableSchema.from_arrow(stored, name).avro,
            **merging.properties,
            **_index_properties(options, record_key),
            **_change_properties(options),
            **_sync_properties(options),
            **({KEEP_OPERATIONS: "true"} if _flag(options, KEEP_OPERATIONS) else {}),
            **(properties or {}),
            **(timed_options(options) if generator is not None else {}),
        },
    )
    given = parse_write_options(options)
    config = given.timed_paths.complete(replace(config, plain_keys=given.plain_keys))
    _check_keys(config, schema, given)
    refuse_columns_of_format(config, TableSchema.from_arrow(schema, name).arrow)
    chosen = {key: value for key, value in options.items() if key not in TABLE_KEYS}
    parsed = options_of(config, chosen)  # refuses options that contradict the arguments before anything is written
    if parsed.metadata_enable:
        refuse_partitioned_index(config, parsed.indexing)
    return NewTable(config, chosen, parsed, TableSchema.from_arrow(stored, name))


def _refuse_unsupported(table_type: str, version: int) -> None:
    if table_type not in TableType.__members__:
        known = ", ".join(TableType.__members__)
        raise OptionError(f"table_type: expected one of {known}, found {table_type!r}", option="table_type")
    if version not in WRITABLE_VERSIONS:
        raise UnsupportedFeatureError(
            f"version: expected one of {', '.join(map(str, WRITABLE_VERSIONS))}, found {version}; choose one of these",
            feature=f"table version {version}",
        )


def _check_keys(config: TableConfig, schema: pa.Schema, options: WriteOptions) -> None:
    RowKeys.of(config).check(with_key_fields(config, schema))
    refuse_without_meta_fields(config, options)
    if shows_placeholders(config):
        raise UnsupportedFeatureError(
            f"expected a table whose values Hudi shows, found one of {PLACEHOLDERS}, where it shows the placeholders "
            "of unavailable values; create it with version=9",
            feature=PLACEHOLDERS,
        )
    if config.has_ambiguous_keys and config.plain_keys is None:
        raise UnsupportedFeatureError(
            f"expected keys that all releases of Hudi write alike, found {AMBIGUOUS_KEYS}; "
            f"name a second key column, or one partition column, or {CHOOSE_KEYS}",
            feature=AMBIGUOUS_KEYS,
        )


def _check_columns(schema: pa.Schema, *groups: Sequence[str], ordering: Sequence[str]) -> None:
    """Refuse columns that are not there; only those of keys and partition paths may be fields of structs."""
    there = set(schema.names)
    for group in groups:
        for name in group:
            if name not in there and (group is ordering or field_type(schema, name) is None):
                raise unknown_column_error(name, schema.names)
        if len(set(group)) < len(group):
            raise OptionError(f"expected each column once, found {', '.join(group)}; leave out what is named again")


def _check_types(schema: pa.Schema, ordering: Sequence[str]) -> None:
    for name in ordering:
        kind = schema.field(name).type
        if pa.types.is_nested(kind) or pa.types.is_fixed_size_binary(kind):
            raise SchemaError(
                f"column {name} of type {kind} has no order that Hudi knows: order by numbers, texts, dates or times",
                column=name,
            )
    check_delete_column(schema)


_DROP = "hoodie.datasource.write.drop.partition.columns"


def _drops_partition_columns(
    options: Mapping[str, str], table_type: str, generator: KeyGenerator | None, partition_by: Sequence[str]
) -> bool:
    """Return whether files do not have the partition columns, whose texts the paths tell.

    Raises:
        OptionError: Hudi does not do so in a table of this kind, or paths would not tell the texts.
    """
    if not _flag(options, _DROP):
        return False
    is_mor = table_type == TableType.MERGE_ON_READ.value
    if is_mor or generator is not None or not partition_by or _flag(options, "hoodie.table.cdc.enabled"):
        raise OptionError(
            f"{_DROP}: expected a COPY_ON_WRITE table with partition columns, none of them a time in the path, and "
            "without change data, found another; leave the option out",
            option=_DROP,
        )
    return True


def _has_slash_dates(
    options: Mapping[str, str], generator: KeyGenerator | None, partition_by: Sequence[str], schema: pa.Schema
) -> bool:
    """Return whether the dates in partition paths have slashes.

    Raises:
        OptionError: there is another number of partition columns than one, or it is none of texts: Hudi 1.2.0 reads no
            row of a table whose column of dates has such paths.
    """
    if not _flag(options, SLASHES):
        return False
    kinds = [field_type(schema, name) for name in partition_by]
    if generator is not None or len(kinds) != 1 or kinds[0] != pa.string():
        found = ", ".join(f"{name} of type {kind}" for name, kind in zip(partition_by, kinds, strict=True))
        raise OptionError(
            f"{SLASHES}: expected one partition column of texts such as 2024-02-29, found {found or 'none'}; leave the "
            "option out",
            option=SLASHES,
        )
    return True


_GENERATOR_KEYS = (
    "hoodie.table.keygenerator.type",
    "hoodie.table.keygenerator.class",
    "hoodie.datasource.write.keygenerator.type",
    "hoodie.datasource.write.keygenerator.class",
)


def _key_generator(
    options: Mapping[str, str], types: Sequence[str], partition_by: Sequence[str]
) -> KeyGenerator | None:
    """Return the key generator of times in paths that *options* ask for; None for one that Hudi infers.

    Raises:
        OptionError: it does not fit the partition columns.
    """
    asked = {key_generator_named(str(options[key])) for key in _GENERATOR_KEYS if key in options}
    asked &= {KeyGenerator.TIMESTAMP, KeyGenerator.CUSTOM}
    if KeyGenerator.TIMESTAMP in asked and len(partition_by) != 1:
        raise OptionError(
            "partition_by: expected one column of times for the TIMESTAMP key generator, found "
            f"{', '.join(partition_by) or 'none'}; name one, or give each a type, such as city:SIMPLE,ts:TIMESTAMP",
            option="partition_by",
        )
    if asked == {KeyGenerator.CUSTOM} and len(types) != len(partition_by):
        raise OptionError(
            "partition_by: expected columns with types, such as city:SIMPLE,ts:TIMESTAMP, for the CUSTOM key "
            f"generator, found {', '.join(partition_by) or 'none'}; add the types",
            option="partition_by",
        )
    return KeyGenerator.CUSTOM if types else next(iter(asked), None)


def _index_properties(options: Mapping[str, str], record_key: Sequence[str]) -> dict[str, str]:
    """Return the table properties that describe the index; a writer with another index may not find the table's keys.

    Hudi's procedures get no options.  On a table with a bucket index they fail, unless the properties have the columns
    of the hash and of the record key under the names of the write options
    (HoodieIndexConfig.Builder.validateBucketIndexConfig).
    """
    chosen = parse_write_options(options)
    if chosen.index_type is not IndexType.BUCKET:
        return {"hoodie.index.type": chosen.index_type.value} if "hoodie.index.type" in options else {}
    if not record_key:
        raise UnsupportedFeatureError(
            "hoodie.index.type=BUCKET: expected a record key, whose hash is the bucket, found "
            "none; name its columns with record_key=, or choose another index",
            feature="buckets without a record key",
        )
    return {
        "hoodie.index.type": chosen.index_type.value,
        "hoodie.bucket.index.num.buckets": str(chosen.num_buckets),
        "hoodie.bucket.index.hash.field": ",".join(chosen.hash_fields or record_key),
        "hoodie.datasource.write.recordkey.field": ",".join(record_key),
        **_bucket_properties(chosen),
    }


def _bucket_properties(chosen: WriteOptions) -> dict[str, str]:
    """Return the properties for the bucket engine and for the bucket rules, where they differ from Hudi's defaults."""
    found = {}
    if chosen.bucket_engine is not BucketEngine.SIMPLE:
        found["hoodie.index.bucket.engine"] = chosen.bucket_engine.value
    if chosen.bucketing.rules:
        found["hoodie.bucket.index.partition.expressions"] = format_bucket_rules(chosen.bucketing.rules)
    return found


def _change_properties(options: Mapping[str, str]) -> dict[str, str]:
    key = "hoodie.table.cdc.supplemental.logging.mode"
    if key not in options:
        return {}
    return {key: member_of(CdcMode)(key, str(options[key])).value}


def _sync_properties(options: Mapping[str, str]) -> dict[str, str]:
    """Return the table property that says how partition paths become values, if the options say so."""
    extractor = parse_write_options(options).catalogs.extractor
    return {} if extractor is None else {TABLE_EXTRACTOR: extractor.value}


def _base_file_format(options: Mapping[str, str]) -> str:
    keys = [key for key in ("hoodie.table.base.file.format", "hoodie.base.file.format") if key in options]
    names = {str(options[key]).upper() for key in keys} or {"PARQUET"}
    unknown = names.difference(WRITABLE_FORMATS)
    if unknown or len(names) > 1:
        found = " and ".join(str(options[key]) for key in keys)
        known = {extension.upper() for extension in BASE_FILE_EXTENSIONS}
        message = f"{keys[0]}: expected one of {', '.join(WRITABLE_FORMATS)}, found {found}; choose one of them"
        if unknown & known:
            name = min(unknown)
            raise UnsupportedFeatureError(message, feature=f"base files of format {name}")
        raise OptionError(message, option=keys[0])
    return min(names)


def _timeline_zone(options: Mapping[str, str]) -> TimelineZone:
    key = "hoodie.table.timeline.timezone"
    text = str(options.get(key, TimelineZone.LOCAL.value)).upper()
    if text not in TimelineZone.__members__:
        raise OptionError(f"{key}: expected LOCAL or UTC, found {options[key]!r}", option=key)
    return TimelineZone(text)


def _flag(options: Mapping[str, str], key: str, *, default: str = "false") -> bool:
    return parse_boolean(key, str(options.get(key, default)))
