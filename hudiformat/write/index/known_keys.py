"""The record keys of file groups, in which rows are looked up, and what a table object keeps of them between commits.

``GroupKeys`` collects the keys of a file group, ``KnownKeys`` looks keys up in several groups, and ``SliceKeys`` keeps
the keys of a slice from one commit to the next.  A slice is read as a whole, and kept, when keys are looked up in it
for the second time, because a process writes to most tables only once.  From then on only log files that were added
since are read.  A base file is identified by its name and size: the name has the instant and the attempt of the write,
so no two files ever have the same name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.file_group.base_file.file_indexes import FileKeys
from hudiformat.file_group.merging.keys import KeyIndex
from hudiformat.file_group.slices import FileSlice, KnownSlices, LogFile, Visibility
from hudiformat.naming.file_names import LogFileName
from hudiformat.table.cache import TableCache
from hudiformat.write.rows import NEW, NOT_IN_BASE_FILE, Integers, Locations


class GroupKeys:
    """Collects the record keys of a file group: first those of the base file, row by row, then those of log files.

    With *among*, only keys that are in it are kept.
    """

    def __init__(self, *, among: pa.Array | None = None) -> None:
        self._among = among
        self._chunks = [no_keys()]
        self._positions = [np.empty(0, np.int64)]
        self._base_rows = 0

    def add_base(self, keys: pa.Array) -> None:
        """Add the keys of the next rows of the base file."""
        rows = np.arange(len(keys)) if self._among is None else np.flatnonzero(pc.is_in(keys, value_set=self._among))
        self._chunks.append(keys if self._among is None else keys.take(pa.array(rows)))
        self._positions.append(rows + self._base_rows)
        self._base_rows += len(keys)

    def add_logged(self, keys: pa.Array) -> None:
        """Add keys of a log file."""
        self._chunks.append(keys if self._among is None else keys.filter(pc.is_in(keys, value_set=self._among)))
        self._positions.append(np.full(len(self._chunks[-1]), NOT_IN_BASE_FILE))

    @property
    def keys(self) -> pa.ChunkedArray:
        """The keys that were kept."""
        return pa.chunked_array(self._chunks, pa.string())

    @property
    def positions(self) -> Integers:
        """The row of each key in the base file, or NOT_IN_BASE_FILE."""
        return np.concatenate(self._positions)


class KnownKeys:
    """The record keys of a partition's file groups, in which keys are looked up, batch after batch.

    Inserts may lead to a key in several file groups; it is tagged with each of them.  A key in no group is tagged NEW.

    Source: HoodieSimpleIndex.tagLocationInternal, a join.
    """

    def __init__(self, groups: Mapping[str, GroupKeys]) -> None:
        self._file_ids = tuple(groups)
        owners = np.repeat(np.arange(len(groups)), [len(group.keys) for group in groups.values()])
        self.keys = _concat_keys(group.keys for group in groups.values())
        self._index = KeyIndex.of(self.keys)
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

    def look_up(self, keys: pa.Array) -> list[Locations]:
        """Return the results of looking up *keys*; here it is a single one."""
        return [self.locate(keys)]

    def locate(self, keys: pa.Array) -> Locations:
        """Return the file groups of each of *keys*.

        For example, key a is in the groups 0 and 1, key b in group 1, and the keys b, x and a are looked up:

            pairs     a,0  a,1  b,1    sorted by key; _first of a is 0, of b is 2
            times     1    1    2      how many groups each key has, and 1 for x, which is in none
            rows      0    1    2  2   the key of each result
            pairs     2   NEW   0  1   the pair of each result
            codes     1   NEW   0  1   the file group of each result
        """
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
        return Locations(rows, codes, self._file_ids, (True,) * len(self._file_ids), positions)

    def _pairs(self, owners: Integers) -> tuple[Integers, Integers]:
        """Return each distinct pair of a key and a group that has it: the number of the key, and the pair's first row.

        The pairs are sorted by key.
        """
        numbers = self._index.numbers()
        pairs = numbers * max(len(self._file_ids), 1) + owners
        order = np.argsort(pairs, kind="stable")
        first = order[np.diff(pairs[order], prepend=-1) != 0]
        return numbers[first], first


def _concat_keys(arrays: Iterable[pa.ChunkedArray]) -> pa.ChunkedArray:
    chunks = [chunk for keys in arrays for chunk in keys.chunks]
    # As few chunks as possible: taking keys from many chunks takes twice as long.
    return pa.table([pa.chunked_array(chunks, pa.string())], ["key"]).combine_chunks()["key"]


def no_keys() -> pa.Array:
    """Return an empty array of keys.

    It is not a constant of the module: the first array that Arrow creates imports pandas, which must not happen at
    import.
    """
    return pa.array([], pa.string())


_BESIDE_KEY = 48
"""Bytes per key of an index beside its text: hash, row, owner, position, and a view of the text."""


@dataclass(frozen=True)
class SliceKeys:
    """The record keys of a slice, and the keys that its log files delete; *base* and *logs* identify its files.

    *base_keys* are the keys of the base file; *added* are the keys of log files that the base file does not have.
    """

    file_id: str
    base: tuple[str, int] | None
    logs: tuple[LogFile, ...]
    base_keys: KnownKeys
    added: pa.Array
    deleted: pa.Array

    @property
    def size(self) -> int:
        """The estimated bytes of this object in memory."""
        arrays = (*self.base_keys.keys.chunks, self.added, self.deleted)
        return _MARK_BYTES * len(self.logs) + sum(int(array.nbytes) + _BESIDE_KEY * len(array) for array in arrays)

    @cached_property
    def _added_keys(self) -> KnownKeys:
        group = GroupKeys()
        group.add_logged(self.added)
        return KnownKeys({self.file_id: group})

    def is_before(self, file_slice: FileSlice) -> bool:
        """Return whether *file_slice* is the same slice, possibly with further log files."""
        if self.base != base_of(file_slice):
            return False
        return self._is_beginning(file_slice.log_files) or set(self.logs) <= set(file_slice.log_files)

    def logs_after(self, file_slice: FileSlice) -> Sequence[LogFile]:
        """Return the log files of the same slice that are not among these."""
        if self._is_beginning(file_slice.log_files):  # the usual case, which costs little if there are many
            return file_slice.log_files[len(self.logs) :]
        known = set(self.logs)
        return [log for log in file_slice.log_files if log not in known]

    def _is_beginning(self, logs: tuple[LogFile, ...]) -> bool:
        return logs[: len(self.logs)] == self.logs

    def look_up(self, keys: pa.Array) -> list[Locations]:
        """Return the results of looking up *keys*."""
        found = [self.base_keys.locate(keys)]
        return [*found, self._added_keys.locate(keys)] if len(self.added) else found

    @classmethod
    def of_base(cls, file_slice: FileSlice, base_keys: Iterable[pa.Array]) -> SliceKeys:
        """Return the keys of a slice's base file alone, which has *base_keys*."""
        group = GroupKeys()
        for keys in base_keys:
            group.add_base(keys)
        known = KnownKeys({file_slice.file_id: group})
        return cls(file_slice.file_id, base_of(file_slice), (), known, no_keys(), no_keys())

    def with_logs(self, logs: Iterable[LogFile], keys: pa.ChunkedArray, deleted: pa.ChunkedArray) -> SliceKeys:
        """Return these keys with all *logs* of the slice, the further of which have *keys* and delete other keys."""
        distinct = keys.unique()
        known = np.zeros(len(distinct), np.bool_)
        for found in self.look_up(distinct):
            known[found.rows[found.codes != NEW]] = True
        new = distinct.filter(pa.array(~known))
        added = pa.concat_arrays([self.added, new]) if len(new) else self.added
        all_deleted = pa.chunked_array([self.deleted, *deleted.chunks]).unique() if len(deleted) else self.deleted
        changed = replace(self, logs=tuple(logs), added=added, deleted=all_deleted)
        if added is self.added and "_added_keys" in self.__dict__:
            changed.__dict__["_added_keys"] = self._added_keys
        return changed


