"""Which of Hudi's table features are supported, in merging records, in reading and in writing.

Whatever is not supported is refused by its name.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import pyarrow as pa

from hudiformat.basefile import META_FIELDS, OPERATION
from hudiformat.errors import UnsupportedFeatureError
from hudiformat.merge import MergeRule, PartialUpdate, RecordMerger
from hudiformat.options import (
    REPLACING,
    BucketEngine,
    CdcMode,
    ConcurrencyMode,
    DuplicatePolicy,
    IndexType,
    Operation,
    WriteOptions,
)
from hudiformat.table.schema import RowKeys, TableSchema, stored_keys
from hudiformat.table.state import TableState
from hudiformat.timeline import VERSION_WITH_COMPLETION_TIMES, MergeMode, PartialUpdateMode, TableConfig, TableType

_DELETE_PROPERTIES = ("hoodie.payload.delete.field", "hoodie.payload.delete.marker")
_MARKER_PROPERTY = "hoodie.write.partial.update.unavailable.value"
_PAYLOADS = "org.apache.hudi.common.model."
_DEBEZIUM_DELETE = ("_change_operation_type", "d")


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How a table's records are merged, whichever properties define it."""

    mode: MergeMode
    ordering_fields: tuple[str, ...]
    partial_mode: PartialUpdateMode | None = None
    marker: str | None = None
    delete_marker: tuple[str, str] | None = None
    as_payload: bool = False


_EVENT, _COMMIT = MergeMode.EVENT_TIME_ORDERING, MergeMode.COMMIT_TIME_ORDERING
_IGNORE_DEFAULTS, _FILL = PartialUpdateMode.IGNORE_DEFAULTS, PartialUpdateMode.FILL_UNAVAILABLE

PAYLOADS = {
    f"{_PAYLOADS}PartialUpdateAvroPayload": Behaviour(_EVENT, (), _IGNORE_DEFAULTS),
    f"{_PAYLOADS}OverwriteNonDefaultsWithLatestAvroPayload": Behaviour(_COMMIT, (), _IGNORE_DEFAULTS),
    f"{_PAYLOADS}AWSDmsAvroPayload": Behaviour(_COMMIT, (), delete_marker=("Op", "D")),
    f"{_PAYLOADS}debezium.MySqlDebeziumAvroPayload": Behaviour(
        _EVENT, ("_event_bin_file", "_event_pos"), delete_marker=_DEBEZIUM_DELETE
    ),
    f"{_PAYLOADS}debezium.PostgresDebeziumAvroPayload": Behaviour(
        _EVENT, ("_event_lsn",), _FILL, "__debezium_unavailable_value", _DEBEZIUM_DELETE
    ),
}
"""What payload classes below version 9 do, in the terms of that version.  Without ordering fields the table's count.

Source: EightToNineUpgradeHandler, HoodieTableConfig.inferMergingConfigsForV9TableCreation, Hudi 1.2.0.
"""


def behaviour(config: TableConfig) -> Behaviour:
    """How a table's records are merged; without ordering fields the newest counts.

    Raises:
        UnsupportedFeatureError: by a payload class or a merger that only Java can run.
    """
    own = _own_behaviour(config)
    if config.merge_mode is not MergeMode.CUSTOM:
        return own
    payload = PAYLOADS.get(config.payload_class or "")
    if payload is None:
        raise _cannot_merge(config)
    ordering = payload.ordering_fields or own.ordering_fields
    return Behaviour(
        payload.mode if ordering else _COMMIT,
        ordering if payload.mode is _EVENT else (),
        payload.partial_mode,
        payload.marker,
        payload.delete_marker or own.delete_marker,
        as_payload=payload.partial_mode is _IGNORE_DEFAULTS,
    )


def merge_mode(config: TableConfig) -> MergeMode:
    """How the records of a table that is written to are merged; without ordering fields the newest counts.

    Raises:
        UnsupportedFeatureError: in a way that writing does not support yet.
    """
    found = behaviour(config)
    if found.partial_mode is not None:
        raise UnsupportedFeatureError(f"the partial update mode {found.partial_mode}", feature="partial update mode")
    if found.delete_marker is not None:
        raise UnsupportedFeatureError(f"the delete marker {found.delete_marker}", feature="custom delete markers")
    return found.mode


