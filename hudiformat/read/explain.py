"""Explain which file slices a scan reads, and why it leaves out the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hudiformat.file_group.reader import SliceScan
from hudiformat.file_group.slices import FileSlice
from hudiformat.read.explanation import FOOTER, PARTITION_PATH, ExplainedSlice, ScanExplanation
from hudiformat.read.scan import SliceQuery
from hudiformat.read.skipping import PartitionPruner, skipped_by_index
from hudiformat.storage.threads import side_by_side
from hudiformat.table.state import TableState


def explain(
    state: TableState, query: SliceQuery, slices: Sequence[FileSlice], pruner: PartitionPruner | None
) -> ScanExplanation:
    """Return for each of *slices* whether a scan with the filter of *pruner* reads it, or why it is left out.

    *slices* are all slices of the table, before any of them is left out.  Base files that the scan would open are
    opened here, to read their footers.

    Raises:
        CorruptTableError: a base file is damaged.
        StorageError: it cannot be read.
    """
    reasons = {} if pruner is None else _reasons(state, query, slices, pruner)
    scan = replace(query, filter=None if pruner is None else pruner.filter).prepare()

    def explained(one: FileSlice) -> ExplainedSlice:
        return ExplainedSlice(one, reasons[one]) if one in reasons else _explain_slice(state, scan, one)

    return ScanExplanation(tuple(side_by_side(state.storage, explained, slices)))


def _reasons(
    state: TableState, query: SliceQuery, slices: Sequence[FileSlice], pruner: PartitionPruner
) -> dict[FileSlice, str]:
    paths = {one.partition_path for one in slices}
    gone = {path for path in paths if not pruner.may_hold(path)}
    reasons = {one: PARTITION_PATH for one in slices if one.partition_path in gone}
    left = [one for one in slices if one not in reasons]
    return reasons | skipped_by_index(state, left, pruner, with_logs=query.with_logs, is_newest=query.is_newest)


def _explain_slice(state: TableState, scan: SliceScan, one: FileSlice) -> ExplainedSlice:
    if one.base_file is None:
        return ExplainedSlice(one)
    read, total = scan.row_groups(state.storage, one)
    return ExplainedSlice(one, FOOTER if total and not read and not scan.is_merged(one) else None, read, total)
