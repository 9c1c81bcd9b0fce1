"""Build an index of a table that has data: the records with which its partition of the metadata table begins.

One file of the table is read at a time, and the record keys of one slice in batches.  If a session has tasks, they read
the files, one or several slices each, and send the records of as many slices at a time as fit into the driver's memory.

Source: HoodieBackedTableMetadataWriter.initializeFromFilesystem, Hudi 1.2.0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeVar

from hudiformat.file_group.base_file.file_indexes import Indexes
from hudiformat.file_group.slices import FileSlice
from hudiformat.metadata_table.bloom_filters import BLOOM_FILTERS
from hudiformat.metadata_table.changes import Change, IndexKind, KeyedRecords
from hudiformat.metadata_table.column_stats import COLUMN_STATS, PARTITION_STATS
from hudiformat.metadata_table.definitions import (
    DEFINITIONS_FILE,
    DEFINITIONS_KEY,
    IndexDefinition,
    encode_definitions,
    load_definitions,
)
from hudiformat.metadata_table.kinds.files import FILES
from hudiformat.metadata_table.kinds.record_index import RECORD_INDEX, is_partitioned
from hudiformat.naming.file_names import join_path, parse_data_file
from hudiformat.schema.table_schema import TableSchema
from hudiformat.storage.opening import open_storage
from hudiformat.storage.protocol import Storage
from hudiformat.table.options.values import IndexingOptions
from hudiformat.table.state import TableState
from hudiformat.timeline.commit_metadata import IndexedFile, WriteStat
from hudiformat.timeline.records import metadata_record_schema
from hudiformat.timeline.table_config import TableConfig
from hudiformat.write.metadata.building import NewPartition, build_partition
from hudiformat.write.metadata.changes import MetadataChanges
from hudiformat.write.metadata.dropping import PARTITIONS_KEY
from hudiformat.write.metadata.indexed_files import FileReader
from hudiformat.write.metadata.indexes import indexed_columns, kind_of_index, statistics_of
from hudiformat.write.metadata.metadata_table import MetadataTable
from hudiformat.write.metadata.setting_up import first_instant, index_definition, make_metadata_table, new_partition

_ROW_BYTES = {RECORD_INDEX: 128, BLOOM_FILTERS: 8}
_STATISTICS_BYTES = 256

_Result = TypeVar("_Result")

Progress = Callable[[int, int], None]
"""A function that takes the bytes of the table's files that have been read, and the bytes of all of them."""


@dataclass(frozen=True, slots=True)
class BuildLimits:
    """How much of an index is in memory while it is built, by estimates.

    A file group gets records of *group_bytes*: so many are in memory at a time.  Tasks send records of *portion_bytes*
    to the driver at a time.
    """

    group_bytes: int = 64 << 20
    portion_bytes: int = 256 << 20


BUILD_LIMITS = BuildLimits()