def _own_behaviour(config: TableConfig) -> Behaviour:
    by_event_time = config.merge_mode is _EVENT and bool(config.ordering_fields)
    return Behaviour(
        mode=_EVENT if by_event_time else _COMMIT,
        ordering_fields=config.ordering_fields if by_event_time or config.merge_mode is MergeMode.CUSTOM else (),
        partial_mode=config.partial_update_mode,
        marker=config.merge_properties.get(_MARKER_PROPERTY),
        delete_marker=delete_marker(config),
    )


def _cannot_merge(config: TableConfig) -> UnsupportedFeatureError:
    what = config.payload_class or f"the merge strategy {config.merge_strategy_id}"
    return UnsupportedFeatureError(
        f"the table {config.name!r} has a custom merge mode, with {what}, which is Java: hand open_table a merger that "
        "does the same",
        feature="CUSTOM merge mode",
    )


def delete_marker(config: TableConfig) -> tuple[str, str] | None:
    """The column and the text in it that mark a row as a delete, where the table has such.

    Source: DeleteContext.getCustomDeleteMarkerKeyValue.
    """
    column, marker = (config.merge_properties.get(key) for key in _DELETE_PROPERTIES)
    return (column, marker) if column and marker else None


@dataclass(frozen=True, slots=True)
class _MadeKeys:
    """The keys of rows without meta fields.  A class, so that it travels to other processes."""

    keys: RowKeys

    def __call__(self, rows: pa.Table) -> pa.ChunkedArray:
        return pa.chunked_array([self.keys.record_keys(rows)])


def merge_rule(config: TableConfig, schema: TableSchema, merger: RecordMerger | None) -> MergeRule:
    """How records of a table with *schema* are merged; by *merger*, where there is one.

    Raises:
        UnsupportedFeatureError: in a way that only Java knows, and there is no merger.
    """
    found = _own_behaviour(config) if merger is not None else behaviour(config)
    return MergeRule(
        mode=found.mode,
        keys=stored_keys if config.populate_meta_fields else _MadeKeys(RowKeys.of(config)),
        ordering_fields=found.ordering_fields if merger is None else (),
        delete_column=schema.delete_column,
        delete_marker=found.delete_marker,
        operation_column=OPERATION if schema.keeps_operations else None,
        partial=_partial(found, schema) if merger is None else None,
        merger=merger,
    )


def _partial(found: Behaviour, schema: TableSchema) -> PartialUpdate | None:
    if found.partial_mode is _IGNORE_DEFAULTS:
        # Hudi compares identities: a default other than null is hardly ever the same object.
        fields = json.loads(schema.avro_with_meta)["fields"]
        ignored = frozenset(field["name"] for field in fields if field.get("default") is None)
        newest = frozenset((*META_FIELDS, OPERATION)) if found.as_payload else frozenset()
        return PartialUpdate(ignored, as_payload=found.as_payload, newest=newest)
    if found.partial_mode is _FILL and found.marker is not None:
        texts = [field.name for field in schema.arrow_with_meta if _is_text(field.type)]
        return PartialUpdate(frozenset(texts), found.marker)
    return None


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))


WRITABLE_VERSIONS = (6, 8, 9)
"""The versions of tables that can be made and written to."""

AMBIGUOUS_KEYS = "tables below version 9 with the COMPLEX key generator and one record key field"
"""Releases of Hudi disagree on the form of their keys."""


def refuse_unreadable(config: TableConfig) -> None:
    """Raise an UnsupportedFeatureError for a table whose rows cannot be read yet."""
    refused = {
        f"base files of format {config.base_file_format}": config.base_file_format != "PARQUET",
        "bootstrapped tables": config.bootstrap_base_path is not None,
    }
    for feature, present in refused.items():
        if present:
            raise UnsupportedFeatureError(f"the table {config.name!r}: cannot read {feature} yet", feature=feature)


