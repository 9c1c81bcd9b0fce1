"""The ``files`` partition: a listing of the table that is read instead of listing its folders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hudiformat.errors import CorruptTableError, NameFormatError
from hudiformat.metadata.file_entries import FileEntries, decode_file_entries, merge_file_entries
from hudiformat.metadata.kinds import ALL_PARTITIONS, FILES, NO_PARTITION
from hudiformat.metadata.partition import Deletes, Part, open_partition
from hudiformat.naming import checked_partition
from hudiformat.storage import FileInfo, Storage
from hudiformat.timeline import TableConfig, Timeline


def listing(storage: Storage, config: TableConfig, timeline: Timeline) -> Listing:
    """Open the listing of the table at the root of *storage*; *config* and *timeline* are those of the table.

    Raises:
        CorruptTableError: there is no metadata table, or it is damaged.
        DecodeError: a file of the metadata table is damaged.
        StorageError: a file of the metadata table is missing.
        UnsupportedFeatureError: the metadata table cannot be read yet.

    Source: HoodieBackedTableMetadata; spec/metadata-table.md.
    """
    return Listing(open_partition(storage, config, timeline, FILES), storage.root)


class Listing:
    """The partitions of a table and the files in them; each is looked up when it is needed.

    Files of writes that did not complete may be listed or not; a view hides them in both cases.  Each call raises a
    CorruptTableError or a DecodeError if the metadata table is damaged.

    Source: BaseTableMetadata.
    """

    def __init__(self, parts: Sequence[Part], root: str) -> None:
        self._parts = parts
        self._root = root

    def partitions(self) -> list[str]:
        """Return all partition paths, sorted; for a table without partitions only ``""``.

        Source: BaseTableMetadata.fetchAllPartitionPaths.
        """
        return self._paths(self._look_up(ALL_PARTITIONS))

    def files(self, partition: str) -> list[FileInfo]:
        """Return the files in a partition, sorted by name; none if there is no such partition.

        Source: BaseTableMetadata.fetchAllFilesInPartition.
        """
        return _files(self._look_up(partition or NO_PARTITION))

    def __iter__(self) -> Iterator[tuple[str, list[FileInfo]]]:
        """Iterate over partition paths and their files; all records are read at once instead of one by one."""
        records = self.records()
        return ((path, _files(records.get(path or NO_PARTITION))) for path in self._paths(records.get(ALL_PARTITIONS)))

    def _paths(self, entries: FileEntries | None) -> list[str]:
        if entries is None:
            raise CorruptTableError(
                f"{self._root}: expected the key {ALL_PARTITIONS} in the metadata table, found none", path=self._root
            )
        try:
            paths = [_checked(path) for path in _present(entries)]
        except NameFormatError as error:
            raise CorruptTableError(f"{self._root}: the metadata table: {error}", path=self._root) from error
        return [""] if paths == [NO_PARTITION] else paths

    def _look_up(self, key: str) -> FileEntries | None:
        """Return the merged record of *key*, or None.

        With a base file, a log block and a delete block whose keys are "p", "p" and "q", the look-up of "p" merges the
        two records and skips the delete block; a delete of "p" would drop both.
        """
        entries: FileEntries | None = None
        for part in self._parts:
            if isinstance(part, Deletes):
                entries = None if key in part.keys else entries
            elif (value := part.file.get(key)) is not None:
                entries = _merged(entries, decode_file_entries(value, part.schema))
        return entries

    def records(self) -> dict[str, FileEntries]:
        """Return all merged records by record key."""
        records: dict[str, FileEntries] = {}
        for part in self._parts:
            if isinstance(part, Deletes):
                records = {key: entries for key, entries in records.items() if key not in part.keys}
                continue
            for row, value in part.file:
                key = row.decode(errors="replace")
                records[key] = _merged(records.get(key), decode_file_entries(value, part.schema))
        return records


def _merged(older: FileEntries | None, newer: FileEntries) -> FileEntries:
    return newer if older is None else merge_file_entries(older, newer)


def _files(entries: FileEntries | None) -> list[FileInfo]:
    return [] if entries is None else [FileInfo(name, entries[name].size, is_dir=False) for name in _present(entries)]


def _present(entries: FileEntries) -> list[str]:
    return sorted(name for name, entry in entries.items() if not entry.is_deleted)


def _checked(path: str) -> str:
    return path if path == NO_PARTITION else checked_partition(path)
