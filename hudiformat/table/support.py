"""Refuse tables and operations whose features hudiformat does not support; the error names the feature."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from hudiformat.codec.avro.nodes import unknown_logical_types
from hudiformat.codec.avro.schema import avro_to_arrow
from hudiformat.codec.custom_types import is_vector
from hudiformat.errors import UnsupportedFeatureError
from hudiformat.file_group.base_file.format import WRITABLE_FORMATS, format_named
from hudiformat.file_group.merging.rule import behaviour
from hudiformat.table.key_form import refuse_other_keys
from hudiformat.table.options.buckets import BucketEngine
from hudiformat.table.options.keys import KEEP_OPERATIONS, NEW_KEY_ENCODING
from hudiformat.table.options.timed_paths import SLASHES
from hudiformat.table.options.values import (
    REPLACING,
    SUPPORTED_INDEX_TYPES,
    CdcMode,
    ConcurrencyMode,
    DuplicatePolicy,
    IndexType,
    Operation,
    WriteOptions,
)
from hudiformat.table.registered import refuse_writes_beside_registered
from hudiformat.table.state import TableState
from hudiformat.timeline.config_files import VERSION_WITH_COMPLETION_TIMES
from hudiformat.timeline.table_config import PartialUpdateMode, TableConfig, TableType

WRITABLE_VERSIONS = (6, 8, 9)
"""The table versions that can be created and written."""

AMBIGUOUS_KEYS = "tables below version 9 with the COMPLEX key generator and one record key field"
"""Not written without the option that names the form of the keys, on which releases of Hudi disagree."""
CHOOSE_KEYS = (
    f"set {NEW_KEY_ENCODING}=true if the record keys are those of Hudi 0.14.1 to 1.0.2, such as '1', and false if they "
    "are those of other releases, such as 'a:1'"
)

PLACEHOLDERS = "MERGE_ON_READ tables of PostgresDebeziumAvroPayload below version 9"
"""Not written, because Hudi 1.2.0 shows the placeholders of values that it should take from older records."""

_NEED_META_FIELDS = ("bloom_filters", "record_index", "secondary_index")
"""Partitions of the metadata table whose records Hudi 1.2.0 takes from meta fields of files: it loses keys without."""

_COPY = "write the table with Hudi, or copy its rows into a new table"


def shows_placeholders(config: TableConfig) -> bool:
    """Return whether Hudi shows placeholders of unavailable values in a table with *config*, instead of the values."""
    found = behaviour(config)
    is_mor = config.table_type is TableType.MERGE_ON_READ
    return is_mor and found.by_payload and found.partial_mode is PartialUpdateMode.FILL_UNAVAILABLE


def refuse_unwritable(state: TableState) -> None:
    """Raise an UnsupportedFeatureError for a table that cannot be written yet."""
    config, options = state.config, state.options
    found = None if state.context.merger is not None else behaviour(config)
    mode, versions = "hoodie.write.concurrency.mode", ", ".join(map(str, WRITABLE_VERSIONS))
    is_cow = config.table_type is TableType.COPY_ON_WRITE
    has_buckets, is_non_blocking = options.index_type is IndexType.BUCKET, options.concurrency.is_non_blocking
    logging_mode = config.cdc_supplemental_logging_mode
    optimistic = f"set {mode}={ConcurrencyMode.OPTIMISTIC.value}"
    refused = {
        f"table version {config.version}": (
            config.version not in WRITABLE_VERSIONS,
            f"upgrade it to one of {versions}",
        ),
        AMBIGUOUS_KEYS: (config.has_ambiguous_keys and config.plain_keys is None, CHOOSE_KEYS),
        PLACEHOLDERS: (found is not None and shows_placeholders(config), _COPY),
        "partial updates with a global index that moves rows, which would need all columns": (
            found is not None and found.partial_mode is not None and options.is_global and options.moves_partitions,
            "set hoodie.record.index.update.partition.path, or that of the index, to false",
        ),
        "buckets without a record key": (has_buckets and not config.record_key_fields, "choose another index"),
        f"change data in the mode {logging_mode}": (
            config.cdc_enabled and logging_mode not in {one.value for one in CdcMode},
            f"set hoodie.table.cdc.supplemental.logging.mode to one of {', '.join(one.value for one in CdcMode)}",
        ),
        "slash-separated dates in paths of several columns, or of times": (
            config.slash_separated_dates and (len(config.partition_fields) != 1 or config.has_timed_paths),
            f"leave {SLASHES} out, or name one column",
        ),
        **{
            f"the logical type {logical} of the column {path}": (True, "write it with Hudi")
            for path, logical in _unknown_types(state).items()
        },
        **_conflicts_of_dropped_columns(state),
        f"base files of format {config.base_file_format}": (config.base_file_format not in WRITABLE_FORMATS, _COPY),
        f"the index {options.index_type.value}": (
            not options.index_type.is_supported,
            f"set hoodie.index.type to one of {', '.join(one.value for one in SUPPORTED_INDEX_TYPES)}",
        ),
        f"non-blocking writers in table version {config.version}": (
            is_non_blocking and config.version < VERSION_WITH_COMPLETION_TIMES,
            f"upgrade the table to version 9, or {optimistic}",
        ),
        "non-blocking writers of a table without log files or without a bucket index": (
            is_non_blocking and (not has_buckets or is_cow),
            f"{optimistic}, or make a MERGE_ON_READ table with hoodie.index.type=BUCKET",
        ),
    }
    refused |= _consistent_hashing_conflicts(config, options)
    for feature, (present, advice) in refused.items():
        if present:
            raise UnsupportedFeatureError(
                f"{state.storage.root}: expected a table and options with which hudiformat can write, found {feature}; "
                f"{advice}",
                feature=feature,
            )
    refuse_without_meta_fields(config, options)
    if not config.populate_meta_fields:
        refuse_writes_beside_registered(state)
    refuse_other_keys(state)
    if avro := _avro_schema(state):
        refuse_columns_of_format(config, avro_to_arrow(avro))


def refuse_columns_of_format(config: TableConfig, schema: pa.Schema) -> None:
    """Raise an UnsupportedFeatureError for columns that Hudi could not read from files of the table.

    Source: HoodieSchema.validateNoVectorInNestedRecord, Hudi 1.2.0: a change-data log has the rows in a record.
    """
    vector = next((field.name for field in schema if is_vector(field.type)), None)
    if config.cdc_enabled and vector is not None:
        raise UnsupportedFeatureError(
            f"the column {vector}: expected no vector in a table that logs its changes (hoodie.table.cdc.enabled), "
            "found one, which Hudi neither writes into such a log nor shows in its changes; make the table without",
            feature="change data of tables with vectors",
        )
    found = format_named(config.base_file_format).unwritable(schema)
    for name, what in found.items():
        feature = f"{what} in base files of format {config.base_file_format}"
        raise UnsupportedFeatureError(
            f"the column {name}: expected a type that Hudi and Spark have in such files, found {feature}; give local "
            "timestamps a time zone, or make the table with base files in Parquet",
            feature=feature,
        )


def _avro_schema(state: TableState) -> str | None:
    metadata = state.commit_with_schema(None)
    return state.config.create_schema if metadata is None else metadata.schema


def _unknown_types(state: TableState) -> Mapping[str, str]:
    """Return the logical types of the table's columns that are not known, by the paths of the columns."""
    avro = _avro_schema(state)
    return unknown_logical_types(avro) if avro else {}


