"""Python's garbage collection, out of the way of listings of hundreds of thousands of files.

Which folders of a table are partitions: those that hold a partition metadata file.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from hudiformat.storage import FileInfo, Storage


@contextmanager
def paused_collection() -> Iterator[None]:
    """No collection of cycles for as long as the block lasts.

    File slices are in no cycles, and going through all of them again and again as they become more takes a sixth of the
    time of a large listing.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


PARTITION_METADATA_FILE = ".hoodie_partition_metadata"
_METADATA_FILES = frozenset({PARTITION_METADATA_FILE, f"{PARTITION_METADATA_FILE}.parquet"})
_TABLE_METADATA_FOLDER = ".hoodie"


_AHEAD = 16
"""Folders that are listed at the same time where each takes a request over the network."""

Lister = Callable[[Sequence[str]], list[FileInfo]]
"""Lists the last of the folders that wait; the others may be begun."""


def list_partitions(
    storage: Storage, *, may_enter: Callable[[str], bool] | None = None
) -> Iterator[tuple[str, list[FileInfo]]]:
    """Each partition path and the files in its folder; for a table without partitions the path is ``""``.

    Folders for which *may_enter* is false are not listed.  On storages that are not this machine's, several folders are
    listed at a time.

    A folder without a partition metadata file is no partition, as in Hudi, but its subfolders may be.

    Source: FSUtils.getAllPartitionPaths, HoodiePartitionMetadata.
    """
    if storage.capabilities.map:
        yield from _walk(lambda waiting: storage.list(waiting[-1]), may_enter)
        return
    with ThreadPoolExecutor(_AHEAD) as pool:
        yield from _walk(_ahead(storage, pool), may_enter)


def _ahead(storage: Storage, pool: ThreadPoolExecutor) -> Lister:
    begun: dict[str, Future[list[FileInfo]]] = {}

    def lister(waiting: Sequence[str]) -> list[FileInfo]:
        for folder in waiting[-_AHEAD:]:
            if folder not in begun:
                begun[folder] = pool.submit(storage.list, folder)
        return begun.pop(waiting[-1]).result()

    return lister


def _walk(lister: Lister, may_enter: Callable[[str], bool] | None) -> Iterator[tuple[str, list[FileInfo]]]:
    waiting = [""]
    while waiting:
        entries = lister(waiting)
        folder = waiting.pop()
        files = [entry for entry in entries if not entry.is_dir]
        if any(entry.name in _METADATA_FILES for entry in files):
            yield folder, files
            continue  # a partition folder is flat
        below = [
            f"{folder}/{entry.name}" if folder else entry.name
            for entry in reversed(entries)
            if entry.is_dir and (folder or entry.name != _TABLE_METADATA_FOLDER)
        ]
        waiting += below if may_enter is None else filter(may_enter, below)
