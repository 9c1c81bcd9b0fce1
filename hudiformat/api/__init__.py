"""What users hold in their hands: tables, opened and created, with their queries, writes and services."""

from hudiformat.api.changing import check_updated
from hudiformat.api.create import create_table
from hudiformat.api.from_keys import create_from_keys
from hudiformat.api.merging import check_clause, refuse_without_key
from hudiformat.api.stats import SMALL_FILE_LIMIT
from hudiformat.api.table import Table, open_table

__all__ = [
    "SMALL_FILE_LIMIT",
    "Table",
    "check_clause",
    "check_updated",
    "create_from_keys",
    "create_table",
    "open_table",
    "refuse_without_key",
]