def base_of(file_slice: FileSlice) -> tuple[str, int] | None:
    """Return the name and the size of the base file of a slice; None if it has none."""
    base = file_slice.base_file
    return None if base is None else (str(base.name), base.size)


_LISTED = "listed"
_MARK_BYTES = 500
_READ_AT_ONCE = 1 << 18
"""A slice of at most so many bytes is kept when keys are looked up in it for the first time."""


class _LookedUp(NamedTuple):
    """Records that keys were looked up once in a slice with this base file.

    With ``fits`` false, its keys have no room, and the slice is not read again in order to keep them.
    """

    base: tuple[str, int] | None
    fits: bool = True


@dataclass(frozen=True, slots=True)
class SliceCache:
    """What the *cache* of a table object has of the slices of one partition *path*."""

    cache: TableCache
    path: str

    def slices(self, visibility: Visibility) -> KnownSlices | None:
        """Return the slices as the last listing has shown them; None if there are none, or if they may not be."""
        found = None if visibility.logs_name_slices else self.cache.get((self.path, _LISTED), KnownSlices)
        return found if found is not None and found.is_usable(visibility) else None

    def is_listed_again(self) -> bool:
        """Return whether the partition has been listed before; a process writes to most tables only once."""
        key = self.path, _LISTED
        if self.cache.get(key, object) is not None:
            return True
        self.cache.put(key, _LISTED, _MARK_BYTES)
        return False

    def keep_slices(self, slices: KnownSlices) -> None:
        """Keep the slices of a listing, if there is room."""
        self.cache.put((self.path, _LISTED), slices, slices.size)

    def known(self, file_slice: FileSlice) -> SliceKeys | None:
        """Return the keys that are kept of *file_slice*, or None; keys of log files added since are not among them."""
        found = self.cache.get((self.path, file_slice.file_id), SliceKeys)
        return found if found is not None and found.is_before(file_slice) else None

    def should_read(self, file_slice: FileSlice) -> bool:
        """Return whether the keys of a slice that is not kept are to be read as a whole now.

        A small slice is read at the first look-up, a larger one at the second.
        """
        key, base = (self.path, file_slice.file_id), base_of(file_slice)
        found = self.cache.get(key, _LookedUp)
        if found is not None and found.base == base:
            return found.fits
        if file_slice.size <= _READ_AT_ONCE:
            return True
        self.cache.put(key, _LookedUp(base, fits=file_slice.size < self.cache.most), _MARK_BYTES)
        return False

    def keep(self, file_slice: FileSlice, keys: SliceKeys | None) -> None:
        """Keep the *keys* of a slice if there is room; None records that they cannot be kept."""
        key = self.path, file_slice.file_id
        if keys is None or not self.cache.put(key, keys, keys.size):
            self.cache.put(key, _LookedUp(base_of(file_slice), fits=False), _MARK_BYTES)

    def add_updates(self, file_slice: FileSlice, name: str, size: int) -> None:
        """Record that a log file of the slice has only further records of keys that were found in it."""
        found = self.known(file_slice)
        if found is not None:
            self.keep(file_slice, replace(found, logs=(*found.logs, LogFile(LogFileName.parse(name), size))))

    def footer(self, name: str, size: int) -> FileKeys | None:
        """Return the key range and filters of a base file, if they are kept."""
        return self.cache.get((self.path, name, size), FileKeys)

    def keep_footer(self, name: str, size: int, keys: FileKeys) -> None:
        """Keep the key range and filters of a base file; a filter is in memory as text and as bits."""
        self.cache.put((self.path, name, size), keys, _MARK_BYTES + 2 * len(keys.filter_text or ""))
