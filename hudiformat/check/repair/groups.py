"""Repair file groups with a base file that is damaged or missing, or with a missing log file.

The file group is rewritten in a commit of its own, from the newest base file that can be read and all log files since.
If there is no such base file, the rows of the damaged one before the damage are used.  A group without any readable
file is removed from the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import pyarrow as pa

from hudiformat.check.repair.liveness import WriterTimeout
from hudiformat.check.repair.repair_folder import RepairFolder
from hudiformat.check.repair.steps import Job, RepairKind, RepairStep
from hudiformat.check.verify.finding import TableFinding, TableFindingKind
from hudiformat.check.verify.verification import stored_schema
from hudiformat.errors import HudiFormatError, UnsupportedFeatureError
from hudiformat.file_group.base_file.footers import read_footer
from hudiformat.file_group.bootstrap.sources import is_bootstrapped
from hudiformat.file_group.damage import DamageMode
from hudiformat.file_group.renamed_columns import scan_batches
from hudiformat.file_group.slices import FileSlice, LogFile, build_slices
from hudiformat.naming.file_names import BaseFileName, LogFileName, WriteToken, base_name, join_path, parse_data_file
from hudiformat.services.compaction import merge_into_base_file
from hudiformat.storage.protocol import Storage
from hudiformat.table.options.values import Operation
from hudiformat.table.schema_files import schema_history
from hudiformat.table.state import TableState
from hudiformat.table.support import refuse_operation, refuse_unwritable
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.write.commit.changing import hold_table_lock
from hudiformat.write.commit.plan import WritePlan, plan_of_service
from hudiformat.write.commit.transaction import attempts

Group = tuple[str, str]
"""A partition path and a file id."""


def groups_of(findings: Iterable[TableFinding]) -> dict[Group, list[TableFinding]]:
    """Return the file groups that have to be rewritten, with the findings about each."""
    found: dict[Group, list[TableFinding]] = {}
    for finding in findings:
        name = parse_data_file(base_name(finding.path))
        if name is None or finding.path.startswith(".hoodie/"):
            continue
        if isinstance(name, LogFileName) and name.is_cdc:
            continue  # the rows are complete, and the changes cannot be recovered
        is_base = isinstance(name, BaseFileName)
        if finding.kind is TableFindingKind.MISSING or (finding.kind is TableFindingKind.DAMAGED and is_base):
            found.setdefault((finding.path.rpartition("/")[0], name.file_id), []).append(finding)
    return found


def damaged_logs(findings: Iterable[TableFinding], groups: Iterable[Group]) -> Iterator[tuple[str, str]]:
    """Yield each damaged log file with its messages, except in *groups*, the file groups that are rewritten."""
    known = set(groups)
    messages: dict[str, list[str]] = {}
    for finding in findings:
        name = parse_data_file(base_name(finding.path))
        group = finding.path.rpartition("/")[0], "" if name is None else name.file_id
        is_log = isinstance(name, LogFileName) and not finding.path.startswith(".hoodie/")
        if finding.kind is TableFindingKind.DAMAGED and is_log and group not in known:
            messages.setdefault(finding.path, []).append(finding.message)
    return ((path, "; ".join(found)) for path, found in messages.items())


def plan_groups(state: TableState, found: dict[Group, list[TableFinding]], timeout: WriterTimeout) -> Iterator[Job]:
    """Yield the jobs for file groups that have to be rewritten."""
    writing = timeout.of_writers(state)
    for group, findings in found.items():
        source = source_of(state, group, [finding.path for finding in findings])
        step = _step(state, findings, source)
        recent = (timeout.of_file(finding.path) for finding in findings)
        reason = writing or next(filter(None, recent), None)
        run, check = partial(_rewrite, state, group, findings), partial(_check_rewriting, state, source)
        yield Job(step, run, check) if reason is None else Job.refused(step, reason)


def source_of(state: TableState, group: Group, bad: Sequence[str]) -> FileSlice | None:
    """Return the slice from which to read the rows of a file group: a base file, if any, and all log files after it.

    *bad* are the paths of files that are damaged or missing.  Return None if no file can be read.
    """
    path, file_id = group
    entries = [entry for entry in state.storage.list(path) if not entry.is_dir]
    slices = [one for one in build_slices(path, entries, state.visibility) if one.file_id == file_id]
    logs: tuple[LogFile, ...] = ()
    for one in reversed(slices):
        logs = (*one.log_files, *logs)
        base = one.base_file
        if base is not None and join_path(path, str(base.name)) not in bad and _is_sound(state, path, str(base.name)):
            return replace(one, log_files=logs)
    damaged = [one for one in slices if one.base_file is not None and _can_open(state.storage, path, one)]
    if damaged:
        return damaged[-1]
    return FileSlice(path, file_id, logs[0].name.instant, None, logs) if logs else None


def _is_sound(state: TableState, path: str, name: str) -> bool:
    try:
        for _ in scan_batches(
            state.storage, join_path(path, name), stored_schema(state), history=schema_history(state)
        ):
            pass
    except HudiFormatError as error:
        _refuse_bootstrapped(state.storage, join_path(path, name), error)
        return False
    return True


def _refuse_bootstrapped(storage: Storage, path: str, error: HudiFormatError) -> None:
    """Raise an UnsupportedFeatureError for a base file whose rows are in a source file: they may not be lost at all.

    The user may have named another folder, or none.
    """
    if is_bootstrapped(path):
        raise UnsupportedFeatureError(
            f"{storage.root}/{path}: expected rows that can be read, to repair a file group, found a base file of a "
            f"bootstrap: {error}; put its source file back, or name the folder of it by hoodie.bootstrap.base.path",
            feature="repair of file groups with source files that cannot be read",
        ) from error


def _can_open(storage: Storage, path: str, one: FileSlice) -> bool:
    """Return whether at least the footer of the base file can be read."""
    try:
        read_footer(storage, join_path(path, str(one.base_file.name if one.base_file else "")), pa.schema([]), [])
    except HudiFormatError as error:
        _refuse_bootstrapped(storage, join_path(path, str(one.base_file.name if one.base_file else "")), error)
        return False
    return True


def _step(state: TableState, findings: Sequence[TableFinding], source: FileSlice | None) -> RepairStep:
    path = findings[0].path
    why = "; ".join(f"{base_name(one.path)}: {one.message}" if one.path != path else one.message for one in findings)
    bad = {base_name(finding.path) for finding in findings}
    if source is None:
        what, lost = "nothing of the file group can be read: it is removed from the table", "all of its rows"
    elif source.base_file is None:
        what = f"the file group is written anew from its {len(source.log_files)} log files"
        lost = "rows of its base file"
    elif str(source.base_file.name) in bad:
        what = "the file group is written anew from the rows that can be read"
        lost = "rows of the base file from where it is damaged"
    else:
        what = f"the file group goes back to {source.base_file.name} and its {len(source.log_files)} later log files"
        lost = _changes(state, findings, source)
    return RepairStep(RepairKind.FILES, path, what, why, lost)


def _changes(state: TableState, findings: Sequence[TableFinding], source: FileSlice) -> str:
    """Return a text that counts the changes in the lost files that no log file has."""
    names = {base_name(finding.path) for finding in findings}
    since = source.base_instant
    lost = []
    for done in state.timeline.completed_writes:
        metadata = state.metadata(done)
        if metadata.operation_type == "COMPACT" and source.log_files:
            continue
        for stat in metadata.write_stats:
            is_base = isinstance(parse_data_file(base_name(stat.path or "")), BaseFileName)
            is_gone = base_name(stat.path or "") in names or (is_base and done.time > since)
            if stat.file_id == source.file_id and is_gone:
                lost.append(f"{_format_counts(stat)} of {done.time}")
    return "; ".join(lost)


def _format_counts(stat: WriteStat) -> str:
    return f"{stat.num_inserts} inserts, {stat.num_update_writes} updates and {stat.num_deletes} deletes"


def _rewrite(state: TableState, group: Group, findings: Sequence[TableFinding], taken: RepairFolder) -> None:
    options = replace(state.context.options, damage=DamageMode.SKIP)
    context = replace(state.context, options=options)
    bad = [finding.path for finding in findings]
    source = source_of(context.state(), group, bad)
    path, file_id = group
    if source is None:
        for write in attempts(context.state(), Operation.DELETE_PARTITION, in_tasks=False):
            with write:
                write.commit((), replaced={path: (file_id,)})
    else:
        for write in attempts(context.state(), Operation.UPSERT, in_tasks=False):
            with write:
                write.commit(_write_rows(state, source, write.plan))
    with hold_table_lock(context) as owning:
        for finding in findings:
            owning.confirm()
            taken.move_file(finding.path, finding.message)


def _check_rewriting(state: TableState, source: FileSlice | None) -> None:
    """Check that the table can be written, and read all rows of *source* as the rewriting does.

    Raises:
        HudiFormatError: the file group cannot be rewritten.
    """
    refuse_unwritable(state)
    refuse_operation(state, Operation.DELETE_PARTITION if source is None else Operation.UPSERT)
    if source is not None:
        check_merging(state, source, damage=DamageMode.SKIP)


def check_merging(state: TableState, source: FileSlice, *, damage: DamageMode = DamageMode.HUDI) -> None:
    """Merge a file slice as a service would, and write nothing.

    Raises:
        HudiFormatError: it cannot be merged.
    """
    reader = replace(plan_of_service(state, state.next_instant).slice_reader(state.context.merger), damage=damage)
    for _ in reader.scan_stored(state.storage, source):
        pass


def _write_rows(state: TableState, source: FileSlice, plan: WritePlan) -> list[WriteStat]:
    merge = partial(merge_into_base_file, state.context.merger, damage=DamageMode.SKIP)
    return list(merge(source, plan, state.storage, WriteToken(0, 0, 0)))
