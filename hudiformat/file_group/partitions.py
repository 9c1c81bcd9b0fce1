"""Listing the partitions of a table: the folders that contain a partition metadata file, and the files in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from hudiformat.file_group.partition_metadata import PARTITION_METADATA_FILES
from hudiformat.naming.file_names import join_path
from hudiformat.storage.protocol import FileInfo, Storage
from hudiformat.timeline.config_files import META_FOLDER

_PARALLEL_LISTINGS = 16
"""The number of folders that are listed at the same time on a remote storage."""

_Lister = Callable[[Sequence[str]], list[FileInfo]]
"""A function that lists the last of a stack of folders; it may start to list other folders of the stack in advance."""

_Selector = Callable[[Sequence[str]], Sequence[str]]
"""A function that returns some of the folders that it is given, in the same order."""


def list_partitions(
    storage: Storage, *, entering: _Selector | None = None, incomplete: bool = False
) -> Iterator[tuple[str, list[FileInfo]]]:
    """Yield each partition path and the files in its folder; the path of a table without partitions is ``""``.

    Only the folders that *entering* returns are listed.  On a remote storage several folders are listed at the same
    time.  As in Hudi, a folder without a partition metadata file is not a partition, but its subfolders may be.  With
    *incomplete*, folders that have files but no partition metadata file are yielded, too.

    Source: FSUtils.getAllPartitionPaths, HoodiePartitionMetadata.
    """
    if storage.capabilities.map:
        yield from _walk(lambda folders: storage.list(folders[-1]), entering, incomplete=incomplete)
        return
    with ThreadPoolExecutor(_PARALLEL_LISTINGS) as pool:
        yield from _walk(_parallel_lister(storage, pool), entering, incomplete=incomplete)


def _parallel_lister(storage: Storage, pool: ThreadPoolExecutor) -> _Lister:
    """Return a lister that starts listing the folders that come next in parallel."""
    started: dict[str, Future[list[FileInfo]]] = {}

    def lister(folders: Sequence[str]) -> list[FileInfo]:
        for folder in folders[-_PARALLEL_LISTINGS:]:
            if folder not in started:
                started[folder] = pool.submit(storage.list, folder)
        return started.pop(folders[-1]).result()

    return lister


def _walk(lister: _Lister, entering: _Selector | None, *, incomplete: bool) -> Iterator[tuple[str, list[FileInfo]]]:
    """Walk the folders depth first, in the order of their names."""
    folders = [""]
    while folders:
        entries = lister(folders)
        folder = folders.pop()
        files = [entry for entry in entries if not entry.is_dir]
        if any(entry.name in PARTITION_METADATA_FILES for entry in files):
            yield folder, files
            continue  # a partition folder has no partitions inside
        if incomplete and files:
            yield folder, files
        subfolders = [
            join_path(folder, entry.name)
            for entry in reversed(entries)
            if entry.is_dir and (folder or entry.name != META_FOLDER)
        ]
        folders += subfolders if entering is None else entering(subfolders)
