"""The record keys of file groups, to look records up among, and what a table object keeps of them between its commits.

``GroupKeys`` gathers the keys of a file group, ``KnownKeys`` finds records among those of several, ``SliceKeys`` has
those of a slice from one commit to the next.  A slice is read as a whole, and kept, when its keys are looked up for the
second time: most tables are written once by a process.  From then on only the log files are read that came since.  A
base file is known by its name and size: its name has the instant of the write and the attempt at it, so no two files
ever have one name.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.file_group.base_file.file_keys import FileKeys
from hudiformat.file_group.merging.keys import KeyIndex
from hudiformat.file_group.slices import FileSlice, LogFile
from hudiformat.write.index.rows import NEW, NOT_IN_BASE_FILE, Integers, Tags


class GroupKeys:
    """Gathers record keys of a file group: first those of the base file, row by row, then those of log files.

    With *among* only keys that are in it are kept.
    """

    def __init__(self, *, among: pa.Array | None = None) -> None:
        self._among = among
        self._chunks = [no_keys()]
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
        self.keys = _chunked(group.keys for group in groups.values())
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

    def tags(self, keys: pa.Array) -> list[Tags]:
        """What the look-ups of *keys* find: here it is one."""
        return [self.tag(keys)]

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


def no_keys() -> pa.Array:
    """None at the import: the first array that Arrow makes imports pandas."""
    return pa.array([], pa.string())


_BESIDE_KEY = 48
"""Bytes per key of an index beside its text: hash, row, owner, position, and a view of the text."""


@dataclass(frozen=True)
class SliceKeys:
    """The keys of a slice, whose files are *base* and *logs* by name and size, and those that its log files delete.

    *base_keys* are found first; *added* are those of log files that the base file does not have.
    """

    file_id: str
    base: tuple[str, int] | None
    logs: frozenset[tuple[str, int]]
    base_keys: KnownKeys
    added: pa.Array
    deleted: pa.Array

    @property
    def size(self) -> int:
        """About how many bytes this has in memory."""
        arrays = (*self.base_keys.keys.chunks, self.added, self.deleted)
        return _MARK_BYTES * len(self.logs) + sum(int(array.nbytes) + _BESIDE_KEY * len(array) for array in arrays)

    @cached_property
    def _added_keys(self) -> KnownKeys:
        group = GroupKeys()
        group.add_logged(self.added)
        return KnownKeys({self.file_id: group})

    def is_before(self, file_slice: FileSlice, logs: frozenset[tuple[str, int]]) -> bool:
        """Whether *file_slice*, which has *logs*, is the same, or the same with further log files."""
        return self.base == base_of(file_slice) and self.logs <= logs

    def tags(self, keys: pa.Array) -> list[Tags]:
        """What the look-ups of *keys* find."""
        found = [self.base_keys.tag(keys)]
        return [*found, self._added_keys.tag(keys)] if len(self.added) else found

    @classmethod
    def of_base(cls, file_slice: FileSlice, base_keys: Iterable[pa.Array]) -> SliceKeys:
        """Those of the base file of a slice alone, which has *base_keys*."""
        group = GroupKeys()
        for keys in base_keys:
            group.add_base(keys)
        known = KnownKeys({file_slice.file_id: group})
        return cls(file_slice.file_id, base_of(file_slice), frozenset(), known, no_keys(), no_keys())

    def with_logs(self, further: Iterable[LogFile], keys: pa.ChunkedArray, deleted: pa.ChunkedArray) -> SliceKeys:
        """The same with *further* log files, which have rows with *keys*, and delete others."""
        distinct = keys.unique()
        known = np.zeros(len(distinct), np.bool_)
        for tags in self.tags(distinct):
            known[tags.rows[tags.codes != NEW]] = True
        new = distinct.filter(pa.array(~known))
        added = pa.concat_arrays([self.added, new]) if len(new) else self.added
        gone = pa.chunked_array([self.deleted, *deleted.chunks]).unique() if len(deleted) else self.deleted
        logs = self.logs.union((str(log.name), log.size) for log in further)
        changed = replace(self, logs=logs, added=added, deleted=gone)
        if added is self.added and "_added_keys" in self.__dict__:
            changed.__dict__["_added_keys"] = self._added_keys
        return changed


def base_of(file_slice: FileSlice) -> tuple[str, int] | None:
    """Name and size of the base file of a slice, if it has one."""
    base = file_slice.base_file
    return None if base is None else (str(base.name), base.size)


KEPT = "keys"
"""The place of what is kept in the store of a table object."""

_MOST_BYTES = 256 << 20


class _Entry(NamedTuple):
    value: Any
    size: int
    turn: int


class Kept:
    """Values by key, of at most *most* bytes; whoever keeps one says of which files it is, and checks that.

    An operation calls :meth:`begin`.  Where there is no room, what the last two operations have not used goes first.
    A value that still does not fit is not kept: values that only drove out each other would cost more than they save.
    """

    def __init__(self, most: int = _MOST_BYTES) -> None:
        self.most = most
        self._entries: dict[Hashable, _Entry] = {}
        self._size = 0
        self._turn = 0
        self._lock = threading.Lock()

    @classmethod
    def of(cls, store: dict[Any, Any]) -> Kept:
        """What is kept in *store*, which belongs to a table object."""
        kept: Kept = store.setdefault(KEPT, cls())
        return kept

    def begin(self) -> None:
        """Note that another operation begins."""
        with self._lock:
            self._turn += 1

    def get(self, key: Hashable) -> Any:
        """The value of *key*, or None."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries[key] = entry._replace(turn=self._turn)
            return entry.value

    def put(self, key: Hashable, value: Any, size: int) -> bool:
        """Keep *value*, of *size* bytes, instead of another one of *key*, where there is room; whether there was."""
        with self._lock:
            self._drop(key)
            if self._size + size > self.most:
                for old in [name for name, entry in self._entries.items() if entry.turn < self._turn - 1]:
                    self._drop(old)
            if self._size + size > self.most:
                return False
            self._entries[key] = _Entry(value, size, self._turn)
            self._size += size
            return True

    def _drop(self, key: Hashable) -> None:
        entry = self._entries.pop(key, None)
        self._size -= 0 if entry is None else entry.size


