"""Taking a write back in table version 6, where a log file may hold blocks of several writes.

What it added to a file group that was there stays, and a command block in a further log file says that it does not
count.  Base files, and the log files that began a file group, are deleted.
Source: MarkerBasedRollbackStrategy, RollbackHelperV1, Hudi 1.2.0; spec/timeline.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from hudiformat.blocks import rollback_block
from hudiformat.logfile import LogWriter
from hudiformat.naming import BaseFileName, LogFileName, WriteToken
from hudiformat.storage import FileInfo, Storage
from hudiformat.table.leftovers import log_instants, parsed_data_file
from hudiformat.timeline import RollbackRequest
from hudiformat.view import list_partitions


def requests_of_blocks(storage: Storage, target: str) -> Iterator[RollbackRequest]:
    """What it takes to take back the write *target*; its log files are found by their blocks.

    Markers would name them faster, but Hudi keeps them in forms of its own, and a commit has none any more.
    """
    for folder, files in list_partitions(storage):
        blocks: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
        for file, name in _candidates(files, target):
            path = _below(folder, file.name)
            instants = {target} if isinstance(name, BaseFileName) else log_instants(storage, path)
            if name.instant == target and instants <= {target}:
                yield RollbackRequest(folder, name.file_id, target, (f"{storage.root}/{path}",), {})
            elif target in instants:
                blocks[name.file_id, name.instant][f"{storage.root}/{path}"] = file.size
        for (file_id, instant), logs in blocks.items():
            yield RollbackRequest(folder, file_id, instant, (), logs)


def carry_out(
    storage: Storage, requests: Iterable[RollbackRequest], *, target: str, at: str
) -> dict[str, dict[str, int]]:
    """Do what *requests* ask for, *at* the instant of the rollback; the new log files and their sizes by partition.

    Doing it twice does no harm.
    """
    added: dict[str, dict[str, int]] = defaultdict(dict)
    for request in requests:
        folder = request.partition_path
        for path in request.files_to_be_deleted:
            storage.delete(_below(folder, path.rpartition("/")[2]))
        if request.log_blocks_to_be_deleted:
            file_id, instant = request.file_id or "", request.latest_base_instant or ""
            version = _newest_version(storage, folder, file_id, instant) + 1
            log = LogFileName(file_id, instant, version, str(WriteToken(0, 0, 0)))
            with LogWriter(folder, log, storage=storage) as writer:
                result = writer.append(rollback_block(instant=at, target=target))
            added[folder][result.path] = result.size
    return added


def _candidates(files: Iterable[FileInfo], target: str) -> Iterator[tuple[FileInfo, LogFileName | BaseFileName]]:
    """Base files of *target*, and the log files of those slices that were the newest when it was begun."""
    named = [(file, parsed_data_file(file.name)) for file in files]
    newest: dict[str, str] = {}
    for _, name in named:
        if isinstance(name, LogFileName) and name.instant <= target:
            newest[name.file_id] = max(newest.get(name.file_id, ""), name.instant)
    for file, name in named:
        is_log = isinstance(name, LogFileName)
        if name is not None and name.instant == (newest.get(name.file_id) if is_log else target):
            yield file, name


def _newest_version(storage: Storage, folder: str, file_id: str, instant: str) -> int:
    names = (parsed_data_file(file.name) for file in storage.list(folder))
    logs = [name for name in names if isinstance(name, LogFileName)]
    return max((log.version for log in logs if (log.file_id, log.instant) == (file_id, instant)), default=0)


def _below(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
