"""Finding the file group of each row: by the hash of its key, or by looking the key up in the file groups.

``Tagger`` has a ``PartitionIndex`` for each partition, which reads the record keys that it needs into ``KnownKeys``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.basefile import RECORD_KEY, FileKeys, read_file_keys, scan_base_file
from hudiformat.blocks import BlockType, LogBlock
from hudiformat.errors import DataError
from hudiformat.index.buckets import Buckets, bucket_tags, buckets_of, existing_buckets
from hudiformat.index.listed_index import ListedIndex
from hudiformat.index.rows import (
    NEW,
    NOT_IN_BASE_FILE,
    Integers,
    KeyedRows,
    LocatedRows,
    Tags,
    rows_by_code,
    rows_by_value,
)
from hudiformat.logfile import LogReader
from hudiformat.merge import KeyIndex, counting_blocks
from hudiformat.naming import join_path
from hudiformat.options import REPLACING, DuplicatePolicy, Operation
from hudiformat.storage import FileInfo, Storage
from hudiformat.transaction import WritePlan
from hudiformat.view import PARTITION_METADATA_FILE, FileSlice, build_slices, latest_slices

_DELETED_KEY = "record_key"
_KEY_SCHEMA = pa.schema([pa.field(RECORD_KEY, pa.string())])
_READ_ROWS = 1 << 18
_FEW_KEYS = 20_000
"""Keys of a batch for which a slice is read once without keeping its other keys: the next batch may never come."""


def merged_tags(every: Sequence[Tags], count: int) -> Tags:
    """The tags of *count* records out of several look-ups; a record that none of them has found is NEW."""
    if len(every) == 1:
        return every[0]
    file_ids = tuple(dict.fromkeys(file_id for tags in every for file_id in tags.file_ids))
    code_of = {file_id: code for code, file_id in enumerate(file_ids)}
    none = np.empty(0, np.int64)
    found, positions = [none], [none]
    for tags in every:
        codes = np.array([code_of[file_id] for file_id in tags.file_ids], np.int64)
        known = tags.codes != NEW
        found.append(tags.rows[known] * len(file_ids) + codes[tags.codes[known]])
        positions.append(np.full(len(found[-1]), NOT_IN_BASE_FILE) if tags.positions is None else tags.positions[known])
    pairs, first = np.unique(np.concatenate(found), return_index=True)
    rows, codes = np.divmod(pairs, max(len(file_ids), 1))
    new = np.setdiff1d(np.arange(count), rows)
    rows = np.append(rows, new)
    order = np.argsort(rows, kind="stable")
    return Tags(
        rows=rows[order],
        codes=np.append(codes, np.full(len(new), NEW))[order],
        file_ids=file_ids,
        existing=(True,) * len(file_ids),
        positions=np.append(np.concatenate(positions)[first], np.full(len(new), NOT_IN_BASE_FILE))[order],
    )


class GroupKeys:
    """Gathers record keys of a file group: first those of the base file, row by row, then those of log files.

    With *among* only keys that are in it are kept.
    """

    def __init__(self, *, among: pa.Array | None = None) -> None:
        self._among = among
        self._chunks = [_no_keys()]
        self._positions = [np.empty(0, np.int64)]
        self._base_rows = 0

    def add_base(self, keys: pa.Array) -> None:
        """Take the keys of the next rows of the base file."""
        rows = np.arange(len(keys)) if self._among is None else np.flatnonzero(pc.is_in(keys, value_set=self._among))
        self._chunks.append(keys if self._among is None else keys.take(pa.array(rows)))
        self._positions.append(rows + self._base_rows)
        self._base_rows += len(keys)

    def add_logged(self, keys: pa.Array) -> None:
        """Take keys of a log file."""
        self._chunks.append(keys if self._among is None else keys.filter(pc.is_in(keys, value_set=self._among)))
        self._positions.append(np.full(len(self._chunks[-1]), NOT_IN_BASE_FILE))

    @property
    def keys(self) -> pa.ChunkedArray:
        """The keys that were kept."""
        return pa.chunked_array(self._chunks, pa.string())

    @property
    def positions(self) -> Integers:
        """Of each key the row of the base file, or NOT_IN_BASE_FILE."""
        return np.concatenate(self._positions)


class KnownKeys:
    """The record keys of a partition's file groups, to look records up among, batch after batch.

    A key in several file groups, which inserts may lead to, is tagged with each of them; a key in none is NEW.

    Source: HoodieSimpleIndex.tagLocationInternal, a join.
    """

    def __init__(self, groups: Mapping[str, GroupKeys]) -> None:
        self._file_ids = tuple(groups)
        owners = np.repeat(np.arange(len(groups)), [len(group.keys) for group in groups.values()])
        self._index = KeyIndex.of(_chunked(group.keys for group in groups.values()))
        self._is_once = len(self._index) == len(owners)
        first = self._index.rows
        if not self._is_once:
            of_key, first = self._pairs(owners)
            self._counts = np.bincount(of_key, minlength=len(self._index))
            self._first = np.cumsum(self._counts) - self._counts
        self._owners = owners[first]
        self._positions = np.concatenate([np.empty(0, np.int64), *(group.positions for group in groups.values())])[
            first
        ]

    def tag(self, keys: pa.Array) -> Tags:
        """The file groups of each of *keys*."""
        found, numbers = self._index.find(pa.chunked_array([keys]))
        rows, pairs = np.arange(len(keys)), np.full(len(keys), NEW)
        pairs[found] = numbers if self._is_once else self._first[numbers]
        if not self._is_once:
            times = np.ones(len(keys), dtype=np.int64)
            times[found] = self._counts[numbers]
            rows, pairs = np.repeat(rows, times), np.repeat(pairs, times)
            pairs += np.arange(len(rows)) - np.repeat(np.cumsum(times) - times, times)
        is_known = pairs != NEW
        codes, positions = np.full(len(rows), NEW), np.full(len(rows), NOT_IN_BASE_FILE)
        codes[is_known] = self._owners[pairs[is_known]]
        positions[is_known] = self._positions[pairs[is_known]]
        return Tags(rows, codes, self._file_ids, (True,) * len(self._file_ids), positions)

    def _pairs(self, owners: Integers) -> tuple[Integers, Integers]:
        """Each distinct key with each of its owners, in the order of the keys: the key, and its first row there."""
        numbers = self._index.numbers()
        pairs = numbers * max(len(self._file_ids), 1) + owners
        order = np.argsort(pairs, kind="stable")
        first = order[np.diff(pairs[order], prepend=-1) != 0]
        return numbers[first], first


def _chunked(arrays: Iterable[pa.ChunkedArray]) -> pa.ChunkedArray:
    chunks = [chunk for keys in arrays for chunk in keys.chunks]
    # As few as can be: taking keys from many takes twice the time.
    return pa.table([pa.chunked_array(chunks, pa.string())], ["key"]).combine_chunks()["key"]


_INSERTS = (Operation.INSERT, Operation.BULK_INSERT, *REPLACING)


class Tagger:
    """Finds the file group of each row of a write, partition by partition; a partition is listed once."""

    def __init__(self, storage: Storage, plan: WritePlan) -> None:
        self._storage = storage
        self._plan = plan
        self._partitions: dict[str, PartitionIndex] = {}
        self._record_index = None if plan.record_index is None else ListedIndex(storage, plan)

    def partition(self, path: str) -> PartitionIndex:
        """The file groups of one partition path."""
        if path not in self._partitions:
            self._partitions[path] = PartitionIndex(self._storage, self._plan, path, record_index=self._record_index)
        return self._partitions[path]

    def locate(self, rows: KeyedRows, paths: pa.Array) -> Iterator[LocatedRows]:
        """Where *rows* belong, whose partition paths are *paths*.

        A row comes once for each file group that has its key.  A delete of a key that no file group has is left out.

        Raises:
            DataError: an insert of an existing key, where ``hoodie.datasource.insert.dup.policy`` says fail.
            OptionError: the table's buckets contradict the options.
        """
        plan = self._plan
        checks_duplicates = plan.operation is Operation.INSERT and (
            plan.options.insert_duplicates is not DuplicatePolicy.NONE
        )
        is_looked_up = plan.uses_buckets or checks_duplicates or plan.operation not in _INSERTS
        for path, indices in rows_by_value(paths):
            part = rows.at(indices)
            if not is_looked_up:
                yield LocatedRows(path, part, is_new=True)
                continue
            tags = self.partition(path).tag(part.keys)
            if checks_duplicates:
                self._refuse_duplicates(path, part, tags)
            for code, chosen in rows_by_code(tags.codes):
                found = part.at(tags.rows[chosen])
                if tags.positions is not None:
                    found = replace(found, positions=tags.positions[chosen])
                if code == NEW:
                    if plan.operation is not Operation.DELETE:
                        yield LocatedRows(path, found, is_new=True)
                elif not checks_duplicates and (tags.existing[code] or plan.operation is not Operation.DELETE):
                    yield LocatedRows(path, found, tags.file_ids[code])

    def locate_bucket(self, path: str, bucket: int, rows: KeyedRows) -> Iterator[LocatedRows]:
        """Where rows of one partition belong whose bucket is known.

        Raises:
            OptionError: the table's buckets contradict the options.
        """
        file_id, existing = self.partition(path).bucket(bucket)
        if existing or self._plan.operation is not Operation.DELETE:
            yield LocatedRows(path, rows, file_id)

    def _refuse_duplicates(self, path: str, rows: KeyedRows, tags: Tags) -> None:
        """Source: HoodieSparkSqlWriter, DataSourceUtils.resolveDuplicates."""
        existing = tags.rows[tags.codes != NEW]
        if len(existing) and self._plan.options.insert_duplicates is DuplicatePolicy.FAIL:
            key = rows.keys[int(existing[0])].as_py()
            raise DataError(f"the record key {key!r} is in partition {path!r} already")


class PartitionIndex:
    """The file groups of one partition, and their record keys as far as they are needed.

    *record_index* is that of the write, if it has one, and is partitioned: it says where keys are.
    """

    def __init__(
        self, storage: Storage, plan: WritePlan, path: str, *, record_index: ListedIndex | None = None
    ) -> None:
        self._storage = storage
        self._plan = plan
        self._path = path
        self._record_index = record_index
        self._known: list[KnownKeys] = []
        self._searched: set[str] = set()
        self._file_keys: dict[str, FileKeys] = {}
        self._deleted: dict[str, pa.Array] = {}
        self.base_instants: dict[str, str] = {}
        """By file id, the instant of the base file whose rows the positions in tags count."""

    def tag(self, record_keys: pa.Array) -> Tags:
        """The file group of each record.

        Raises:
            OptionError: the table's buckets contradict the options.
        """
        if self._plan.uses_buckets:
            return bucket_tags(self._numbering.numbers(record_keys), self.bucket)
        if self._plan.record_index is not None:
            listed = self._record_index or ListedIndex(self._storage, self._plan)
            return listed.tag(record_keys, self._path, {one.file_id for one in self.slices})
        known = [*self._known_beside(record_keys), *self._known]
        return merged_tags([one.tag(record_keys) for one in known], len(record_keys))

    def bucket(self, number: int) -> tuple[str, bool]:
        """The file group of a bucket, and whether it existed before this write.

        Raises:
            OptionError: the table's buckets contradict the options.
            CorruptTableError: two file groups have one bucket.
        """
        if self._plan.operation not in REPLACING and number in self._buckets:  # replacing opens all of them again
            return self._buckets[number], True
        return self._numbering.new_id(number), False

    @cached_property
    def slices(self) -> list[FileSlice]:
        """The newest slice of each file group."""
        return latest_slices(build_slices(self._path, self._files, self._plan.visibility))

    @property
    def is_listed_as_partition(self) -> bool:
        """Whether the folder has been listed, and had a partition metadata file then."""
        listed = self.__dict__.get("_files", ())
        return any(entry.name == PARTITION_METADATA_FILE for entry in listed)

    @cached_property
    def _files(self) -> list[FileInfo]:
        return [entry for entry in self._storage.list(self._path) if not entry.is_dir]

    @cached_property
    def _unread(self) -> list[FileSlice]:
        return self.slices

    @cached_property
    def _numbering(self) -> Buckets:
        return buckets_of(self._storage, self._plan, self._path)

    @cached_property
    def _buckets(self) -> dict[int, str]:
        return existing_buckets(self._plan, self._numbering, self._path, self.slices)

    def _known_beside(self, record_keys: pa.Array) -> list[KnownKeys]:
        """The keys of slices that may have one of *record_keys* and have not been read as a whole before.

        For few record keys a slice is read without keeping the others; asked again, it is read as a whole and kept.
        """
        wanted = [file_slice for file_slice in self._unread if self.may_hold(file_slice, record_keys)]
        self.base_instants |= {one.file_id: one.base_file.name.instant for one in wanted if one.base_file}
        is_few = len(record_keys) <= _FEW_KEYS
        once = [one for one in wanted if is_few and one.file_id not in self._searched]
        kept = [one for one in wanted if one not in once]
        self._searched |= {one.file_id for one in once}
        if kept:
            self._known.append(self._read(kept))
            self._unread = [one for one in self._unread if one not in kept]
        return [self._read(once, among=record_keys)] if once else []

    def _read(self, slices: Iterable[FileSlice], *, among: pa.Array | None = None) -> KnownKeys:
        groups = {}
        for one in slices:
            groups[one.file_id] = self._keys_of(one, among=among)
        return KnownKeys(groups)

    def may_hold(self, file_slice: FileSlice, record_keys: pa.Array) -> bool:
        """Whether a slice may hold one of *record_keys*, by its footer; of log files nothing is known beforehand.

        Source: HoodieBloomIndex, HoodieKeyLookupHandle.
        """
        if file_slice.base_file is None or file_slice.log_files:
            return True
        if file_slice.file_id not in self._file_keys:
            self._file_keys[file_slice.file_id] = read_file_keys(
                self._storage, join_path(self._path, str(file_slice.base_file.name))
            )
        found = self._file_keys[file_slice.file_id]
        near = found.in_range(record_keys)
        if not self._plan.options.index_type.uses_bloom_filters:
            return bool(near.any())
        return found.might_contain(record_keys.filter(pa.array(near)))

    def slice_keys(self, file_slice: FileSlice, *, among: pa.Array | None = None) -> pa.Array:
        """Every record key of a slice, deleted ones too: the base file still holds those, and Hudi finds them there.

        With *among* only those that are in it.
        """
        return self._keys_of(file_slice, among=among).keys.combine_chunks()

    def deleted_keys(self, file_slice: FileSlice | None) -> pa.Array:
        """The record keys that log files of a slice have deleted, whether or not that counts."""
        if file_slice is None:
            return _no_keys()
        if file_slice.file_id not in self._deleted:
            blocks = (block for block in self._log_blocks(file_slice) if block.type is BlockType.DELETE)
            deleted = [block.deletes()[_DELETED_KEY] for block in blocks]
            self._deleted[file_slice.file_id] = pa.chunked_array([_no_keys(), *deleted]).combine_chunks()
        return self._deleted[file_slice.file_id]

    def _keys_of(self, file_slice: FileSlice, *, among: pa.Array | None = None) -> GroupKeys:
        found, deleted = GroupKeys(among=among), [_no_keys()]
        if file_slice.base_file is not None:
            path = join_path(self._path, str(file_slice.base_file.name))
            for batch in scan_base_file(self._storage, path, _KEY_SCHEMA, batch_rows=_READ_ROWS):
                found.add_base(batch.column(0))
        for block in self._log_blocks(file_slice):
            if block.type is BlockType.DELETE:
                deleted.append(block.deletes()[_DELETED_KEY])
            else:
                found.add_logged(block.to_arrow(columns=[RECORD_KEY])[RECORD_KEY])
        self._deleted[file_slice.file_id] = pa.chunked_array(deleted).combine_chunks()
        return found

    def _log_blocks(self, file_slice: FileSlice) -> Iterator[LogBlock]:
        """The blocks of the log files of a slice that count, those of one file after the other."""
        for log in file_slice.log_files:
            reader = LogReader(join_path(self._path, str(log.name)), storage=self._storage)
            yield from counting_blocks(reader, counts=self._plan.visibility.counts_block)


def _no_keys() -> pa.Array:
    """None at the import: the first array that Arrow makes imports pandas."""
    return pa.array([], pa.string())
