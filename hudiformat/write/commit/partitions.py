"""Partitions as folders: a write creates the metadata file of a new partition, and deletes it again if the write fails.

A folder is a partition if it has a metadata file; a listing shows nothing below it, so no partition is inside another
one.  Writers create and delete these files without a lock.  A failed write deletes only single files and empty folders,
and checks the folder again afterwards; a commit checks, under the lock, that its partitions are still there.

Source: HoodiePartitionMetadata, FSUtils.getAllPartitionPaths, Hudi 1.2.0.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate

from hudiformat.errors import CorruptTableError, DataError, StorageError
from hudiformat.file_group.partition_metadata import (
    PARTITION_METADATA_FILES,
    encode_partition_metadata,
    find_metadata_file,
    is_partition,
    metadata_file_of,
    read_partition_metadata,
)
from hudiformat.naming.file_names import join_path, parse_data_file
from hudiformat.naming.keys import refuse_unreadable_path
from hudiformat.schema.table_schema import RowKeys
from hudiformat.storage.protocol import TEMPORARY_PREFIX, Storage
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.timeline.config_files import META_FOLDER
from hudiformat.timeline.table_config import TableConfig
from hudiformat.write.commit.plan import WritePlan


def enter_partition(storage: Storage, plan: WritePlan, path: str, *, sync: bool) -> None:
    """Make the folder *path* a partition, unless it is one: without a metadata file Hudi reads no rows from it.

    Without *sync*, the caller sees to it that the metadata file is on disk before the write commits.

    Raises:
        DataError: it is inside another partition, or has one inside; or Hudi could not read it, or would read other
            values from its path.
    """
    if is_partition(storage, path, plan.config):
        return
    keys = RowKeys.of(plan.config)
    if path and not keys.key_meta_fields:
        refuse_unreadable_path(path, keys.partition_fields, hive_style=keys.hive_style, url_encode=keys.url_encode)
    refuse_nested(storage, path, plan.config)
    name = metadata_file_of(plan.config)
    target = join_path(path, name)
    if not _create(storage, target, encode_partition_metadata(name, path, plan.instant), sync=sync):
        return
    if plan.in_tasks or plan.options.concurrency.has_other_writers:
        try:
            # Again: another writer may have checked and created its own at the same time.
            refuse_nested(storage, path, plan.config)
        except DataError:
            storage.delete(target)
            raise


def refuse_nested(storage: Storage, path: str, config: TableConfig) -> None:
    """Raise a DataError if a partition at *path* would be inside another one, or would have one inside."""
    for outer in _outer_folders(path):
        if is_partition(storage, outer, config):
            raise _nested(storage, path, inner=path, outer=outer)
    inner = next(_partitions_below(storage, path), None)
    if inner is not None:
        raise _nested(storage, path, inner=inner, outer=path)


def refuse_nested_together(storage: Storage, paths: Collection[str]) -> None:
    """Raise a DataError if one of *paths*, new partitions of a write that are made side by side, is inside another."""
    known = frozenset(paths)
    for path in known:
        for outer in _outer_folders(path):
            if outer in known:
                raise _nested(storage, path, inner=path, outer=outer)


def _outer_folders(path: str) -> list[str]:
    return list(accumulate(path.split("/"), join_path))[:-1]


def leave_partition(storage: Storage, folder: str, instant: str) -> None:
    """Undo :func:`enter_partition` of a failed write, unless a file has been written to the partition since."""
    names = _files(storage, folder)
    name = find_metadata_file(names)
    if name is None or len(names) > 1:
        return
    metadata = join_path(folder, name)
    try:
        content = storage.read(metadata)
        created = read_partition_metadata(storage, folder, name).created
    except (StorageError, CorruptTableError):  # another process was faster, or it is damaged
        return
    if created != instant:
        return
    storage.delete(metadata)
    if _files(storage, folder):  # another writer has found the partition in the meantime, and relies on it
        _create(storage, metadata, content, sync=True)
        return
    while folder and storage.delete_empty_folder(folder):
        folder = folder.rpartition("/")[0]


def remove_partition(storage: Storage, path: str) -> bool:
    """Delete the metadata file of a partition without data files, and its folder; return whether that has happened.

    Other files stay, and so does their folder, which is no partition any more; of Hadoop's checksums, those of files
    that are gone are deleted.  A writer that has found the metadata file may put its first file beside it at any
    moment: the metadata file comes back then.  If that file comes later, :func:`restore_partitions` creates it.

    Source: CleanActionExecutor.clean, which deletes the folder with all its content.
    """
    names = {entry.name for entry in storage.list(path)}
    if data_files(names):
        return False
    kept = {}
    for name in sorted(names & PARTITION_METADATA_FILES):
        with suppress(StorageError):  # a failed write has left the partition meanwhile
            kept[name] = storage.read(join_path(path, name))
    for name in [*kept, *_checksums_of_nothing(names - PARTITION_METADATA_FILES)]:
        storage.delete(join_path(path, name))
    if data_files(entry.name for entry in storage.list(path)):
        for name, content in kept.items():
            _create(storage, join_path(path, name), content, sync=True)
        return False
    storage.delete_empty_folder(path)  # folders above it stay, as in Hudi
    return True


def data_files(names: Iterable[str]) -> list[str]:
    """Return those of *names* that are of data files, also of files that are being written."""
    return [name for name in names if name.startswith(TEMPORARY_PREFIX) or parse_data_file(name)]


def _checksums_of_nothing(names: Collection[str]) -> list[str]:
    """Return those of *names* that are of files with Hadoop's checksums of a file that is not among them."""
    found = [name for name in names if name.startswith(".") and name.endswith(".crc")]
    return [name for name in found if name[1:].removesuffix(".crc") not in names]