def refuse_without_meta_fields(config: TableConfig, options: WriteOptions) -> None:
    """Refuse a table without meta fields whose record keys could not be told from its rows.

    Raises:
        UnsupportedFeatureError: it is one.

    Source: BaseHoodieWriteClient.validateAgainstTableProperties, KeyGeneratorType.isKeyGenValidForDisabledMetaFields.
    """
    if config.populate_meta_fields:
        return
    generator, asked = config.key_generator, options.indexing
    has_records = asked.record_index or asked.partitioned_record_index
    new = {"record_index": has_records, "bloom_filters": asked.bloom_filters}
    wanted = {*config.metadata_partitions, *(name for name, is_wanted in new.items() if is_wanted)}.difference(
        asked.drop
    )
    of_keys = sorted(one for one in wanted if one.startswith(_NEED_META_FIELDS))
    refused = {
        "no record key": (not config.record_key_fields, "name a record key, or leave the meta fields in"),
        f"the key generator {generator.name if generator else None}": (
            config.has_timed_paths,
            "choose SIMPLE, COMPLEX or NON_PARTITION, as Hudi does not write such a table either",
        ),
        f"the indexes {', '.join(of_keys)} in the metadata table": (
            bool(of_keys),
            f"leave them out, or drop them with hoodie.metadata.index.drop={','.join(of_keys)}",
        ),
        KEEP_OPERATIONS: (options.keep_operations, "leave the option out"),
    }
    for feature, (present, advice) in refused.items():
        if present:
            raise UnsupportedFeatureError(
                f"expected a table without meta fields whose rows tell their record keys, found {feature}; {advice}",
                feature=f"{feature} without meta fields",
            )