@dataclass(frozen=True)
class IndexBuild:
    """One index that is to be built for the table *state*; its partition of the metadata table is ``name``."""

    state: TableState
    name: str
    indexing: IndexingOptions
    limits: BuildLimits = BUILD_LIMITS

    def run(self, time: str, progress: Progress) -> None:
        """Build the partition at the instant *time*; nobody reads it before the properties name it.

        What an earlier attempt has left is deleted first.

        Raises:
            CorruptTableError, DecodeError, StorageError: a file of the table is damaged or missing.
        """
        own, config, schema = self._own()
        kind = kind_of_index(self.state, self.name, self.definition, schema.avro_with_meta)
        partition = self._partition()
        own.delete_folder(self.name)
        records = self._records(kind, progress)
        if self.name == FILES:
            done = self.state.timeline.completed
            time = first_instant(self.state.config, after=max((one.time for one in done), default=None))
        build_partition(own, config, partition, records, time=time, clock=self.state.context.clock, schema=schema)

    def properties(self) -> dict[str, str]:
        """Write the definition of the index, and return the properties that name both."""
        storage, config = self.state.storage, self.state.config
        names = ",".join(sorted({*config.metadata_partitions, self.name}))
        if self.definition is None or self.name == PARTITION_STATS:
            return {PARTITIONS_KEY: names}
        definitions = {**load_definitions(storage, config), self.name: self.definition}
        path = config.properties.get(DEFINITIONS_KEY) or DEFINITIONS_FILE
        storage.create(path, encode_definitions(definitions), overwrite=True)
        return {PARTITIONS_KEY: names, DEFINITIONS_KEY: path}

    @cached_property
    def definition(self) -> IndexDefinition | None:
        """The definition of the index; for partition statistics, the definition of the column statistics.

        Raises:
            CorruptTableError: the definitions of the table's indexes are damaged.
        """
        state = self.state
        if self.name == PARTITION_STATS:
            return load_definitions(state.storage, state.config).get(COLUMN_STATS)
        return index_definition(self.name, state.config, self.indexing, state.schema)

    def _own(self) -> tuple[Storage, TableConfig, TableSchema]:
        """Return the metadata table's storage, configuration and schema; it is created with its first partition."""
        if self.name == FILES:
            return *make_metadata_table(self.state.storage, self.state.config), TableSchema(metadata_record_schema())
        table = MetadataTable.of(self.state)
        return table.own.storage, table.own.config, table.own.schema

    @cached_property
    def _slices(self) -> Sequence[FileSlice]:
        return self.state.slices()

    @cached_property
    def _reader(self) -> FileReader:
        fields = statistics_of(self.state, self.definition) if self.name == COLUMN_STATS else ()
        indexes = Indexes(fields, filters=self.name == BLOOM_FILTERS, keys=self.name == RECORD_INDEX)
        return FileReader.of(self.state, indexes)

    def _partition(self) -> NewPartition:
        """Return the partition with as many file groups as its records need."""
        if not is_partitioned(self.definition):
            return new_partition(self.name, self.indexing, least=self._groups(sum(self._sizes)))
        sizes: Counter[str] = Counter()
        for one, size in zip(self._slices, self._sizes, strict=True):
            sizes[one.partition_path] += size
        return NewPartition.of_paths(self.name, {path: max(self._groups(size), 1) for path, size in sizes.items()})

    def _groups(self, size: int) -> int:
        """Return how many file groups records of *size* bytes need."""
        return -(-size // self.limits.group_bytes)

    @cached_property
    def _sizes(self) -> Sequence[int]:
        """The estimated bytes of the records of each slice."""
        if self.name in _ROW_BYTES:
            rows = self._each(self._reader.estimated_rows, self._slices)
            return [count * _ROW_BYTES[self.name] for count in rows]
        if self.name == COLUMN_STATS:
            of_file = len(self._reader.indexes.columns) * _STATISTICS_BYTES
            return [(len(one.log_files) + 1) * of_file for one in self._slices]
        return [0] * len(self._slices)

    def _records(self, kind: IndexKind, progress: Progress) -> Iterator[KeyedRecords]:
        if self.name == FILES:
            yield kind.records(self._listing())
        elif self.name == PARTITION_STATS:
            yield from (kind.records(change) for change in self._partitions())
        else:
            read = partial(_records_of, self._reader, kind)
            total, done = sum(one.size for one in self._slices), 0
            for some in self._portions():
                for records, one in zip(self._each(read, some), some, strict=True):
                    yield from records
                    done += one.size
                    progress(done, total)

    def _portions(self) -> Iterator[Sequence[FileSlice]]:
        """Yield the slices in groups whose records fit into memory together."""
        some: list[FileSlice] = []
        size = 0
        for one, more in zip(self._slices, self._sizes, strict=True):
            if some and size + more > self.limits.portion_bytes:
                yield some
                some, size = [], 0
            some, size = [*some, one], size + more
        if some:
            yield some

    def _each(self, function: Callable[[Storage, FileSlice], _Result], given: Sequence[FileSlice]) -> Iterable[_Result]:
        """Return what *function* returns for each of *given*; it is called here, or by tasks if there are any."""
        context = self.state.context
        if context.runs_elsewhere is None or len(given) <= 1:
            return map(partial(function, context.storage), given)
        read = partial(_in_task, function, context.storage.root)
        return context.each(read, given, name=f"read files of {self.state.config.name} for an index")

    def _listing(self) -> Change:
        """Return a change with all files of completed writes, including those of older slices."""
        visibility = self.state.visibility
        written: dict[str, list[WriteStat]] = {}
        for folder, files in self.state.files():
            stats = written.setdefault(folder, [])
            for file in files:
                name = parse_data_file(file.name)
                if name is not None and visibility.shows_log(name.instant):
                    stats.append(WriteStat(path=join_path(folder, file.name), file_size_in_bytes=file.size))
        return Change(is_commit=True, written=written)

    def _partitions(self) -> Iterator[Change]:
        """Yield the change from which the statistics of each partition path are computed."""
        names: dict[str, list[str]] = {}
        for one in self._slices:
            names.setdefault(one.partition_path, []).extend(one.file_names)
        table = MetadataTable.of(self.state)
        known = MetadataChanges(self.state, table.own, indexed_columns(self.state))
        for folder in names:
            yield Change(written={folder: ()}, live=names.__getitem__, known=known.statistics_of_files)


def _in_task(function: Callable[[Storage, FileSlice], Any], root: str, one: FileSlice) -> Any:
    """Return what *function* returns, as a value that can be pickled."""
    found = function(open_storage(root), one)
    return list(found) if isinstance(found, Iterator) else found


def _records_of(reader: FileReader, kind: IndexKind, storage: Storage, one: FileSlice) -> Iterator[KeyedRecords]:
    """Return the records with which the index begins, for one slice."""
    return map(kind.records, _changes_of(reader, storage, one))


def _changes_of(reader: FileReader, storage: Storage, one: FileSlice) -> Iterator[Change]:
    """Yield the changes from which the index gets its records of one slice."""
    folder, indexes = one.partition_path, reader.indexes
    stat = WriteStat(file_id=one.file_id)
    if indexes.keys:
        for keys in reader.keys(storage, one):
            indexed = IndexedFile(keys=keys)
            yield Change(time=one.base_instant, written={folder: [replace(stat, indexed=indexed)]})
        return
    if one.base_file is not None:
        name = str(one.base_file.name)
        indexed = reader.base_file(storage, folder, name)
        path = join_path(folder, name)
        yield Change(time=one.base_instant, written={folder: [replace(stat, path=path, indexed=indexed)]})
    for log in () if indexes.filters else one.log_files:
        indexed = reader.log_file(storage, folder, str(log.name))
        path = join_path(folder, str(log.name))
        yield Change(time=log.name.instant, written={folder: [replace(stat, path=path, indexed=indexed)]})
