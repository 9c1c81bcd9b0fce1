"""A listing of a table out of its metadata table's ``files`` partition, instead of one of its folders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hudiformat.errors import CorruptTableError
from hudiformat.metadata.file_entries import FileEntries, combine, decode_file_entries
from hudiformat.metadata.partition import Deletes, Part, open_partition
from hudiformat.metadata.updates import ALL_PARTITIONS, FILES, NO_PARTITION
from hudiformat.storage import FileInfo, Storage
from hudiformat.timeline import TableConfig, Timeline


def listing(storage: Storage, config: TableConfig, timeline: Timeline) -> Listing:
    """The listing of the table at the root of *storage*; *config* and *timeline* are its own.

    Raises:
        CorruptTableError: there is no metadata table, or it is damaged.
        DecodeError: a file of it is damaged.
        StorageError: a file of it is missing.
        UnsupportedFeatureError: it cannot be read yet.

    Source: HoodieBackedTableMetadata; spec/metadata-table.md.
    """
    return Listing(open_partition(storage, config, timeline, FILES), storage.root)


class Listing:
    """The partitions of a table and the files in them, looked up one by one.

    Files of writes that did not complete may be there or not; a view hides them either way.  Each call raises a
    CorruptTableError or a DecodeError where the metadata table is damaged.

    Source: BaseTableMetadata.
    """

    def __init__(self, parts: Sequence[Part], root: str) -> None:
        self._parts = parts
        self._root = root

    def partitions(self) -> list[str]:
        """All partition paths, sorted; for a table without partitions ``""`` alone.

        Source: BaseTableMetadata.fetchAllPartitionPaths.
        """
        return self._paths(self._look_up(ALL_PARTITIONS))

    def files(self, partition: str) -> list[FileInfo]:
        """The files in a partition, sorted by name; none where there is no such partition.

        Source: BaseTableMetadata.fetchAllFilesInPartition.
        """
        return _files(self._look_up(partition or NO_PARTITION))

    def __iter__(self) -> Iterator[tuple[str, list[FileInfo]]]:
        """Each partition path and its files; everything is read once, where look-ups would go through the index."""
        every = self.records()
        return ((path, _files(every.get(path or NO_PARTITION))) for path in self._paths(every.get(ALL_PARTITIONS)))

    def _paths(self, entries: FileEntries | None) -> list[str]:
        if entries is None:
            raise CorruptTableError(
                f"{self._root}: expected the key {ALL_PARTITIONS} in the metadata table, found none", path=self._root
            )
        paths = _present(entries)
        return [""] if paths == [NO_PARTITION] else paths

    def _look_up(self, key: str) -> FileEntries | None:
        found: FileEntries | None = None
        for part in self._parts:
            if isinstance(part, Deletes):
                found = None if key in part.keys else found
            elif (value := part.file.get(key)) is not None:
                found = _on_top(found, decode_file_entries(value, part.schema))
        return found

    def records(self) -> dict[str, FileEntries]:
        """Everything, merged, by record key."""
        found: dict[str, FileEntries] = {}
        for part in self._parts:
            if isinstance(part, Deletes):
                found = {key: entries for key, entries in found.items() if key not in part.keys}
                continue
            for row, value in part.file:
                key = row.decode(errors="replace")
                found[key] = _on_top(found.get(key), decode_file_entries(value, part.schema))
        return found


def _on_top(older: FileEntries | None, newer: FileEntries) -> FileEntries:
    return newer if older is None else combine(older, newer)


def _files(entries: FileEntries | None) -> list[FileInfo]:
    return [] if entries is None else [FileInfo(name, entries[name].size, is_dir=False) for name in _present(entries)]


def _present(entries: FileEntries) -> list[str]:
    return sorted(name for name, entry in entries.items() if not entry.is_deleted)