def restore_partitions(
    storage: Storage, instant: str, by_partition: Mapping[str, Sequence[WriteStat]], config: TableConfig
) -> None:
    """Create, under the lock, missing metadata files of the partitions that *instant* is about to commit to.

    Another writer that gave up may have deleted the metadata file after this write had found it.  That cannot happen to
    a partition with an earlier commit in its statistics, or with rows to update.

    Raises:
        DataError: as for :func:`enter_partition`.
    """
    name = metadata_file_of(config)
    for path, stats in by_partition.items():
        is_new = all(_is_first(stat, instant) for stat in stats)
        if is_new and not is_partition(storage, path, config):
            refuse_nested(storage, path, config)
            content = encode_partition_metadata(name, path, instant)
            _create(storage, join_path(path, name), content, sync=True)


def _is_first(stat: WriteStat, instant: str) -> bool:
    return stat.prev_commit in (None, "", "null", instant) and not stat.num_update_writes


def _create(storage: Storage, path: str, content: bytes, *, sync: bool) -> bool:
    """Create a metadata file; return False if another writer or task was faster."""
    try:
        storage.create(path, content, sync=sync)
    except StorageError:
        if not storage.exists(path):
            raise
        return False
    return True


def _files(storage: Storage, folder: str) -> list[str]:
    return [entry.name for entry in storage.list(folder) if not entry.is_dir]


def _partitions_below(storage: Storage, path: str) -> Iterator[str]:
    """Yield the partitions inside the folder *path*."""
    waiting = [path]
    while waiting:
        folder = waiting.pop()
        entries = storage.list(folder)
        if folder != path and find_metadata_file(entry.name for entry in entries) is not None:
            yield folder
        else:
            waiting += [
                join_path(folder, entry.name) for entry in entries if entry.is_dir and entry.name != META_FOLDER
            ]


def _nested(storage: Storage, path: str, *, inner: str, outer: str) -> DataError:
    return DataError(
        f"{storage.root}: cannot write to the partition {path!r}: {inner!r} would be inside the partition {outer!r}, "
        "and listings of a table show no partition inside another one; give them paths of one depth, for instance with "
        "hoodie.datasource.write.partitionpath.urlencode"
    )
