"""Detect base files that commits name but that do not exist, so that a query never silently returns fewer rows."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

from hudiformat.errors import StorageError, warn
from hudiformat.file_group.damage import DamageMode
from hudiformat.file_group.slices import FileSlice
from hudiformat.metadata_table.kinds.files import FILES
from hudiformat.naming.file_names import (
    BaseFileName,
    base_name,
    join_path,
    parse_data_file,
    refuse_registered,
)
from hudiformat.read.pruning import PartitionPruner
from hudiformat.table.state import TableState
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.timeline.timeline import Instant


def refuse_missing(
    state: TableState, slices: Sequence[FileSlice], damage: DamageMode, pruner: PartitionPruner | None
) -> None:
    """Refuse a query if a base file that a commit names does not exist although no action deleted it.

    Tables listed by their metadata table are not checked: the listing includes such a file, and reading it fails.

    Raises:
        StorageError: a base file is missing; with SKIP this is a warning.
    """
    if state.has_metadata_partition(FILES):
        return
    for path in missing_base_files(state, slices):
        if pruner is not None and not pruner.may_hold(path.rpartition("/")[0]):
            continue
        lost = f"{state.storage.root}: the base file {path}, which a commit names, is not there"
        if damage is not DamageMode.SKIP:
            raise StorageError(f"{lost}; hudiformat repair goes back to what is left, hudiformat.damage=skip reads it")
        warn(f"{lost}: lost to damage: its rows, or their newest versions")


def missing_base_files(state: TableState, slices: Sequence[FileSlice]) -> Iterator[str]:
    """Yield the paths of base files that commits name but that *slices*, the table's newest, do not have.

    Files of replaced file groups do not count.  To stay cheap, only two kinds of commits are read: the newest one,
    which a query reads anyway, and each commit that began a slice without a base file.  If such a slice begins with
    updates, there must have been an older base file to update, and all earlier commits are read to find it.
    """
    newest = {(one.partition_path, one.file_id): one for one in slices}
    done = {one.time: one for one in state.timeline.completed_writes}
    begun = {one.base_instant for one in slices if one.base_file is None}
    suspects: set[tuple[str, str]] = set()
    for time in sorted({*list(done)[-1:], *begun & done.keys()}):
        for group, stat in _stats(state, done[time]):
            found = newest.get(group)
            name = base_name((stat.path if stat.log_version is None else stat.base_file) or "")
            if name and _is_missing(found, name):
                yield join_path(group[0], name)
            elif found is not None and found.base_file is None and found.base_instant == time and not stat.num_inserts:
                suspects.add(group)
    yield from _older_base_files(state, suspects, newest)


def _older_base_files(
    state: TableState, suspects: Container[tuple[str, str]], newest: Mapping[tuple[str, str], FileSlice]
) -> Iterator[str]:
    """Yield the base files of earlier writes in *suspects*: file groups whose newest slice begins with updates."""
    for write in reversed(state.timeline.completed_writes) if suspects else ():
        for group, stat in _stats(state, write):
            if group in suspects and stat.log_version is None and write.time < newest[group].base_instant:
                yield join_path(group[0], base_name(stat.path or ""))


def _stats(state: TableState, write: Instant) -> Iterator[tuple[tuple[str, str], WriteStat]]:
    """Yield the statistics of *write* with their file group, except for file groups that were replaced."""
    for stat in state.metadata(write).write_stats:
        group = stat.partition_path or "", stat.file_id or ""
        if stat.path is not None and group not in state.visibility.replaced:
            yield group, stat


def _is_missing(found: FileSlice | None, name: str) -> bool:
    """Return whether the base file *name* is missing: not in *found*, the newest slice of its file group, nor older."""
    parsed = parse_data_file(name)
    if not isinstance(parsed, BaseFileName):
        refuse_registered(name)
        return False
    if found is None or found.base_file is None:
        return found is None or found.base_instant <= parsed.instant or bool(found.log_files)
    return found.base_file.name.instant < parsed.instant
