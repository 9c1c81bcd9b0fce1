"""Queries: snapshot, time travel, incremental and CDC; slices to rows, data skipping, spilling."""

from hudiformat.query.as_stored import stored_columns
from hudiformat.query.changes import CHANGE_SCHEMA, ChangeReader, change_schema
from hudiformat.query.explanation import ExplainedSlice, ScanExplanation
from hudiformat.query.gone import FilesGoneError, is_of_any_write
from hudiformat.query.incremental import Span, Write, completion_times
from hudiformat.query.keyed_rows import keyed_rows
from hudiformat.query.plan import (
    SlicePlan,
    explain_snapshot,
    instant_of,
    plan_changes,
    plan_incremental,
    plan_snapshot,
    read_rows,
    rows_of_state,
    slice_reader,
)
from hudiformat.query.pruning import PartitionPruner
from hudiformat.query.renamed import named_block, scan_batches, scan_rows, stored_schema_of
from hudiformat.query.scan import Scan, SliceQuery
from hudiformat.query.slice_reader import SliceReader
from hudiformat.query.spill import KeyParts
from hudiformat.query.time_travel import Moment, moment_text, named_instant

__all__ = [
    "CHANGE_SCHEMA",
    "ChangeReader",
    "ExplainedSlice",
    "FilesGoneError",
    "KeyParts",
    "Moment",
    "PartitionPruner",
    "Scan",
    "ScanExplanation",
    "SlicePlan",
    "SliceQuery",
    "SliceReader",
    "Span",
    "Write",
    "change_schema",
    "completion_times",
    "explain_snapshot",
    "instant_of",
    "is_of_any_write",
    "keyed_rows",
    "moment_text",
    "named_block",
    "named_instant",
    "plan_changes",
    "plan_incremental",
    "plan_snapshot",
    "read_rows",
    "rows_of_state",
    "scan_batches",
    "scan_rows",
    "slice_reader",
    "stored_columns",
    "stored_schema_of",
]
