"""Repair orphans and leftovers, which belong to no instant, and the metadata files of partitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from hudiformat.check.repair.liveness import WriterTimeout
from hudiformat.check.repair.repair_folder import RepairFolder
from hudiformat.check.repair.steps import Job, RepairKind, RepairStep
from hudiformat.check.verify.finding import TableFinding, TableFindingKind
from hudiformat.file_group.partition_metadata import encode_partition_metadata
from hudiformat.naming.file_names import base_name
from hudiformat.table.state import TableState
from hudiformat.timeline.config_files import BACKUP_FILE, METADATA_FOLDER, PROPERTIES_FILE
from hudiformat.write.commit.changing import hold_table_lock

_OUTSIDE = "it is outside of the table: hudiformat clean deletes it"


def plan_loose_files(state: TableState, findings: Iterable[TableFinding], timeout: WriterTimeout) -> Iterator[Job]:
    """Yield the jobs for orphans, leftovers and damaged partition metadata files."""
    for finding in findings:
        if finding.kind is TableFindingKind.PARTITION:
            yield _partition(state, finding)
        elif finding.kind is TableFindingKind.ORPHAN:
            yield _orphan(state, finding, timeout)
        elif finding.kind is TableFindingKind.LEFTOVER and finding.path not in (BACKUP_FILE, PROPERTIES_FILE):
            step = RepairStep(RepairKind.LEFTOVER, finding.path, "is taken away", finding.message)
            reason = _reason_to_wait(state, finding.path, timeout)
            run = partial(_take, state, finding.path, finding.message)
            yield Job(step, run) if reason is None else Job.refused(step, reason)


def _reason_to_wait(state: TableState, path: str, timeout: WriterTimeout) -> str | None:
    """Return why a leftover may still be in use, or None.

    A writer that builds a metadata table adds it to the table's properties only at the end.
    """
    if path != METADATA_FOLDER:
        return None
    return timeout.of_writers(state) or timeout.of_file(f"{path}/{PROPERTIES_FILE}")


def _partition(state: TableState, finding: TableFinding) -> Job:
    what = f"is made again, as of the commit {finding.instants[0]}"
    step = RepairStep(RepairKind.PARTITION, finding.path, what, finding.message)
    return Job(step, partial(_mark, state, finding))


def _mark(state: TableState, finding: TableFinding, taken: RepairFolder) -> None:
    """Write the metadata file of a partition anew.

    Source: HoodiePartitionMetadata, Hudi 1.2.0.
    """
    folder = finding.path.rpartition("/")[0]
    with hold_table_lock(state.context) as owning:
        taken.copy_file(finding.path, finding.message)
        owning.confirm()
        content = encode_partition_metadata(base_name(finding.path), folder, finding.instants[0])
        state.storage.create(finding.path, content, overwrite=True)


def _orphan(state: TableState, finding: TableFinding, timeout: WriterTimeout) -> Job:
    step = RepairStep(RepairKind.ORPHAN, finding.path, "is taken away", finding.message)
    if finding.path.startswith("/"):
        return Job.refused(step, _OUTSIDE)
    reason = timeout.of_file(finding.path)
    if reason is not None:
        return Job.refused(step, reason)
    return Job(step, partial(_take, state, finding.path, finding.message))


def _take(state: TableState, path: str, why: str, taken: RepairFolder) -> None:
    with hold_table_lock(state.context) as owning:
        owning.confirm()
        if state.storage.list(path):
            taken.take_folder(path, why)
        else:
            taken.move_file(path, why)
            state.storage.delete_empty_folder(path)
