"""What a table is."""

from hudiformat.table.bucket_config import save_bucket_rules, with_bucket_rules
from hudiformat.table.column_changes import ColumnChanges
from hudiformat.table.effective import restore_plan
from hudiformat.table.internal_schema import LATEST_SCHEMA, InternalSchema, SchemaHistory
from hudiformat.table.listing import PartitionFiles, list_files
from hudiformat.table.new_table import check_table_name, new_table_config
from hudiformat.table.one_state import MOST_ATTEMPTS, on_one_state
from hudiformat.table.partition_columns import PartitionColumns, typed
from hudiformat.table.relayout import convert_timeline, delete_timeline
from hudiformat.table.schema import CARRIED, CARRIED_NAMES, RowKeys, SchemaChange, TableSchema, as_reader
from hudiformat.table.schema_files import internal_schema_of, schema_history
from hudiformat.table.state import Clock, TableClock, TableContext, TableState
from hudiformat.table.support import (
    AMBIGUOUS_KEYS,
    WRITABLE_VERSIONS,
    merge_mode,
    merge_rule,
    refuse_operation,
    refuse_unreadable,
    refuse_unwritable,
)
from hudiformat.table.versions import config_of_other_layout, config_of_version

__all__ = [
    "AMBIGUOUS_KEYS",
    "CARRIED",
    "CARRIED_NAMES",
    "LATEST_SCHEMA",
    "MOST_ATTEMPTS",
    "WRITABLE_VERSIONS",
    "Clock",
    "ColumnChanges",
    "InternalSchema",
    "PartitionColumns",
    "PartitionFiles",
    "RowKeys",
    "SchemaChange",
    "SchemaHistory",
    "TableClock",
    "TableContext",
    "TableSchema",
    "TableState",
    "as_reader",
    "check_table_name",
    "config_of_other_layout",
    "config_of_version",
    "convert_timeline",
    "delete_timeline",
    "internal_schema_of",
    "list_files",
    "merge_mode",
    "merge_rule",
    "new_table_config",
    "on_one_state",
    "refuse_operation",
    "refuse_unreadable",
    "refuse_unwritable",
    "restore_plan",
    "save_bucket_rules",
    "schema_history",
    "typed",
    "with_bucket_rules",
]
