"""List the files of a table, from its metadata table or from its folders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Protocol

from hudiformat.errors import HudiFormatError, UnsupportedFeatureError, warn
from hudiformat.file_group.partitions import list_partitions
from hudiformat.metadata_table.listing import Listing
from hudiformat.naming.file_names import join_path, parse_data_file
from hudiformat.storage.protocol import FileInfo, Storage

_ASKED_AT_ONCE = 1000

PartitionFiles = tuple[str, list[FileInfo]]
"""A partition path and the files in it."""


class Pruner(Protocol):
    """Decides by partition paths which partitions a query needs."""

    def may_hold(self, path: str) -> bool:
        """Return whether the partition at *path* can have rows that the query needs."""
        ...

    def holding(self, paths: Sequence[str]) -> list[str]:
        """Return those of *paths* for which :meth:`may_hold` is true."""
        ...

    def entering(self, folders: Sequence[str]) -> list[str]:
        """Return those of *folders* that can be, or have below them, a partition with rows that the query needs."""
        ...


def list_files(storage: Storage, partition: str | None, *, pruner: Pruner | None = None) -> Iterable[PartitionFiles]:
    """List the folder of one partition, or of all partitions, or of all that *pruner* keeps."""
    if partition is not None:
        return [(partition, [entry for entry in storage.list(partition) if not entry.is_dir])]
    if pruner is None:
        return list_partitions(storage)
    return _select(list_partitions(storage, entering=pruner.entering), pruner)


def _select(listed: Iterator[PartitionFiles], pruner: Pruner) -> Iterator[PartitionFiles]:
    """Yield what *pruner* keeps of the partitions that were *listed*; it is asked about many at a time."""
    while some := list(islice(listed, _ASKED_AT_ONCE)):
        kept = set(pruner.holding([path for path, _ in some]))
        yield from (found for found in some if found[0] in kept)


def list_metadata_table(
    opened: Callable[[], Listing], root: str, partition: str | None, *, pruner: Pruner | None = None
) -> Iterable[PartitionFiles] | None:
    """List the same files as :func:`list_files` by the metadata table, which *opened* opens.

    Return None, with a warning, if the metadata table cannot be read.  *root* is the root of the table.

    Source: FileSystemViewManager, TableMetadataFactory, Hudi 1.2.0.
    """
    try:
        found = opened()
        if partition is not None:
            return [(partition, found.files(partition))]
        if pruner is not None:
            return [(path, found.files(path)) for path in pruner.holding(found.partitions())]
        return _drain(list(found))
    except HudiFormatError as error:
        message = f"{root}: the metadata table is not used, as it cannot be read: {error}"
        warn(message)
        return None


def _drain(found: list[PartitionFiles]) -> Iterator[PartitionFiles]:
    """Yield each item of *found* in order, and drop it from the list, so that its memory can be reused."""
    found.reverse()
    while found:
        yield found.pop()


def may_be_registered(name: str) -> bool:
    """Return whether a file of this name in a folder may be registered: it has rows, and Hudi names none so."""
    return name.endswith((".parquet", ".orc")) and parse_data_file(name) is None


def refuse_unlisted(root: str, found: Iterable[PartitionFiles]) -> Iterator[PartitionFiles]:
    """Yield what was *found* in folders, and refuse files that may be registered: a metadata table alone lists those.

    Registered files have no meta fields, so this is asked of tables without them.  Hudi 1.2.0 fails there, too.

    Raises:
        UnsupportedFeatureError: a folder has a Parquet or ORC file that is not named as one of Hudi's.
    """
    for path, files in found:
        for file in files:
            if may_be_registered(file.name):
                raise UnsupportedFeatureError(
                    f"{root}/{join_path(path, file.name)}: expected files of Hudi's in a table without meta fields "
                    "that is listed without its metadata table, found one that may have been registered; set "
                    "hoodie.metadata.enable=true, or move the file away",
                    feature="registered files without a metadata table",
                )
        yield path, files
