"""Looking record keys up among those of file groups.  Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudiformat.index.rows import NOT_IN_BASE_FILE, Integers
from hudiformat.merge import KeyIndex

NEW = -1
"""The code of a record that is in no file group yet."""


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
    """The tags of *count* records out of look-ups in several file groups each; NEW is who is in none of them."""
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

    *base_rows* says how many of a group's keys are those of its base file; they come first, in the file's order.  A key
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
        places = first - starts[self._owners]
        self._positions = np.where(places < in_base[self._owners], places, NOT_IN_BASE_FILE)

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
