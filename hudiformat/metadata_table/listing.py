"""The ``files`` partition: a listing of the table, which replaces the listing of its folders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from hudiformat.errors import CorruptTableError, NameFormatError
from hudiformat.metadata_table.beginning import refuse_lost_beginning
from hudiformat.metadata_table.kinds.files import ALL_PARTITIONS, FILES, NO_PARTITION
from hudiformat.metadata_table.partition import Deletes, OpenMetadata, Part
from hudiformat.metadata_table.records import FileEntries, decode_file_entries, merge_file_entries
from hudiformat.naming.checks import check_partition_path
from hudiformat.storage.folder import FolderStorage
from hudiformat.storage.protocol import FileInfo, Storage
from hudiformat.timeline.config_files import METADATA_FOLDER, load_table_config
from hudiformat.timeline.table_config import TableConfig
from hudiformat.timeline.timeline import Timeline, load_timeline


def listing(storage: Storage, config: TableConfig, timeline: Timeline) -> Listing:
    """Open the listing of the table at the root of *storage*; *config* and *timeline* are those of the table.

    Raises:
        CorruptTableError: there is no metadata table, or it is damaged.
        DecodeError: a file of the metadata table is damaged.
        StorageError: a file of the metadata table is missing.
        UnsupportedFeatureError: the metadata table cannot be read yet.

    Source: HoodieBackedTableMetadata; spec/metadata-table.md.
    """
    own = FolderStorage(storage, METADATA_FOLDER)
    own_config = load_table_config(own)
    own_timeline = load_timeline(own, own_config)
    opened = OpenMetadata.of(storage, config, timeline, own_config, own_timeline)
    slices = opened.slices(FILES)
    refuse_lost_beginning(own, own_config, own_timeline, slices)
    return Listing([part for one in slices for part in opened.parts_of(one)], storage.root)


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
        """Iterate over partition paths and their files; the record of a partition is decoded when it is reached."""
        stored = self._read_records()
        paths = self._paths(_merge(stored.pop(ALL_PARTITIONS, ())))
        return ((path, _files(_merge(stored.pop(path or NO_PARTITION, ())))) for path in paths)

    def _paths(self, entries: FileEntries | None) -> list[str]:
        if entries is None:
            raise CorruptTableError(
                f"{self._root}: expected the key {ALL_PARTITIONS} in the metadata table, found none", path=self._root
            )
        try:
            paths = [path if path == NO_PARTITION else check_partition_path(path) for path in _present_files(entries)]
        except NameFormatError as error:
            raise CorruptTableError(f"{self._root}: the metadata table: {error}", path=self._root) from error
        return [""] if paths == [NO_PARTITION] else paths

    def _look_up(self, key: str) -> FileEntries | None:
        """Return the merged record of *key*, or None; records written before a deletion of the key are ignored."""
        found: list[_Stored] = []
        for part in self._parts:
            if isinstance(part, Deletes):
                found = [] if key in part.keys else found
            elif (value := part.file.get(key)) is not None:
                found.append((value, part.schema))
        return _merge(found)

    def _read_records(self) -> dict[str, list[_Stored]]:
        """Return the stored records by record key, the oldest first, without records written before a deletion."""
        stored: dict[str, list[_Stored]] = {}
        for part in self._parts:
            if isinstance(part, Deletes):
                stored = {key: values for key, values in stored.items() if key not in part.keys}
                continue
            for row, value in part.file:
                stored.setdefault(row.decode(errors="replace"), []).append((value, part.schema))
        return stored


_Stored = tuple[bytes, str]  # a record and the Avro schema with which it was written


def _merge(stored: Iterable[_Stored]) -> FileEntries | None:
    """Return the entries of the records of one key, the oldest first; None without a record."""
    entries: FileEntries | None = None
    for value, schema in stored:
        newer = decode_file_entries(value, schema)
        entries = newer if entries is None else merge_file_entries(entries, newer)
    return entries


def _files(entries: FileEntries | None) -> list[FileInfo]:
    return (
        []
        if entries is None
        else [FileInfo(name, entries[name].size, is_dir=False) for name in _present_files(entries)]
    )


def _present_files(entries: FileEntries) -> list[str]:
    return sorted(name for name, entry in entries.items() if not entry.is_deleted)
