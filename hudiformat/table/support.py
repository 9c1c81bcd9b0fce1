"""Refuse tables and operations whose features hudiformat does not support; the error names the feature."""

from __future__ import annotations

from hudiformat.errors import UnsupportedFeatureError
from hudiformat.file_group.base_file.format import FORMATS
from hudiformat.file_group.merging.rule import delete_marker, merge_mode
from hudiformat.table.options.buckets import BucketEngine
from hudiformat.table.options.values import (
    REPLACING,
    CdcMode,
    ConcurrencyMode,
    DuplicatePolicy,
    IndexType,
    Operation,
    WriteOptions,
)
from hudiformat.table.state import TableState
from hudiformat.timeline.config_files import VERSION_WITH_COMPLETION_TIMES
from hudiformat.timeline.table_config import TableConfig, TableType

WRITABLE_VERSIONS = (6, 8, 9)
"""The table versions that can be created and written."""

AMBIGUOUS_KEYS = "tables below version 9 with the COMPLEX key generator and one record key field"
"""Not written, because releases of Hudi disagree on the form of the keys."""


def refuse_unwritable(state: TableState) -> None:
    """Raise an UnsupportedFeatureError for a table that cannot be written yet."""
    config, options = state.config, state.options
    refused = {
        f"table version {config.version}": config.version not in WRITABLE_VERSIONS,
        AMBIGUOUS_KEYS: config.has_ambiguous_keys,
        "COPY_ON_WRITE tables with a custom merger": (
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
        f"base files of format {config.base_file_format}": config.base_file_format not in FORMATS,
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
    refused |= _consistent_hashing_conflicts(config, options)
    for feature, present in refused.items():
        if present:
            raise UnsupportedFeatureError(f"{state.storage.root}: cannot write {feature} yet", feature=feature)
    merge_mode(config)


def _consistent_hashing_conflicts(config: TableConfig, options: WriteOptions) -> dict[str, bool]:
    """Return the features that cannot be combined with consistent hashing, and whether the table has them.

    Hudi refuses the first two as well.
    """
    is_ring = options.index_type is IndexType.BUCKET and options.bucket_engine is BucketEngine.CONSISTENT_HASHING
    return {
        "COPY_ON_WRITE tables with consistent hashing": is_ring and config.table_type is TableType.COPY_ON_WRITE,
        "consistent hashing without blocking other writers": is_ring and options.concurrency.is_non_blocking,
        "consistent hashing with rules for the number of buckets": is_ring and bool(options.bucketing.rules),
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
            f"{state.storage.root}: {operation.value} removes file groups that other writers may be writing to: set "
            f"hoodie.write.concurrency.mode to {ConcurrencyMode.OPTIMISTIC.value} for it",
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
            f"{state.storage.root}: hoodie.datasource.insert.dup.policy={policy.value} looks keys up, which a bucket "
            "index does not; upsert the rows instead",
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
            f"{state.storage.root}: {operation.value} removes the file groups of buckets, whose ids a ring keeps; "
            "delete the rows instead",
            feature=f"{operation.value} with consistent hashing",
        )
