"""The files that a write has made, and taking them away again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hudiformat.errors import NameFormatError
from hudiformat.naming import BaseFileName, LogFileName
from hudiformat.storage import Storage
from hudiformat.table.markers import delete_markers, marked_files
from hudiformat.timeline import WriteStat
from hudiformat.view import PARTITION_METADATA_FILE, list_partitions


def take_files_away(storage: Storage, instant: str) -> None:
    """Delete the files of an instant, the partitions that it had just made, and its markers."""
    for path in marked_files(storage, instant):
        storage.delete(path)
    # Markers alone do not do: Hudi's may have been kept by its timeline server, and a partition is made before them.
    for path in list(files_of(storage, instant)):
        storage.delete(path)
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
