"""Build a partition of the metadata table: its file groups, each with the records that belong to it.

Source: HoodieBackedTableMetadataWriter.initializeFileGroups and bulkCommit, Hudi 1.2.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudiformat.codec.log.build import delete_block
from hudiformat.codec.log.writer import LogWriter
from hudiformat.file_group.partition_metadata import PARTITION_METADATA_FILE, encode_partition_metadata
from hudiformat.metadata_table.changes import KeyedRecords
from hudiformat.metadata_table.kinds.record_index import group_of_path
from hudiformat.metadata_table.updates import encode_base_file, file_groups_of
from hudiformat.naming.file_names import BaseFileName, LogFileName, WriteToken
from hudiformat.naming.instants import next_instant
from hudiformat.schema.table_schema import TableSchema
from hudiformat.storage.protocol import Storage
from hudiformat.storage.spill_folders import convert_spill_errors, spill_folder
from hudiformat.table.state import Clock
from hudiformat.timeline.commit_metadata import CommitMetadata, WriteStat
from hudiformat.timeline.contents import begin_instant, complete_instant
from hudiformat.timeline.table_config import TableConfig
from hudiformat.timeline.timeline import Action

_BULK_INSERT = "BULK_INSERT_PREPPED"
_TOKEN = str(WriteToken(0, 0, 0))
_MOST_FILES = 128
"""The most temporary files that are open at the same time."""
_SPILLED = pa.schema([("group", pa.int32()), ("key", pa.string()), ("value", pa.binary())])


@dataclass(frozen=True, slots=True)
class NewPartition:
    """A partition that is to be set up: its name, and the ids of its file groups.

    In a partitioned record index, ``of_path`` has, for each partition path of the table, the number of its first file
    group and how many it has.
    """

    name: str
    file_ids: tuple[str, ...]
    of_path: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, prefix: str, count: int) -> NewPartition:
        """Return a partition with *count* file groups whose ids begin with *prefix*.

        Source: HoodieTableMetadataUtil.getFileIDForFileGroup.
        """
        return cls(name, tuple(f"{prefix}-{number:04d}-0" for number in range(count)))

    @classmethod
    def of_paths(cls, name: str, counts: Mapping[str, int]) -> NewPartition:
        """Return a partitioned record index; *counts* has the number of file groups of each partition path."""
        file_ids: list[str] = []
        of_path = {}
        for path, count in counts.items():
            of_path[path] = (len(file_ids), count)
            file_ids += [f"{group_of_path(path)}{number:04d}-0" for number in range(count)]
        return cls(name, tuple(file_ids), of_path)

    def groups_of(self, records: KeyedRecords) -> Iterator[tuple[KeyedRecords, npt.NDArray[np.int64]]]:
        """Yield the records, and the number of the file group of each."""
        if not records.parts:
            yield records, file_groups_of(records.keys, len(self.file_ids))
        for path, part in records.parts.items():
            first, count = self.of_path[path]
            yield part, first + file_groups_of(part.keys, count)


def build_partition(
    own: Storage,
    config: TableConfig,
    partition: NewPartition,
    records: Iterable[KeyedRecords],
    *,
    time: str,
    clock: Clock,
    schema: TableSchema,
) -> None:
    """Create the file groups of a partition in a delta commit at *time*: log files with an empty block, and base files.

    *own* and *config* are the metadata table's storage and configuration.  Of several records with one key, the last
    one counts.  Only the records of one file group are in memory at a time; the others are in a temporary folder.

    Raises:
        StorageError: a file cannot be created.
    """
    begun = begin_instant(own, config, time, Action.DELTA_COMMIT, CommitMetadata(_BULK_INSERT))
    content = encode_partition_metadata(PARTITION_METADATA_FILE, partition.name, time)
    own.create(f"{partition.name}/{PARTITION_METADATA_FILE}", content, overwrite=True)
    for file_id in partition.file_ids:
        name = LogFileName(file_id=file_id, instant=time, version=1, write_token=_TOKEN)
        with LogWriter(partition.name, name, storage=own) as writer:
            writer.append(delete_block(pa.array([], pa.string()), instant=time, partition_path=partition.name))
    stats = tuple(
        _base_file(own, partition, group, found, time=time, schema=schema)
        for group, found in _by_group(records, partition)
    )
    metadata = CommitMetadata(_BULK_INSERT, {partition.name: stats} if stats else {}, {"schema": schema.avro})
    complete_instant(own, config, begun, metadata, completion_time=next_instant(clock(), time))


def _base_file(
    own: Storage, partition: NewPartition, group: int, records: pa.Table, *, time: str, schema: TableSchema
) -> WriteStat:
    keys, values = _last_of_each_key(records)
    content = encode_base_file(keys, values, schema=schema.avro_with_meta)
    file_id = partition.file_ids[group]
    path = f"{partition.name}/{BaseFileName(file_id, _TOKEN, time, 'hfile')}"
    own.create(path, content)
    return WriteStat(
        file_id=file_id,
        path=path,
        partition_path=partition.name,
        num_writes=len(keys),
        num_inserts=len(keys),
        total_write_bytes=len(content),
        file_size_in_bytes=len(content),
    )


def _last_of_each_key(records: pa.Table) -> tuple[pa.Array, pa.Array]:
    """Return the distinct keys in ascending order, and the last record of each."""
    numbered = records.select(["key"]).append_column("row", pa.array(np.arange(records.num_rows)))
    last = numbered.group_by("key").aggregate([("row", "max")]).sort_by("key")
    values = records["value"].take(last["row_max"])
    return last["key"].combine_chunks(), values.combine_chunks()


def _by_group(records: Iterable[KeyedRecords], partition: NewPartition) -> Iterator[tuple[int, pa.Table]]:
    """Yield the records of each file group that has some, with the number of the group."""
    with spill_folder() as folder, closing(_Spilled(Path(folder), len(partition.file_ids))) as spilled:
        for some, groups in (found for every in records if every for found in partition.groups_of(every)):
            if len(some.keys):
                spilled.add(some, groups.astype(np.int32))
        yield from spilled.groups()


class _Spilled:
    """Records in files of *folder*; each file has the records of one file group, or of several consecutive ones."""

    def __init__(self, folder: Path, count: int) -> None:
        self._folder = folder
        self._together = -(-count // _MOST_FILES)
        self._writers: dict[int, pa.ipc.RecordBatchStreamWriter] = {}

    @convert_spill_errors()
    def add(self, records: KeyedRecords, groups: npt.NDArray[np.int32]) -> None:
        order = np.argsort(groups, kind="stable")
        rows = pa.RecordBatch.from_arrays([pa.array(groups), records.keys, records.values], schema=_SPILLED)
        rows = rows.take(pa.array(order))
        files = groups[order] // self._together
        starts = np.flatnonzero(np.append(True, files[1:] != files[:-1])).tolist()
        for start, end in zip(starts, [*starts[1:], len(files)], strict=True):
            self._writer(int(files[start])).write_batch(rows.slice(start, end - start))

    def groups(self) -> Iterator[tuple[int, pa.Table]]:
        for number in sorted(self._writers):
            table = self._read(number)
            groups = table["group"].to_numpy()
            for group in np.unique(groups).tolist():
                yield group, table.filter(pa.array(groups == group)) if self._together > 1 else table

    @convert_spill_errors()
    def close(self) -> None:
        for writer in self._writers.values():
            writer.close()

    @convert_spill_errors()
    def _read(self, number: int) -> pa.Table:
        self._writers.pop(number).close()
        path = self._path(number)
        with pa.OSFile(path) as file, pa.ipc.open_stream(file) as reader:
            table = reader.read_all()
        Path(path).unlink()
        return table

    def _writer(self, number: int) -> pa.ipc.RecordBatchStreamWriter:
        if number not in self._writers:
            self._writers[number] = pa.ipc.new_stream(self._path(number), _SPILLED)
        return self._writers[number]

    def _path(self, number: int) -> str:
        return str(self._folder / f"records-{number}")
