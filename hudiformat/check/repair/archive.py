"""Repair the archived timeline: drop files that cannot be read, or the parts of them that cannot be read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial

from hudiformat.check.repair.liveness import WriterTimeout
from hudiformat.check.repair.repair_folder import RepairFolder
from hudiformat.check.repair.steps import Job, RepairKind, RepairStep
from hudiformat.check.verify.finding import TableFinding
from hudiformat.codec.log.verify import LogFinding, scan_parts
from hudiformat.errors import CorruptTableError, StorageError
from hudiformat.storage.protocol import Storage
from hudiformat.table.state import TableState
from hudiformat.timeline.archive.archive_log import decode_archive_block
from hudiformat.timeline.archive.history import VERSION_FILE, latest_manifest, read_history_file, write_manifest
from hudiformat.timeline.config_files import VERSION_WITH_COMPLETION_TIMES
from hudiformat.timeline.table_config import TableConfig
from hudiformat.write.commit.changing import hold_table_lock

_LOST = "the history of archived instants that only this file has: of time travel and incremental queries before it"
_RANGE = re.compile(r"([0-9]+)_([0-9]+)_([0-9]+)\.parquet")
_MANIFEST = re.compile(r"manifest_([0-9]+)")


def plan_archive(state: TableState, findings: Iterable[TableFinding], timeout: WriterTimeout) -> Iterator[Job]:
    """Yield the jobs for the damaged files of the archived timeline among *findings*."""
    folder, seen = state.config.history_folder, set()
    for finding in findings:
        path = finding.path
        if not f"{path}/".startswith(f"{folder}/") or path in seen:
            continue
        seen.add(path)
        if state.config.version < VERSION_WITH_COMPLETION_TIMES:
            what = "is replaced by a copy of what can be read of it"
            run = partial(_salvage, state, path, finding.message)
        elif path == folder:
            what = "gets a new manifest, of all files of the archived timeline that can be read"
            run = partial(_list_again, state, finding.message)
        else:
            what = "is taken away, and a new manifest does without it"
            run = partial(_list_again, state, finding.message)
        step = RepairStep(RepairKind.ARCHIVE, path, what, finding.message, "" if path == folder else _LOST)
        reason = timeout.of_file(path)
        yield Job(step, run) if reason is None else Job.refused(step, reason)


def _salvage(state: TableState, path: str, why: str, taken: RepairFolder) -> None:
    """Replace an archive log by those of its blocks that can be read."""
    storage = state.storage
    data = storage.map(path)
    kept: list[bytes] = []
    for part in scan_parts(data):
        if isinstance(part, LogFinding):
            continue
        try:
            decode_archive_block(part, path=path)
        except CorruptTableError:
            continue
        start = part.offset or 0
        kept.append(bytes(data[start : start + (part.size or 0)]))
    with hold_table_lock(state.context) as owning:
        taken.copy_file(path, why)
        owning.confirm()
        storage.create(path, b"".join(kept), overwrite=True)


def _list_again(state: TableState, why: str, taken: RepairFolder) -> None:
    """Write a manifest of the files that can be read, and move the others to the folder of the repair."""
    storage, config = state.storage, state.config
    folder = config.history_folder
    with hold_table_lock(state.context) as owning:
        numbers = [int(match[1]) for one in storage.list(folder) if (match := _MANIFEST.fullmatch(one.name))]
        files = _listed_files(storage, config)
        good = {name: size for name, size in files.items() if _is_readable(storage, f"{folder}/{name}")}
        good |= _superseded_files(storage, folder, set(files) - set(good))
        taken.copy_file(f"{folder}/{VERSION_FILE}", why)
        owning.confirm()
        write_manifest(storage, folder, max(numbers, default=0) + 1, dict(sorted(good.items())))
        for name in sorted(files.keys() - good.keys()):
            taken.move_file(f"{folder}/{name}", why)


def _listed_files(storage: Storage, config: TableConfig) -> dict[str, int]:
    """Return the files that the newest manifest lists; if it cannot be read, all files that no other file covers."""
    try:
        return latest_manifest(storage, config.history_folder)[1]
    except CorruptTableError:
        every = {one.name: one.size for one in storage.list(config.history_folder) if _RANGE.fullmatch(one.name)}
        return {name: size for name, size in every.items() if not any(_covers(other, name) for other in every)}


def _superseded_files(storage: Storage, folder: str, lost: set[str]) -> dict[str, int]:
    """Return the readable files that were merged into one of the *lost* files and have not been cleaned yet."""
    return {
        one.name: one.size
        for one in storage.list(folder)
        if any(_covers(name, one.name) for name in lost) and _is_readable(storage, f"{folder}/{one.name}")
    }


def _covers(merged: str, name: str) -> bool:
    """Return whether *merged* is of a higher level than *name* and has all of its instants."""
    above, below = _RANGE.fullmatch(merged), _RANGE.fullmatch(name)
    if above is None or below is None or int(above[3]) <= int(below[3]):
        return False
    return above[1] <= below[1] and below[2] <= above[2]


def _is_readable(storage: Storage, path: str) -> bool:
    try:
        read_history_file(storage, path)
    except (CorruptTableError, StorageError):
        return False
    return True
