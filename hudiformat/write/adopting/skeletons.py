"""Make the record keys of Parquet files, check them, and write them to skeleton files: their rows are meta fields.

Source: HoodieBootstrapHandle, ParquetBootstrapMetadataHandler, Hudi 1.2.0.
"""

from __future__ import annotations

import json
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.codec.conversion import batch_of
from hudiformat.errors import DataError
from hudiformat.file_group.base_file.parquet import PARQUET
from hudiformat.file_group.base_file.row_groups import NewFile
from hudiformat.file_group.bootstrap.index import SourceFile
from hudiformat.naming.file_names import BaseFileName, WriteToken, join_path, new_file_id, new_group_uuid, root_uri
from hudiformat.naming.instants import METADATA_BOOTSTRAP
from hudiformat.progress import Progress
from hudiformat.schema.meta_fields import META_FIELDS, add_meta_columns, meta_schema
from hudiformat.schema.table_schema import RowKeys
from hudiformat.storage.protocol import Storage
from hudiformat.storage.threads import FileCloser
from hudiformat.table.options.values import WriteOptions
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.timeline.table_config import TableConfig
from hudiformat.write.adopting.files import FoundFile, FoundFiles
from hudiformat.write.adopting.keys import UniqueKeys
from hudiformat.write.commit.files import base_file_stat

_SKELETON_SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "HoodieRecordKey",
        "doc": "",
        "fields": [{"name": name, "type": ["null", "string"], "doc": "", "default": None} for name in META_FIELDS],
    },
    separators=(",", ":"),
)
"""The Avro schema in the footers.  Source: HoodieBootstrapHandle.METADATA_BOOTSTRAP_RECORD_SCHEMA."""

_BATCH_ROWS = 65_536
_THREADS = 8
_THREADS_OF_CORES = 2
_NO_COLUMNS = pa.schema([])

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Skeleton:
    """A skeleton file that was written: its statistic, and the source file of its rows."""

    stat: WriteStat
    source: SourceFile


@dataclass(frozen=True, slots=True)
class _Task:
    """One skeleton file that is to be written: that of *file*, which is given with its number."""

    number: int
    file: FoundFile
    target: Storage
    new: NewFile
    unique: UniqueKeys
    closer: FileCloser


@dataclass(frozen=True)
class Adopting:
    """The files *found* in the storage *source*, which become the table *config*."""

    source: Storage
    found: FoundFiles
    config: TableConfig
    progress: Progress

    def check_keys(self) -> None:
        """Read the keys of all rows, and check them.

        Raises:
            DataError: a key is null, two rows of a partition have the same, or a row is not in the folder of its
                partition.
            CorruptTableError, StorageError: a file cannot be read.
        """

        def read(number: int, file: FoundFile) -> None:
            for _ in self._keys(number, file, unique):
                pass

        with UniqueKeys(self.found.rows) as unique:
            self._each(read)
            unique.check(self.found.partitions, self.config.record_key_fields)

    def write_skeletons(self, target: Storage, options: WriteOptions) -> list[Skeleton]:
        """Write the skeleton file of each file to the table at the root of *target*.

        Raises:
            DataError, CorruptTableError, StorageError: as :meth:`check_keys`; the skeleton files stay.
        """
        new = NewFile(
            schema=meta_schema(_NO_COLUMNS),
            avro_schema=_SKELETON_SCHEMA,
            compression=options.codec_of(self.config.base_file_format),
            bloom_filter=options.bloom_filter,
        )
        with UniqueKeys(self.found.rows) as unique, FileCloser(target, sync=options.sync) as closer:

            def write(number: int, file: FoundFile) -> Skeleton:
                return self._write_skeleton(_Task(number, file, target, new, unique, closer))

            written = self._each(write)
            unique.check(self.found.partitions, self.config.record_key_fields)
        return written

    def _write_skeleton(self, task: _Task) -> Skeleton:
        number, file = task.number, task.file
        file_id = new_file_id(new_group_uuid(METADATA_BOOTSTRAP, file.folder, number, 0))
        name = str(BaseFileName(file_id, str(WriteToken(number, 0, 0)), METADATA_BOOTSTRAP, PARQUET.extension))
        path = join_path(file.folder, name)
        output = task.target.open_new(path)
        writer = PARQUET.writer(output, task.new)
        try:
            first = 0
            for keys in self._keys(number, file, task.unique):
                rows = add_meta_columns(
                    batch_of([], _NO_COLUMNS, len(keys)),
                    keys,
                    instant=METADATA_BOOTSTRAP,
                    partition_path=file.folder,
                    file_name=name,
                    task_partition=number,
                    counters=first,
                )
                writer.write(pa.Table.from_batches([rows]))
                first += len(keys)
            size = writer.close()
        except BaseException:
            writer.abandon()
            output.abandon()
            raise
        task.closer.add(output)
        stat = base_file_stat(partition_path=file.folder, file_id=file_id, path=path, rows=first, size=size)
        uri = f"{root_uri(self.source.root)}/{file.path}"
        return Skeleton(stat, SourceFile(file.folder, file_id, file.folder, uri, file.size))

    def _keys(self, number: int, file: FoundFile, unique: UniqueKeys) -> Iterator[pa.Array]:
        """Yield the record keys of the rows of *file*, in batches; they are added to *unique*."""
        rules, partition = RowKeys.of(self.config), bisect_left(self.found.partitions, file.folder)
        is_keyed = bool(self.config.record_key_fields)
        names = list(dict.fromkeys([*self.config.record_key_fields, *self.config.partition_fields]))
        first = 0
        for batch in self.found.batches(self.source, file, names, _BATCH_ROWS):
            self._check_folder(file, rules, batch)
            if is_keyed:
                keys = rules.record_keys(batch)
                unique.add(partition, keys)
            else:
                numbers = pa.array(np.arange(first, first + batch.num_rows)).cast(pa.string())
                keys = pc.binary_replace_slice(numbers, 0, 0, f"{METADATA_BOOTSTRAP}_{number}_")
            first += batch.num_rows
            yield keys

    def _check_folder(self, file: FoundFile, rules: RowKeys, batch: pa.RecordBatch) -> None:
        """Raise a DataError if a row would be written to another folder than that in which its file is."""
        if not rules.partition_fields:
            return
        others = [path for path in pc.unique(rules.partition_paths(batch)).to_pylist() if path != file.folder]
        if others:
            names = ", ".join(rules.partition_fields)
            raise DataError(
                f"{self.source.root}/{file.path}: expected rows of the partition {file.folder!r}, found rows whose "
                f"{names} belong to {others[0]!r}; move the file",
                column=names,
            )

    def _each(self, work: Callable[[int, FoundFile], _Result]) -> list[_Result]:
        """Return what *work* returns for each file that has rows, which it is given with its number."""
        numbered = [(number, one) for number, one in enumerate(self.found.files) if one.rows]
        change, done = threading.Lock(), [0]

        def call(entry: tuple[int, FoundFile]) -> _Result:
            result = work(*entry)
            with change:
                done[0] += entry[1].size
                self.progress(done[0])
            return result

        with ThreadPoolExecutor(_THREADS_OF_CORES if self.source.capabilities.map else _THREADS) as pool:
            return list(pool.map(call, numbered))