def _conflicts_of_dropped_columns(state: TableState) -> dict[str, tuple[bool, str]]:
    """Return what cannot be combined with dropped partition columns, whether the table has it, and advice."""
    config, drops = state.config, state.config.drop_partition_columns
    is_mor, is_timed = config.table_type is TableType.MERGE_ON_READ, config.has_timed_paths
    return {
        "dropped partition columns of a MERGE_ON_READ table, which Hudi 1.2.0 does not drop": (drops and is_mor, _COPY),
        "dropped partition columns of times, of which paths tell a part": (drops and is_timed, _COPY),
        "dropped partition columns in change data": (drops and config.cdc_enabled, _COPY),
        "dropped partition columns and an internal schema": (drops and state.has_ids(), _COPY),
    }


def _consistent_hashing_conflicts(config: TableConfig, options: WriteOptions) -> dict[str, tuple[bool, str]]:
    """Return the features that cannot be combined with consistent hashing, whether the table has them, and advice.

    Hudi refuses the first two as well.
    """
    is_ring = options.index_type is IndexType.BUCKET and options.bucket_engine is BucketEngine.CONSISTENT_HASHING
    simple = "set hoodie.index.bucket.engine=SIMPLE"
    return {
        "COPY_ON_WRITE tables with consistent hashing": (
            is_ring and config.table_type is TableType.COPY_ON_WRITE,
            f"make a MERGE_ON_READ table, or {simple}",
        ),
        "consistent hashing with non-blocking writers": (
            is_ring and options.concurrency.is_non_blocking,
            f"set hoodie.write.concurrency.mode={ConcurrencyMode.OPTIMISTIC.value}",
        ),
        "consistent hashing with rules for the number of buckets": (
            is_ring and bool(options.bucketing.rules),
            f"leave the rules out, or {simple}",
        ),
    }


def refuse_operation(state: TableState, operation: Operation) -> None:
    """Refuse an operation that could lose rows of other writers, miss duplicates, or break a bucket index.

    Raises:
        UnsupportedFeatureError: the table, or the concurrency mode, does not allow the operation.
    """
    _refuse_replacing(state, operation)
    _refuse_duplicate_policy(state, operation)
    _refuse_group_removal(state, operation)


def _refuse_replacing(state: TableState, operation: Operation) -> None:
    """Refuse to remove file groups in non-blocking mode, because other writers may be adding rows to them."""
    if operation in REPLACING and state.options.concurrency.is_non_blocking:
        raise UnsupportedFeatureError(
            f"{state.storage.root}: {operation.value} removes file groups that other writers may be writing to: "
            f"expected hoodie.write.concurrency.mode={ConcurrencyMode.OPTIMISTIC.value}, found "
            f"{ConcurrencyMode.NON_BLOCKING.value}; set the mode for this write",
            feature=f"{operation.value} without blocking other writers",
        )


def _refuse_duplicate_policy(state: TableState, operation: Operation) -> None:
    """Refuse an insert that treats duplicates specially with a bucket index, which cannot look up keys.

    To such an insert, each key of a bucket that has rows would be a duplicate.
    """
    policy = state.options.insert_duplicates
    has_buckets = state.options.index_type is IndexType.BUCKET
    if operation is Operation.INSERT and has_buckets and policy is not DuplicatePolicy.NONE:
        raise UnsupportedFeatureError(
            f"{state.storage.root}: expected hoodie.datasource.insert.dup.policy=none with a "
            f"bucket index, which does not look keys up, found {policy.value}; upsert the rows "
            "instead",
            feature="insert policies with a bucket index",
        )


def _refuse_group_removal(state: TableState, operation: Operation) -> None:
    """Refuse to remove the file groups of buckets with consistent hashing.

    The file ids of its buckets are fixed.  After a replace commit removed them, rows written to them later would be
    hidden, too.
    """
    has_rings = state.options.index_type is IndexType.BUCKET and state.options.bucket_engine is not BucketEngine.SIMPLE
    if operation in REPLACING and has_rings:
        raise UnsupportedFeatureError(
            f"{state.storage.root}: expected an operation that keeps the file groups of "
            f"buckets, whose ids a ring keeps, found {operation.value}; delete the rows "
            "instead",
            feature=f"{operation.value} with consistent hashing",
        )