_MARK_BYTES = 500
_READ_AT_ONCE = 1 << 18
"""Bytes of a slice that is kept when its keys are looked up for the first time."""


class _Asked(NamedTuple):
    """Keys of a slice with this base file were looked up once; they are not read again in order to be kept."""

    base: tuple[str, int] | None
    fits: bool = True


@dataclass(frozen=True, slots=True)
class KeptSlices:
    """What is kept of the slices of one partition *path*."""

    kept: Kept
    path: str
    _logs: dict[str, tuple[FileSlice, frozenset[tuple[str, int]]]] = field(default_factory=dict)

    def _logs_of(self, file_slice: FileSlice) -> frozenset[tuple[str, int]]:
        """The log files of a slice, by name and size; they may be many, and are asked for a few times."""
        known = self._logs.get(file_slice.file_id)
        if known is None or known[0] is not file_slice:
            known = file_slice, frozenset((str(log.name), log.size) for log in file_slice.log_files)
            self._logs[file_slice.file_id] = known
        return known[1]

    def known(self, file_slice: FileSlice) -> SliceKeys | None:
        """The keys that are kept of *file_slice*; those of further log files are not among them."""
        found = self.kept.get((self.path, file_slice.file_id))
        return (
            found if isinstance(found, SliceKeys) and found.is_before(file_slice, self._logs_of(file_slice)) else None
        )

    def is_asked_again(self, file_slice: FileSlice) -> bool:
        """Whether the keys of a slice that is not kept shall be read as a whole now; a small one at the first call."""
        key, base = (self.path, file_slice.file_id), base_of(file_slice)
        found = self.kept.get(key)
        if isinstance(found, _Asked) and found.base == base:
            return found.fits
        if file_slice.size <= _READ_AT_ONCE:
            return True
        self.kept.put(key, _Asked(base, fits=file_slice.size < self.kept.most), _MARK_BYTES)
        return False

    def keep(self, file_slice: FileSlice, keys: SliceKeys | None) -> None:
        """Keep the *keys* of a slice where there is room; None where they cannot be kept."""
        key = self.path, file_slice.file_id
        if keys is None or not self.kept.put(key, keys, keys.size):
            self.kept.put(key, _Asked(base_of(file_slice), fits=False), _MARK_BYTES)

    def add_updates(self, file_slice: FileSlice, name: str, size: int) -> None:
        """Note that a log file of the slice has further records of keys that were found in it, and nothing else."""
        found = self.known(file_slice)
        if found is not None:
            self.keep(file_slice, replace(found, logs=found.logs | {(name, size)}))

    def footer(self, name: str, size: int) -> FileKeys | None:
        """The key range and filters of a base file, if they are kept."""
        found: FileKeys | None = self.kept.get((self.path, name, size))
        return found

    def keep_footer(self, name: str, size: int, keys: FileKeys) -> None:
        """Keep the key range and filters of a base file; a filter is there as a text and as bits."""
        self.kept.put((self.path, name, size), keys, _MARK_BYTES + 2 * len(keys.filter_text or ""))
