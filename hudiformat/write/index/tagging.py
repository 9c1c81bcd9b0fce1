"""Find the file group of each row: by the hash of its key, or by looking up the key in the file groups.

``Tagger`` has a ``PartitionIndex`` for each partition, which reads the record keys that it needs into ``KnownKeys``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain, compress
from operator import methodcaller
from typing import TypeVar, cast

import numpy as np
import pyarrow as pa

from hudiformat.codec.log.block import LogBlock
from hudiformat.codec.log.damaged import add_log_file_to_errors
from hudiformat.codec.log.frame import BlockType
from hudiformat.codec.log.reader import LogReader
from hudiformat.errors import DataError, StorageError
from hudiformat.file_group.base_file.file_indexes import FileKeys
from hudiformat.file_group.base_file.read import read_file_keys, scan_base_file
from hudiformat.file_group.merging.candidates import blocks_to_merge
from hudiformat.file_group.partition_metadata import find_metadata_file
from hudiformat.file_group.slices import BaseFile, FileSlice, KnownSlices, LogFile, build_slices, latest_slices
from hudiformat.naming.file_names import base_name, join_path
from hudiformat.schema.meta_fields import RECORD_KEY
from hudiformat.storage.protocol import FileInfo, Storage, TellsOneThing
from hudiformat.storage.threads import FILE_GROUPS, NO_THREADS, WorkThreads, for_each, side_by_side
from hudiformat.table.cache import TableCache
from hudiformat.table.options.values import REPLACING, DuplicatePolicy, Operation
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.write.commit.plan import WritePlan
from hudiformat.write.index.buckets import Buckets, buckets_of, existing_buckets, locate_by_bucket
from hudiformat.write.index.known_keys import GroupKeys, KnownKeys, SliceCache, SliceKeys, no_keys
from hudiformat.write.index.listed_index import ListedIndex
from hudiformat.write.rows import (
    NEW,
    NOT_IN_BASE_FILE,
    Booleans,
    KeyedRows,
    LocatedRows,
    Locations,
    group_by_value,
    take_with_keys,
)

_DELETED_KEY = "record_key"
_KEY_SCHEMA = pa.schema([pa.field(RECORD_KEY, pa.string())])
_READ_ROWS = 1 << 18
T = TypeVar("T")
Result = TypeVar("Result")

_FEW_PARTITIONS = 64
"""The keys of so many partitions are looked up side by side."""
_FEW_KEYS = 20_000
"""For so few keys in a batch, a slice is read without keeping its other keys: the next batch may never come."""


def merge_locations(every: Sequence[Locations], count: int) -> Locations:
    """Merge the results of several look-ups of *count* records; a record that none of them has found is NEW.

    For example, three records and two look-ups; the first has found record 0 in group a, the second record 2 in group b
    and record 0 in group a once more:

        file_ids   a  b
        found      0*2+0 = 0 | 2*2+1 = 5, 0    record * groups + group, of each result
        pairs      0  5                        each once, sorted
        rows       0  2    codes  0  1         of each pair
        new        1                           the record that has no pair
    """
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
    return Locations(
        rows=rows[order],
        codes=np.append(codes, np.full(len(new), NEW))[order],
        file_ids=file_ids,
        existing=(True,) * len(file_ids),
        positions=np.append(np.concatenate(positions)[first], np.full(len(new), NOT_IN_BASE_FILE))[order],
    )


_INSERTS = (Operation.INSERT, Operation.BULK_INSERT, *REPLACING)


class Tagger:
    """Finds the file group of each row of a write, partition by partition; a partition is listed once.

    *threads* look up the keys of several partitions side by side.
    """

    def __init__(
        self,
        storage: Storage,
        plan: WritePlan,
        *,
        cache: TableCache | None = None,
        threads: WorkThreads = NO_THREADS,
    ) -> None:
        self._storage = storage
        self._threads = threads
        self._plan = plan
        self._cache = cache
        if cache is not None:
            cache.begin()
        self._partitions: dict[str, PartitionIndex] = {}
        self._record_index = None if plan.record_index is None else ListedIndex(storage, plan)

    def partition(self, path: str) -> PartitionIndex:
        """Return the file groups of one partition path."""
        if path not in self._partitions:
            self._partitions[path] = PartitionIndex(
                self._storage, self._plan, path, record_index=self._record_index, cache=self._cache
            )
        return self._partitions[path]

    def list_partitions(self, paths: Iterable[str]) -> None:
        """List the files of partitions that have not been listed yet; those of a remote storage side by side."""
        indexes = [self.partition(path) for path in paths]
        for_each(self._storage, PartitionIndex.list_files, indexes)

    @property
    def looks_up(self) -> bool:
        """Whether :meth:`locate` looks for the file groups of rows; otherwise it only divides them by partition."""
        return self._plan.uses_buckets or self._checks_duplicates or self._plan.operation not in _INSERTS

    @property
    def _checks_duplicates(self) -> bool:
        plan = self._plan
        return plan.operation is Operation.INSERT and plan.options.insert_duplicates is not DuplicatePolicy.NONE

    def locate(self, rows: KeyedRows, *, in_one: bool = False) -> Iterator[LocatedRows]:
        """Yield *rows*, of one record batch, with the file groups that they belong to.

        With *in_one* the rows are copied once for all partitions, and the rows of each keep the whole copy in memory; a
        copy for each of a thousand takes seven times as long.  New rows of a partition come separately from the others.
        A row comes once for each file group that has its key.
        A delete of a key that no file group has is left out.

        Raises:
            DataError: an insert of an existing key, if ``hoodie.datasource.insert.dup.policy`` is fail.
            OptionError: the table's buckets contradict the options.
        """
        plan, checks_duplicates = self._plan, self._checks_duplicates

        def locate(part: LocatedRows) -> tuple[LocatedRows, Locations | None]:
            path = part.path
            if self.looks_up or plan.sizing is not None:
                self.partition(path).list_files()
            return part, self.partition(path).locate_keys(part.keys) if self.looks_up else None

        for part, found in self._map(locate, _divide(rows, in_one=in_one), in_one=in_one):
            if found is None:
                yield part
                continue
            if checks_duplicates:
                self._refuse_duplicates(part, found)
            is_new = found.codes == NEW
            if is_new.any() and plan.operation is not Operation.DELETE:
                yield _at_locations(part, found, is_new)
            known = ~is_new
            if plan.operation is Operation.DELETE:
                known[known] = np.array(found.existing, np.bool_)[found.codes[known]]
            if known.any() and not checks_duplicates:
                yield replace(
                    _at_locations(part, found, known), groups=found.file_ids, codes=found.codes[known], is_new=False
                )

    def _map(self, locate: Callable[[LocatedRows], T], parts: Iterator[LocatedRows], *, in_one: bool) -> Iterator[T]:
        """Yield the result of *locate* for each of *parts*, in their order; *in_one* they are in memory anyway."""
        if self._record_index is not None:  # which all partitions share
            return map(locate, parts)
        if not self._storage.capabilities.map:
            return side_by_side(self._storage, locate, parts, at_once=FILE_GROUPS)
        if not (in_one and self.looks_up and self._threads.exist):
            return map(locate, parts)
        every = [*parts]
        # Those of very many partitions have small files, of which Python takes most of the time.
        return self._threads.map(locate, every) if 1 < len(every) <= _FEW_PARTITIONS else map(locate, every)

    def locate_bucket(self, path: str, bucket: int, rows: pa.RecordBatch, keys: pa.Array) -> Iterator[LocatedRows]:
        """Yield rows of one partition whose bucket is known with the file group that they belong to.

        Raises:
            OptionError: the table's buckets contradict the options.
        """
        file_id, existing = self.partition(path).bucket(bucket)
        if existing or self._plan.operation is not Operation.DELETE:
            yield LocatedRows(path, rows, keys, (file_id,))

    def note_written(self, stats: Iterable[WriteStat]) -> None:
        """Record what the write has appended: log files with updates alone need not be read to know their keys."""
        for stat in stats if self._cache is not None else ():
            is_log = stat.log_version is not None and stat.path is not None
            if is_log and not (stat.num_inserts or stat.num_deletes) and stat.partition_path in self._partitions:
                self._partitions[stat.partition_path].add_updates(stat)

    def _refuse_duplicates(self, rows: LocatedRows, found: Locations) -> None:
        """Raise a DataError if a key exists and the policy is fail.

        Source: HoodieSparkSqlWriter, DataSourceUtils.resolveDuplicates.
        """
        existing = found.rows[found.codes != NEW]
        if len(existing) and self._plan.options.insert_duplicates is DuplicatePolicy.FAIL:
            raise key_exists(rows.keys[int(existing[0])].as_py(), rows.path)


class PartitionIndex:
    """The file groups of one partition, and their record keys as far as they are needed.

    *record_index* is the partitioned record index of the write, if it has one.  *cache* has what a table object keeps
    from one commit to the next.
    """

    def __init__(
        self,
        storage: Storage,
        plan: WritePlan,
        path: str,
        *,
        record_index: ListedIndex | None = None,
        cache: TableCache | None = None,
    ) -> None:
        self._storage = storage
        self._plan = plan
        self._path = path
        self._record_index = record_index
        self._kept = None if cache is None else SliceCache(cache, path)
        self._listed: tuple[AbstractSet[str], list[FileSlice]] | None = None
        self._known: list[KnownKeys | SliceKeys] = []
        self._searched: set[str] = set()
        self._file_keys: dict[str, FileKeys] = {}
        self._deleted: dict[str, pa.Array] = {}

    @cached_property
    def base_instants(self) -> dict[str, str]:
        """The instant of the base file of each file id; the positions of keys refer to rows of this base file."""
        return {one.file_id: one.base_file.name.instant for one in self.slices if one.base_file}

    def locate_keys(self, record_keys: pa.Array) -> Locations:
        """Return the file group of each record.

        Raises:
            OptionError: the table's buckets contradict the options.
        """
        if self._plan.uses_buckets:
            return locate_by_bucket(self._numbering.numbers(record_keys), self.bucket)
        if self._plan.record_index is not None:
            listed = self._record_index or ListedIndex(self._storage, self._plan)
            return listed.locate_keys(record_keys, self._path, set(self.slice_of))
        known = [*self._read_for(record_keys), *self._known]
        found = chain.from_iterable(map(methodcaller("look_up", record_keys), known))
        return merge_locations(list(found), len(record_keys))

    def bucket(self, number: int) -> tuple[str, bool]:
        """Return the file group of a bucket, and whether it existed before this write.

        Raises:
            OptionError: the table's buckets contradict the options.
            CorruptTableError: two file groups have the same bucket.
        """
        if self._plan.operation not in REPLACING and number in self._buckets:  # an overwrite opens every bucket anew
            return self._buckets[number], True
        return self._numbering.new_id(number), False

    @cached_property
    def slices(self) -> list[FileSlice]:
        """The newest slice of each file group."""
        return self.list_files()[1]

    @cached_property
    def slice_of(self) -> dict[str, FileSlice]:
        """The newest slice of each file group, by file id."""
        return {one.file_id: one for one in self.slices}

    @property
    def is_listed_as_partition(self) -> bool:
        """Whether the folder has been listed, and had a partition metadata file then."""
        return self._listed is not None and find_metadata_file(self._listed[0]) is not None

    def list_files(self) -> tuple[AbstractSet[str], list[FileSlice]]:
        """List the files of the partition, once; return the names of all, and the newest slice of each file group."""
        if self._listed is None:
            # Not a cached property: until Python 3.12 these let one thread after the other in, of all partitions.
            found = self._list_since() or self._list_all()
            self._plan.refuse_unlisted(self._storage, self._path, found[0])
            self._listed = found
        return self._listed

    def _list_all(self) -> tuple[AbstractSet[str], list[FileSlice]]:
        files = self._plan.files(self._storage, self._path)
        names, visibility = {entry.name for entry in files}, self._plan.visibility
        if self._kept is None or visibility.logs_name_slices or not self._kept.is_listed_again():
            return names, latest_slices(build_slices(self._path, files, visibility))
        slices = KnownSlices(self._path).with_files(files, visibility)
        self._kept.keep_slices(slices)
        return names, slices.newest

    def _list_since(self) -> tuple[AbstractSet[str], list[FileSlice]] | None:
        """List the names alone, and look at the files that have come since the last listing; None if there is none."""
        storage, visibility = self._storage, self._plan.visibility
        known = None if self._kept is None else self._kept.slices(visibility)
        if self._kept is None or known is None or not isinstance(storage, TellsOneThing):
            return None
        registered = {one.name for one in self._plan.registered.get(self._path, ())}
        others = storage.list_others(self._path, known.names - registered if registered else known.names)
        if others is None or not registered <= known.names:
            return None
        try:
            new = [FileInfo(name, storage.size(join_path(self._path, name)), False) for name in others]
        except StorageError:  # deleted in the meantime
            return None
        slices = known.with_files(new, visibility)
        self._kept.keep_slices(slices)
        return known.names.union(others), slices.newest

    @cached_property
    def _unread(self) -> list[FileSlice]:
        return self.slices

    @cached_property
    def _numbering(self) -> Buckets:
        return buckets_of(self._storage, self._plan, self._path)

    @cached_property
    def _buckets(self) -> dict[int, str]:
        return existing_buckets(self._plan, self._numbering, self._path, self.slices)

    def _read_for(self, record_keys: pa.Array) -> list[KnownKeys]:
        """Return the keys of slices that may have one of *record_keys* and that have not been read as a whole before.

        For few record keys, a slice is read without keeping its other keys; the next time it is read as a whole and
        kept.
        """
        if self._kept is not None:
            self._use_kept([one for one in self._unread if self._kept.known(one) is not None])
        may_hold = self._of_each(partial(self.may_hold, record_keys=record_keys), self._unread)
        wanted = list(compress(self._unread, may_hold))
        if self._kept is not None:
            self._use_kept([one for one in wanted if self._kept.should_read(one)])
            wanted = [one for one in wanted if one in self._unread]
        is_few = len(record_keys) <= _FEW_KEYS
        once = [one for one in wanted if is_few and one.file_id not in self._searched]
        kept = [one for one in wanted if one not in once]
        self._searched |= {one.file_id for one in once}
        if kept:
            self._known.append(self._read(kept))
            self._unread = [one for one in self._unread if one not in kept]
        return [self._read(once, among=record_keys)] if once else []

    def add_updates(self, stat: WriteStat) -> None:
        """Record a log file that only updates keys that were found among the kept keys of its slice."""
        looked_up = {one.file_id for one in self._known if isinstance(one, SliceKeys)}
        if self._kept is not None and stat.file_id in looked_up:
            self._kept.add_updates(
                self.slice_of[stat.file_id], base_name(stat.path or ""), stat.file_size_in_bytes or 0
            )

    def _use_kept(self, slices: Sequence[FileSlice]) -> None:
        """Look up keys in what is kept of *slices* between commits, after adding the keys of further log files."""
        assert self._kept is not None  # noqa: S101 - whoever asks has looked
        taken = {}
        for one, found in zip(slices, self._of_each(self._slice_keys, slices), strict=True):
            self._kept.keep(one, found)
            if found is not None:
                taken[one.file_id] = found
                self._deleted[one.file_id] = found.deleted
        self._known += taken.values()
        self._unread = [one for one in self._unread if one.file_id not in taken]

    def _slice_keys(self, file_slice: FileSlice) -> SliceKeys | None:
        """Return the keys of a slice; what is kept of an earlier state is not read again.

        Returns None if a log file has blocks of another instant than its name has: whether they count may change later.
        """
        known = None if self._kept is None else self._kept.known(file_slice)
        further = file_slice.log_files if known is None else known.logs_after(file_slice)
        keys, deleted = [no_keys()], [no_keys()]
        for log in further:
            blocks = list(self._reader(log))
            if self._plan.logs_name_slices or any(block.instant != log.name.instant for block in blocks):
                return None
            with self._naming([log]):
                for block in self._counting_blocks(blocks):
                    self._add_keys(block, keys, deleted)
        if known is None:
            known = SliceKeys.of_base(file_slice, self._base_keys(file_slice))
        return (
            known.with_logs(file_slice.log_files, pa.chunked_array(keys), pa.chunked_array(deleted))
            if further
            else known
        )

    def _base_keys(self, file_slice: FileSlice) -> Iterator[pa.Array]:
        if file_slice.base_file is not None:
            path, virtual = file_slice.base_path, self._plan.virtual_keys
            wanted = _KEY_SCHEMA if virtual is None else virtual.stored(_KEY_SCHEMA)
            for batch in scan_base_file(self._storage, path, wanted, batch_rows=_READ_ROWS):
                yield batch.column(0) if virtual is None else virtual.of_rows(batch)

    def _read(self, slices: Sequence[FileSlice], *, among: pa.Array | None = None) -> KnownKeys:
        every = self._of_each(partial(self._keys_of, among=among), slices)
        return KnownKeys({one.file_id: keys for one, keys in zip(slices, every, strict=True)})

    def _of_each(self, read: Callable[[T], Result], given: Sequence[T]) -> Iterator[Result]:
        """Yield what *read* returns for each of *given*; several are read at a time if there is a storage to wait for.

        One alone is read by this thread, which may be one of several that read partitions.
        """
        return map(read, given) if len(given) <= 1 else side_by_side(self._storage, read, given, at_once=FILE_GROUPS)

    def may_hold(self, file_slice: FileSlice, record_keys: pa.Array) -> bool:
        """Return whether a slice may hold one of *record_keys*, by its footer; log files may hold any key.

        Source: HoodieBloomIndex, HoodieKeyLookupHandle.
        """
        if file_slice.base_file is None or file_slice.log_files:
            return True
        found = self._footer(file_slice.base_file)
        near = found.in_range(record_keys)
        if not self._plan.options.index_type.uses_bloom_filters:
            return bool(near.any())
        return found.might_contain(record_keys.filter(pa.array(near)))

    def _footer(self, base: BaseFile) -> FileKeys:
        """Return the key range and bloom filters of a base file; they are read once."""
        name = str(base.name)
        found = self._file_keys.get(name)
        if found is None and self._kept is not None:
            found = self._kept.footer(name, base.size)
        if found is None:
            found = read_file_keys(self._storage, join_path(self._path, base.name.stored_as))
            if self._kept is not None:
                self._kept.keep_footer(name, base.size, found)
        self._file_keys[name] = found
        return found

    def slice_keys(self, file_slice: FileSlice, *, among: pa.Array | None = None) -> pa.Array:
        """Return all record keys of a slice, with *among* those that are in it.

        Deleted keys are included: the base file still holds them, and Hudi finds them there.
        """
        return self._keys_of(file_slice, among=among).keys.combine_chunks()

    def deleted_keys(self, file_slice: FileSlice | None) -> pa.Array:
        """Return the record keys that log files of a slice have deleted, whether or not the delete wins."""
        if file_slice is None:
            return no_keys()
        if file_slice.file_id not in self._deleted:
            blocks = (block for block in self._log_blocks(file_slice) if block.type is BlockType.DELETE)
            with self._naming(file_slice.log_files):
                deleted = [block.deletes()[_DELETED_KEY] for block in blocks]
            self._deleted[file_slice.file_id] = pa.chunked_array([no_keys(), *deleted]).combine_chunks()
        return self._deleted[file_slice.file_id]

    def _keys_of(self, file_slice: FileSlice, *, among: pa.Array | None = None) -> GroupKeys:
        found, keys, deleted = GroupKeys(among=among), [no_keys()], [no_keys()]
        for rows in self._base_keys(file_slice):
            found.add_base(rows)
        with self._naming(file_slice.log_files):
            for block in self._log_blocks(file_slice):
                self._add_keys(block, keys, deleted)
        for part in keys:
            found.add_logged(part)
        self._deleted[file_slice.file_id] = pa.chunked_array(deleted).combine_chunks()
        return found

    def _add_keys(self, block: LogBlock, keys: list[pa.Array], deleted: list[pa.Array]) -> None:
        """Add the keys of a block to *keys*, or to *deleted* if it is a delete block."""
        virtual = self._plan.virtual_keys
        if block.type is BlockType.DELETE:
            deleted.append(block.deletes()[_DELETED_KEY])
        elif virtual is None:
            keys.append(block.to_arrow(columns=[RECORD_KEY])[RECORD_KEY])
        else:
            keys.append(virtual.of_rows(block.to_arrow(columns=virtual.key_columns.names)))

    def _log_blocks(self, file_slice: FileSlice) -> Iterator[LogBlock]:
        """Yield the blocks of the log files of a slice that count, file by file."""
        for log in file_slice.log_files:
            yield from self._counting_blocks(self._reader(log))

    def _reader(self, log: LogFile) -> LogReader:
        return LogReader(join_path(self._path, str(log.name)), storage=self._storage)

    def _naming(self, logs: Iterable[LogFile]) -> AbstractContextManager[None]:
        return add_log_file_to_errors(self._storage, (join_path(self._path, str(log.name)) for log in logs))

    def _counting_blocks(self, blocks: Iterable[LogBlock]) -> list[LogBlock]:
        return blocks_to_merge(blocks, counts=self._plan.visibility.counts_block)


def _divide(rows: KeyedRows, *, in_one: bool) -> Iterator[LocatedRows]:
    """Yield the rows of each partition; *in_one* is that of :meth:`Tagger.locate`."""
    batch, groups = cast("pa.RecordBatch", rows.rows), group_by_value(rows.paths)
    if not in_one:
        for path, indices in groups:
            yield LocatedRows(path, *take_with_keys(batch, rows.keys, indices), is_new=True)
        return
    every = list(groups)
    taken, keys = take_with_keys(batch, rows.keys, np.concatenate([np.empty(0, np.int64), *(at for _, at in every)]))
    start = 0
    for path, indices in every:
        count = len(indices)
        yield LocatedRows(path, taken.slice(start, count), keys.slice(start, count), is_new=True)
        start += count


def _at_locations(rows: LocatedRows, found: Locations, chosen: Booleans) -> LocatedRows:
    """Return the *rows* of the *chosen* locations, with their positions; *found* are the locations of all rows."""
    return replace(rows.at(found.rows[chosen]), positions=None if found.positions is None else found.positions[chosen])


def key_exists(key: str, path: str | None = None) -> DataError:
    """Return the error of an insert of a key that exists, in partition *path* or anywhere, if the policy is fail."""
    where = "the table" if path is None else f"partition {path!r}"
    return DataError(
        f"the record key {key!r} is in {where} already, and hoodie.datasource.insert.dup.policy is fail: leave the row "
        "out, or upsert it"
    )