def refuse_unwritable(state: TableState) -> None:
    """Raise an UnsupportedFeatureError for a table that cannot be written yet."""
    config, options = state.config, state.options
    refused = {
        f"table version {config.version}": config.version not in WRITABLE_VERSIONS,
        AMBIGUOUS_KEYS: config.has_ambiguous_keys,
        "COPY_ON_WRITE tables with a merger of one's own": (
            config.table_type is TableType.COPY_ON_WRITE and state.context.merger is not None
        ),
        "tables without meta fields": not config.populate_meta_fields,
        "buckets without a record key": options.index_type is IndexType.BUCKET and not config.record_key_fields,
        f"change data in the mode {config.cdc_supplemental_logging_mode}": (
            config.cdc_enabled and config.cdc_supplemental_logging_mode not in {mode.value for mode in CdcMode}
        ),
        "slash-separated dates": config.slash_separated_dates,
        "custom delete markers": delete_marker(config) is not None,
        "dropped partition columns": config.drop_partition_columns,
        f"base files of format {config.base_file_format}": config.base_file_format.upper() != "PARQUET",
        "partition metadata files in base-file format": config.partition_metafile_use_base_format,
        "bootstrapped tables": config.bootstrap_base_path is not None,
        f"the index {options.index_type.value}": not options.index_type.is_supported,
        f"without blocking other writers in table version {config.version}": (
            options.concurrency.is_non_blocking and config.version < VERSION_WITH_COMPLETION_TIMES
        ),
        "without blocking other writers but with a bucket index and log files": (
            options.concurrency.is_non_blocking
            and (options.index_type is not IndexType.BUCKET or config.table_type is TableType.COPY_ON_WRITE)
        ),
    }
    refused |= _refused_buckets(config, options)
    for feature, present in refused.items():
        if present:
            raise UnsupportedFeatureError(f"{state.storage.root}: cannot write {feature} yet", feature=feature)
    merge_mode(config)


def _refused_buckets(config: TableConfig, options: WriteOptions) -> dict[str, bool]:
    """What consistent hashing cannot be with; Hudi refuses the first two as well."""
    is_ring = options.index_type is IndexType.BUCKET and options.bucket_engine is BucketEngine.CONSISTENT_HASHING
    return {
        "COPY_ON_WRITE tables with consistent hashing": is_ring and config.table_type is TableType.COPY_ON_WRITE,
        "consistent hashing without blocking other writers": is_ring and options.concurrency.is_non_blocking,
        "consistent hashing with rules for the number of buckets": is_ring and bool(options.bucketing.rules),
    }


def refuse_operation(state: TableState, operation: Operation) -> None:
    """Refuse what an operation would do to others' rows, to keys or to buckets.

    Raises:
        UnsupportedFeatureError: it cannot be done on this table, or in this mode.
    """
    _refuse_replacing(state, operation)
    _refuse_looking_up(state, operation)
    _refuse_reopening(state, operation)


def _refuse_replacing(state: TableState, operation: Operation) -> None:
    """Without blocking others, file groups cannot be removed: others may be adding rows to them."""
    if operation in REPLACING and state.options.concurrency.is_non_blocking:
        raise UnsupportedFeatureError(
            f"{state.storage.root}: {operation.value} removes file groups that other writers may be writing to: set "
            f"hoodie.write.concurrency.mode to {ConcurrencyMode.OPTIMISTIC.value} for it",
            feature=f"{operation.value} without blocking other writers",
        )


def _refuse_looking_up(state: TableState, operation: Operation) -> None:
    """A bucket index does not know which keys there are: for an insert, every row of a bucket would be a duplicate."""
    policy = state.options.insert_duplicates
    has_buckets = state.options.index_type is IndexType.BUCKET
    if operation is Operation.INSERT and has_buckets and policy is not DuplicatePolicy.NONE:
        raise UnsupportedFeatureError(
            f"{state.storage.root}: hoodie.datasource.insert.dup.policy={policy.value} looks keys up, which a bucket "
            "index does not; upsert the rows instead",
            feature="insert policies with a bucket index",
        )


def _refuse_reopening(state: TableState, operation: Operation) -> None:
    """The buckets of a ring have had their file ids from the beginning: removed once, they would hide what comes."""
    has_rings = state.options.index_type is IndexType.BUCKET and state.options.bucket_engine is not BucketEngine.SIMPLE
    if operation in REPLACING and has_rings:
        raise UnsupportedFeatureError(
            f"{state.storage.root}: {operation.value} removes the file groups of buckets, whose ids a ring keeps; "
            "delete the rows instead",
            feature=f"{operation.value} with consistent hashing",
        )
