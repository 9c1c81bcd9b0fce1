"""What a table is."""

from hudiformat.table.effective import restore_plan
from hudiformat.table.listing import PartitionFiles, list_files
from hudiformat.table.one_state import MOST_ATTEMPTS, on_one_state
from hudiformat.table.partition_columns import PartitionColumns, java_float, typed
from hudiformat.table.schema import DELETED_FIELD, RowKeys, TableSchema
from hudiformat.table.state import Clock, TableClock, TableContext, TableState
from hudiformat.table.support import (
    AMBIGUOUS_KEYS,
    WRITABLE_VERSIONS,
    merge_mode,
    merge_rule,
    refuse_unreadable,
    refuse_unwritable,
)

__all__ = [
    "AMBIGUOUS_KEYS",
    "DELETED_FIELD",
    "MOST_ATTEMPTS",
    "WRITABLE_VERSIONS",
    "Clock",
    "PartitionColumns",
    "PartitionFiles",
    "RowKeys",
    "TableClock",
    "TableContext",
    "TableSchema",
    "TableState",
    "java_float",
    "list_files",
    "merge_mode",
    "merge_rule",
    "on_one_state",
    "refuse_unreadable",
    "refuse_unwritable",
    "restore_plan",
    "typed",
]
