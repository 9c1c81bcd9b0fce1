"""Which files a table has: by its metadata table where it has one, or by looking into its folders."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Protocol

from hudiformat.errors import HudiFormatError, HudiFormatWarning
from hudiformat.metadata import listing
from hudiformat.storage import FileInfo
from hudiformat.table.state import TableContext
from hudiformat.timeline import load_table_config
from hudiformat.view import list_partitions

_FILES = "files"


class Pruner(Protocol):
    """Decides by partition paths which partitions a query needs."""

    def may_hold(self, path: str) -> bool:
        """Whether the partition at *path* can have rows that the query wants."""
        ...

    def may_enter(self, folder: str) -> bool:
        """Whether *folder*, or a folder below it, can be a partition for :meth:`may_hold`."""
        ...


PartitionFiles = tuple[str, list[FileInfo]]
"""A partition path and the files in it."""


def partition_files(
    context: TableContext, partition: str | None = None, *, pruner: Pruner | None = None
) -> Iterable[PartitionFiles]:
    """The files of one partition path, or of all, or of all that *pruner* leaves.

    A metadata table that cannot be read is passed over with a warning: the folders say the same.

    Source: FileSystemViewManager, TableMetadataFactory, Hudi 1.2.0.
    """
    if has_metadata_partition(context, _FILES):
        try:
            found = listing(context.storage, context.config, context.timeline())
            if pruner is not None and partition is None:
                return [(path, found.files(path)) for path in found.partitions() if pruner.may_hold(path)]
            return list(found) if partition is None else [(partition, found.files(partition))]
        except HudiFormatError as error:
            message = f"{context.storage.root}: the metadata table is not used, as it cannot be read: {error}"
            warnings.warn(message, HudiFormatWarning, stacklevel=4)
    if partition is None and pruner is not None:
        entered = list_partitions(context.storage, may_enter=pruner.may_enter)
        return (found for found in entered if pruner.may_hold(found[0]))
    if partition is None:
        return list_partitions(context.storage)
    return [(partition, [entry for entry in context.storage.list(partition) if not entry.is_dir])]


def has_metadata_partition(context: TableContext, partition: str) -> bool:
    """Whether the table has a metadata table with *partition* in it, and the options let it be used."""
    if context.options.metadata_enable is False or partition not in context.config.metadata_partitions:
        return False
    # Since the table was opened a writer may have dropped it.
    return partition in load_table_config(context.storage).metadata_partitions
