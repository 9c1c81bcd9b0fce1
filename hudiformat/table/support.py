"""Which tables can be read and which can be written; whatever cannot is refused by its name."""

from __future__ import annotations

from hudiformat.errors import UnsupportedFeatureError
from hudiformat.options.enums import CdcMode, ConcurrencyMode, IndexType
from hudiformat.table.merging import delete_marker, merge_mode
from hudiformat.table.state import TableState
from hudiformat.timeline import VERSION_WITH_COMPLETION_TIMES, TableConfig, TableType

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
        "a metadata table of its own (hoodie.metadata.enable=true)": (
            options.metadata_enable is True and not config.metadata_partitions
        ),
        f"without blocking other writers in table version {config.version}": (
            options.concurrency.mode is ConcurrencyMode.NON_BLOCKING and config.version < VERSION_WITH_COMPLETION_TIMES
        ),
        "without blocking other writers but with a bucket index and log files": (
            options.concurrency.mode is ConcurrencyMode.NON_BLOCKING
            and (options.index_type is not IndexType.BUCKET or config.table_type is TableType.COPY_ON_WRITE)
        ),
    }
    for feature, present in refused.items():
        if present:
            raise UnsupportedFeatureError(f"{state.storage.root}: cannot write {feature} yet", feature=feature)
    merge_mode(config)
