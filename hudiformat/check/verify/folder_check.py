"""Check a table's folders for orphans, leftovers, and partitions that readers do not recognize."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from functools import partial

from hudiformat.check.verify.finding import TableFinding, TableFindingKind
from hudiformat.errors import CorruptTableError, StorageError
from hudiformat.file_group.partition_metadata import find_metadata_file, metadata_file_of, read_partition_metadata
from hudiformat.file_group.partitions import list_partitions
from hudiformat.naming.file_names import join_path, parse_data_file
from hudiformat.naming.instants import format_instant
from hudiformat.services.leftovers import OLD, is_old, temporary_files
from hudiformat.storage.folder import FolderStorage
from hudiformat.storage.protocol import FileInfo, Storage
from hudiformat.storage.spill_folders import find_old_spill_folders
from hudiformat.storage.threads import side_by_side
from hudiformat.table.state import TableState
from hudiformat.timeline.config_files import MARKER_FOLDER, METADATA_FOLDER, has_table
from hudiformat.timeline.timeline import Timeline
from hudiformat.write.commit.markers import marked_instants

_BEING_BUILT = "hoodie.table.metadata.partitions.inflight"
_MARKER_AGE = timedelta(minutes=10)
"""The age of a write from which its markers are reported; the writer of a newer one may be about to delete them."""


def findings_of_temporaries(storage: Storage) -> Iterator[TableFinding]:
    """Yield findings about temporary files, and spill folders on this machine, of processes that were killed."""
    for path, file in temporary_files(storage):
        if is_old(file):
            message = "a temporary file of a process that was killed; a clean deletes it"
            yield TableFinding(TableFindingKind.ORPHAN, path, message)
    for folder in find_old_spill_folders(seconds=OLD):
        message = "a spill folder of a process that was killed, on this machine; a clean deletes it"
        yield TableFinding(TableFindingKind.ORPHAN, str(folder), message)


def findings_of_leftovers(state: TableState) -> Iterator[TableFinding]:
    """Yield findings about markers of writes that have ended, and a metadata table that the table no longer uses."""
    pending = {instant.time for instant in state.timeline.pending}
    settled = format_instant(state.context.clock() - _MARKER_AGE)
    for time in marked_instants(state.storage):
        if time not in pending and time < settled:
            message = "markers of a write that is over"
            yield TableFinding(TableFindingKind.LEFTOVER, f"{MARKER_FOLDER}/{time}", message, (time,))
    is_named = state.config.metadata_partitions or state.config.properties.get(_BEING_BUILT)
    if not is_named and has_table(FolderStorage(state.storage, METADATA_FOLDER)):
        message = "a metadata table that the table's properties do not name"
        yield TableFinding(TableFindingKind.LEFTOVER, METADATA_FOLDER, message)


def findings_of_partitions(state: TableState) -> Iterator[TableFinding]:
    """Yield findings about folders with committed data files and a missing or damaged partition metadata file."""
    listed = list_partitions(state.storage, incomplete=True)
    for found in side_by_side(state.storage, partial(_finding_of_partition, state), listed):
        yield from found


def _finding_of_partition(state: TableState, listed: tuple[str, Sequence[FileInfo]]) -> list[TableFinding]:
    path, entries = listed
    files = [name for entry in entries if (name := parse_data_file(entry.name)) is not None]
    instants = sorted({name.instant for name in files if state.visibility.is_committed(name.instant)})
    message = _partition_damage(state.storage, path, entries) if instants else None
    if message is None:
        return []
    target = join_path(path, find_metadata_file(entry.name for entry in entries) or metadata_file_of(state.config))
    return [TableFinding(TableFindingKind.PARTITION, target, message, (instants[0],))]


def _partition_damage(storage: Storage, path: str, entries: Sequence[FileInfo]) -> str | None:
    name = find_metadata_file(entry.name for entry in entries)
    if name is None:
        return "readers do not take the folder for a partition, and skip its files"
    try:
        found = read_partition_metadata(storage, path, name).depth
    except (StorageError, CorruptTableError) as error:
        return str(error)
    depth = path.count("/") + 1 if path else 0
    if found != depth:
        shown = "nothing" if found is None else found
        return f"expected partitionDepth={depth}, found {shown}: Hudi does not find the table's folder from it"
    return None


def findings_of_orphans(timeline: Timeline, paths: Iterable[tuple[str, str]]) -> Iterator[TableFinding]:
    """Yield findings about data files whose instant is neither on the timeline nor archived.

    *paths* gives the path and the instant of each file.
    """
    known = {instant.time for instant in timeline.instants}
    first = timeline.first_active or ""
    for path, instant in paths:
        if instant not in known and instant >= first:
            message = "its instant is not on the timeline"
            yield TableFinding(TableFindingKind.ORPHAN, path, message, (instant,))
