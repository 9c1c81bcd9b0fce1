"""Which files a table has: from its metadata table where it has one, or from its folders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from hudiformat.errors import HudiFormatError, warn
from hudiformat.file_group.partitions import list_partitions
from hudiformat.metadata_table.listing import Listing
from hudiformat.storage.protocol import FileInfo, Storage

PartitionFiles = tuple[str, list[FileInfo]]
"""A partition path and the files in it."""


class Pruner(Protocol):
    """Decides by partition paths which partitions a query needs."""

    def may_hold(self, path: str) -> bool:
        """Whether the partition at *path* can have rows that the query wants."""
        ...

    def may_enter(self, folder: str) -> bool:
        """Whether *folder*, or a folder below it, can be a partition for :meth:`may_hold`."""
        ...


def list_files(storage: Storage, partition: str | None, *, pruner: Pruner | None = None) -> Iterable[PartitionFiles]:
    """The files of one partition path, or of all, or of all that *pruner* keeps, from the table's folders."""
    if partition is not None:
        return [(partition, [entry for entry in storage.list(partition) if not entry.is_dir])]
    if pruner is None:
        return list_partitions(storage)
    entered = list_partitions(storage, may_enter=pruner.may_enter)
    return (found for found in entered if pruner.may_hold(found[0]))


def list_metadata_table(
    opened: Callable[[], Listing], root: str, partition: str | None, *, pruner: Pruner | None = None
) -> Iterable[PartitionFiles] | None:
    """As :func:`list_files`, from the metadata table that *opened* opens; None, with a warning, if it cannot be read.

    *root* is the table's.

    Source: FileSystemViewManager, TableMetadataFactory, Hudi 1.2.0.
    """
    try:
        found = opened()
        if partition is not None:
            return [(partition, found.files(partition))]
        if pruner is not None:
            return [(path, found.files(path)) for path in found.partitions() if pruner.may_hold(path)]
        return _each_once(list(found))
    except HudiFormatError as error:
        message = f"{root}: the metadata table is not used, as it cannot be read: {error}"
        warn(message)
        return None


def _each_once(found: list[PartitionFiles]) -> Iterator[PartitionFiles]:
    """Each of *found* in its order; what has been looked at makes room for what is made of it."""
    found.reverse()
    while found:
        yield found.pop()
