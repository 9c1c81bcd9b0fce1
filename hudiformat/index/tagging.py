"""Finding the file group of each row: by the hash of its key, or by looking the key up in the file groups.

``Tagger`` has a ``PartitionIndex`` for each partition, which reads the record keys that it needs into ``KnownKeys``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudiformat.basefile import RECORD_KEY, FileKeys, read_base_file, read_file_keys
from hudiformat.blocks import BlockType, LogBlock
from hudiformat.errors import CorruptTableError, DataError, OptionError
from hudiformat.index.rows import NOT_IN_BASE_FILE, Integers, KeyedRows, LocatedRows, rows_by_code, rows_by_value
from hudiformat.logfile import LogReader
from hudiformat.merge import KeyIndex, counting_blocks
from hudiformat.metadata import OpenRecordIndex
from hudiformat.naming import bucket_file_id, fixed_bucket_file_id, join_path, new_bucket_uuid, parse_bucket
from hudiformat.options import REPLACING, DuplicatePolicy, Operation
from hudiformat.storage import FileInfo, Storage
from hudiformat.transaction import WritePlan
from hudiformat.view import PARTITION_METADATA_FILE, FileSlice, build_slices, latest_slices

NEW = -1
"""The code of a record that is in no file group yet."""

_DELETED_KEY = "record_key"
_NO_KEYS = pa.array([], pa.string())


@dataclass(frozen=True, slots=True)
class Tags:
    """The record ``rows[i]`` belongs to the file group ``file_ids[codes[i]]``, or to none yet where the code is NEW.

    Every record is there once, or once for each of several file groups that have its key.  ``existing`` tells for each
    file group whether it existed before this write.  ``positions[i]`` is the row of that file group's base file that
    has the record's key, or NOT_IN_BASE_FILE; ``positions`` is None where base files were not read.
    """

    rows: Integers
    codes: Integers
    file_ids: tuple[str, ...]
    existing: tuple[bool, ...]
    positions: Integers | None = None


def bucket_tags(buckets: npt.NDArray[np.integer], group_of: Callable[[int], tuple[str, bool]]) -> Tags:
    """Tags by bucket number; *group_of* gives a bucket's file group, and whether it existed before this write.

    Source: HoodieSimpleBucketIndex.
    """
    numbers = np.flatnonzero(np.bincount(buckets))
    code_of = np.zeros(int(numbers.max(initial=0)) + 1, np.int64)
    code_of[numbers] = np.arange(len(numbers))
    found = [group_of(number) for number in numbers.tolist()]
    return Tags(
        rows=np.arange(len(buckets)),
        codes=code_of[buckets],
        file_ids=tuple(file_id for file_id, _ in found),
        existing=tuple(existing for _, existing in found),
    )


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


class KnownKeys:
    """The record keys of a partition's file groups, to look records up among, batch after batch.

    *base_rows* is the number of a group's keys that are in its base file; they come first, in the file's order.  A key
    in several file groups, which inserts may lead to, is tagged with each of them; a key in none is NEW.

    Source: HoodieSimpleIndex.tagLocationInternal, a join.
    """

    def __init__(
        self, keys: Mapping[str, pa.Array | pa.ChunkedArray], base_rows: Mapping[str, int] | None = None
    ) -> None:
        self._file_ids = tuple(keys)
        sizes = np.array([len(group) for group in keys.values()], np.int64)
        owners = np.repeat(np.arange(len(keys)), sizes)
        self._index = KeyIndex.of(_chunked(keys.values()))
        self._is_once = len(self._index) == len(owners)
        first = self._index.rows
        if not self._is_once:
            of_key, first = self._pairs(owners)
            self._counts = np.bincount(of_key, minlength=len(self._index))
            self._first = np.cumsum(self._counts) - self._counts
        self._owners = owners[first]
        starts = np.cumsum(sizes) - sizes
        in_base = np.array([(base_rows or {}).get(file_id, 0) for file_id in keys], np.int64)
        rows = first - starts[self._owners]
        self._positions = np.where(rows < in_base[self._owners], rows, NOT_IN_BASE_FILE)

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


def _chunked(arrays: Iterable[pa.Array | pa.ChunkedArray]) -> pa.ChunkedArray:
    chunks = [chunk for keys in arrays for chunk in (keys.chunks if isinstance(keys, pa.ChunkedArray) else [keys])]
    # As few as can be: taking keys from many takes twice the time.
    return pa.table([pa.chunked_array(chunks, pa.string())], ["key"]).combine_chunks()["key"]


_INSERTS = (Operation.INSERT, Operation.BULK_INSERT, *REPLACING)


class Tagger:
    """Finds the file group of each row of a write, partition by partition; a partition is listed once."""

    def __init__(self, storage: Storage, plan: WritePlan) -> None:
        self._storage = storage
        self._plan = plan
        self._partitions: dict[str, PartitionIndex] = {}
        self._record_index = ListedIndex(storage, plan)

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


class ListedIndex:
    """The partitioned record index of a write, whose file groups are listed once for all partitions."""

    def __init__(self, storage: Storage, plan: WritePlan) -> None:
        self._storage = storage
        self._plan = plan

    @cached_property
    def opened(self) -> OpenRecordIndex:
        """The index.

        Raises:
            CorruptTableError, StorageError: its file groups cannot be listed.
        """
        assert self._plan.record_index is not None  # noqa: S101 - whoever asks has looked
        return self._plan.record_index.opened(self._storage)


class PartitionIndex:
    """The file groups of one partition, and their record keys as far as they are needed.

    *record_index* is that of the write, if it has one, and is partitioned: it says where keys are.
    """

    def __init__(
        self, storage: Storage, plan: WritePlan, path: str, *, record_index: ListedIndex | None = None
    ) -> None:
        self._record_index = ListedIndex(storage, plan) if record_index is None else record_index
        self._storage = storage
        self._plan = plan
        self._path = path
        self._known: list[KnownKeys] = []
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
            return bucket_tags(self._plan.buckets(record_keys), self.bucket)
        if self._plan.record_index is not None:
            return self._named(record_keys)
        self._read_keys(record_keys)
        return merged_tags([known.tag(record_keys) for known in self._known], len(record_keys))

    def _named(self, record_keys: pa.Array) -> Tags:
        """The file group that the record index names for each key.

        One that is not there belongs to a later commit, with which this write will conflict.

        Source: SparkMetadataTableRecordLevelIndex, Hudi 1.2.0.
        """
        encoded = record_keys.dictionary_encode()
        codes, places = self._record_index.opened.find(encoded.dictionary, self._path)
        file_ids = tuple(place.file_id for place in places)
        there = {one.file_id for one in self.slices}
        is_there = np.array([*(file_id in there for file_id in file_ids), False])  # the last is that of NOWHERE
        codes = np.where(is_there[codes], codes, NEW)[np.asarray(encoded.indices)]
        return Tags(np.arange(len(record_keys)), codes, file_ids, (True,) * len(file_ids))

    def bucket(self, number: int) -> tuple[str, bool]:
        """The file group of a bucket, and whether it existed before this write.

        Raises:
            OptionError: the table's buckets contradict the options.
            CorruptTableError: two file groups have one bucket.
        """
        if self._plan.operation not in REPLACING and number in self._buckets:  # replacing opens all of them again
            return self._buckets[number], True
        return self._new_bucket(number), False

    def _new_bucket(self, number: int) -> str:
        plan = self._plan
        if not plan.options.concurrency.is_non_blocking:
            return bucket_file_id(number, new_bucket_uuid(plan.instant, self._path, number))
        # Other writers may be opening the same bucket: it has to be the same file group.  One that was removed from the
        # table would hide the new one, if that had its id.
        ids = (fixed_bucket_file_id(number, index) for index in count())
        return next(one for one in ids if not plan.visibility.is_replaced(self._path, one, None))

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
    def _buckets(self) -> dict[int, str]:
        buckets: dict[int, str] = {}
        for file_slice in self.slices:
            number = parse_bucket(file_slice.file_id)
            if number is None or number >= self._plan.options.num_buckets:
                raise OptionError(
                    f"the file group {file_slice.file_id} in partition {self._path!r} is none of "
                    f"{self._plan.options.num_buckets} buckets; hoodie.index.type and hoodie.bucket.index.num.buckets "
                    "have to be those that the table was written with",
                    option="hoodie.bucket.index.num.buckets",
                )
            if number in buckets:
                raise CorruptTableError(
                    f"{self._storage.root}: expected one file group for bucket {number} of partition {self._path!r}, "
                    f"found {buckets[number]} and {file_slice.file_id}, and both may have a row of one key; "
                    "overwrite the partition with what it should have",
                    path=join_path(self._storage.root, self._path),
                )
            buckets[number] = file_slice.file_id
        return buckets

    def _read_keys(self, record_keys: pa.Array) -> None:
        """Read the keys of the slices that may have one of *record_keys*, unless they have been read."""
        wanted = [file_slice for file_slice in self._unread if self.may_hold(file_slice, record_keys)]
        if not wanted:
            return
        keys, base_rows = {}, {}
        for one in wanted:
            base, logs = self._keys_of(one)
            keys[one.file_id] = pa.chunked_array([*base, *logs], pa.string())
            base_rows[one.file_id] = sum(map(len, base))
        self._known.append(KnownKeys(keys, base_rows))
        self.base_instants |= {one.file_id: one.base_file.name.instant for one in wanted if one.base_file}
        self._unread = [one for one in self._unread if one not in wanted]

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

    def slice_keys(self, file_slice: FileSlice) -> pa.Array:
        """Every record key of a slice, deleted ones too: the base file still holds those, and Hudi finds them there."""
        base, logs = self._keys_of(file_slice)
        return pa.chunked_array([*base, *logs], pa.string()).combine_chunks()

    def deleted_keys(self, file_slice: FileSlice | None) -> pa.Array:
        """The record keys that log files of a slice have deleted, whether or not that counts."""
        if file_slice is None:
            return _NO_KEYS
        if file_slice.file_id not in self._deleted:
            blocks = (block for block in self._log_blocks(file_slice) if block.type is BlockType.DELETE)
            deleted = [block.deletes()[_DELETED_KEY] for block in blocks]
            self._deleted[file_slice.file_id] = pa.chunked_array([_NO_KEYS, *deleted]).combine_chunks()
        return self._deleted[file_slice.file_id]

    def _keys_of(self, file_slice: FileSlice) -> tuple[list[pa.Array], list[pa.Array]]:
        """The record keys of the base file, row by row, and those of the log files."""
        base, logs = [], []
        if file_slice.base_file is not None:
            schema = pa.schema([pa.field(RECORD_KEY, pa.string())])
            table = read_base_file(self._storage, join_path(self._path, str(file_slice.base_file.name)), schema)
            base += table[RECORD_KEY].chunks
        deleted = [_NO_KEYS]
        for block in self._log_blocks(file_slice):
            if block.type is BlockType.DELETE:
                deleted.append(block.deletes()[_DELETED_KEY])
            else:
                logs.append(block.to_arrow(columns=[RECORD_KEY])[RECORD_KEY])
        self._deleted[file_slice.file_id] = pa.chunked_array(deleted).combine_chunks()
        return base, logs

    def _log_blocks(self, file_slice: FileSlice) -> Iterator[LogBlock]:
        """The blocks of the log files of a slice that count, those of one file after the other."""
        for log in file_slice.log_files:
            reader = LogReader(join_path(self._path, str(log.name)), storage=self._storage)
            yield from counting_blocks(reader, counts=self._plan.visibility.counts_block)
