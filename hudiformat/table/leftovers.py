"""The files that a write has made, and taking them away again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hudiformat.errors import NameFormatError
from hudiformat.logfile import LogReader
from hudiformat.naming import BaseFileName, LogFileName
from hudiformat.storage import Storage
from hudiformat.table.markers import delete_markers, marked_files
from hudiformat.timeline import VERSION_WITH_COMPLETION_TIMES, TableConfig, WriteStat
from hudiformat.view import PARTITION_METADATA_FILE, list_partitions


def take_files_away(storage: Storage, config: TableConfig, instant: str) -> None:
    """Delete the files of an instant, the partitions that it had just made, and its markers."""
    # Markers alone do not do: Hudi's may have been kept by its timeline server, and a partition is made before them.
    for path in {*marked_files(storage, instant), *files_of(storage, instant)}:
        if _is_of(storage, config, path, instant):
            storage.delete(path)
    forget_files(storage, instant)


def take_strays_away(storage: Storage, config: TableConfig, instant: str, stats: Iterable[WriteStat]) -> None:
    """Delete the files that *instant* was about to make and that its statistics do not name."""
    kept = named_files(stats)
    for path in marked_files(storage, instant):
        if path not in kept and _is_of(storage, config, path, instant):
            storage.delete(path)


def forget_files(storage: Storage, instant: str) -> None:
    """Take away the partitions that an instant whose files are gone had just made, and its markers."""
    for folder, _ in list(list_partitions(storage)):
        _leave_partition(storage, folder, instant)
    delete_markers(storage, instant)


def named_files(stats: Iterable[WriteStat]) -> set[str | None]:
    """The paths of the data files that *stats* name, change logs among them."""
    return {path for stat in stats for path in (stat.path, *(stat.cdc_stats or ()))}


def files_of(storage: Storage, instant: str) -> Iterator[str]:
    """The paths of the files that have *instant* in their names, of all partitions."""
    for folder, entries in list_partitions(storage):
        for entry in entries:
            parsed = parsed_data_file(entry.name)
            if parsed is not None and parsed.instant == instant:
                yield f"{folder}/{entry.name}" if folder else entry.name


def _is_of(storage: Storage, config: TableConfig, path: str, instant: str) -> bool:
    """Whether a file with *instant*'s marker or name is its own; below table version 8 a log file's blocks say so."""
    named_by_slice = config.version < VERSION_WITH_COMPLETION_TIMES
    if not named_by_slice or not isinstance(parsed_data_file(path.rpartition("/")[2]), LogFileName):
        return True
    return storage.exists(path) and log_instants(storage, path) == {instant}


def log_instants(storage: Storage, path: str) -> set[str]:
    """The instants of the blocks of a log file."""
    with LogReader(path, storage=storage) as reader:
        return {block.instant for block in reader if block.instant is not None}


def parsed_data_file(name: str) -> LogFileName | BaseFileName | None:
    """The name of a data file; None for any other."""
    try:
        return LogFileName.parse(name) if name.startswith(".") else BaseFileName.parse(name)
    except NameFormatError:
        return None


def _leave_partition(storage: Storage, folder: str, instant: str) -> None:
    """Take away a partition that the failed write had just made."""
    entries = [entry.name for entry in storage.list(folder)]
    metadata = f"{folder}/{PARTITION_METADATA_FILE}" if folder else PARTITION_METADATA_FILE
    if entries == [PARTITION_METADATA_FILE] and f"commitTime={instant}\n".encode() in storage.read(metadata):
        storage.delete(metadata)
        while folder and not storage.list(folder):
            storage.delete(folder)
            folder = folder.rpartition("/")[0]
