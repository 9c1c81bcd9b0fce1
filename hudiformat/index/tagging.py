"""Which file group each record of a partition belongs to.  Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudiformat.merge import number_keys

NEW = -1
"""The code of a record that is in no file group yet."""

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Tags:
    """``codes[i]`` is the place in ``file_ids`` of a file group that record ``rows[i]`` belongs to, or NEW.

    Every record is there once, or once for each of several file groups that have its key.  ``existing`` says of each
    file group whether it was there before this write.
    """

    rows: Integers
    codes: Integers
    file_ids: tuple[str, ...]
    existing: tuple[bool, ...]


def bucket_tags(buckets: npt.NDArray[np.integer], known: Mapping[int, str], new_ids: Mapping[int, str]) -> Tags:
    """Tags by bucket number: a bucket's file group is the one it has, else the new one.

    Source: HoodieSimpleBucketIndex.
    """
    numbers, codes = np.unique(buckets, return_inverse=True)
    return Tags(
        rows=np.arange(len(codes)),
        codes=codes.astype(np.int64),
        file_ids=tuple(known.get(int(number)) or new_ids[int(number)] for number in numbers),
        existing=tuple(int(number) in known for number in numbers),
    )


def merged_tags(every: Sequence[Tags], count: int) -> Tags:
    """The tags of *count* records out of look-ups in several places; NEW is who is in none of them."""
    if len(every) == 1:
        return every[0]
    file_ids = tuple(dict.fromkeys(file_id for tags in every for file_id in tags.file_ids))
    code_of = {file_id: code for code, file_id in enumerate(file_ids)}
    found = []
    for tags in every:
        codes = np.array([code_of[file_id] for file_id in tags.file_ids], np.int64)
        known = tags.codes != NEW
        found.append(tags.rows[known] * len(file_ids) + codes[tags.codes[known]])
    pairs = np.unique(np.concatenate([np.empty(0, np.int64), *found]))
    rows, codes = np.divmod(pairs, max(len(file_ids), 1))
    new = np.setdiff1d(np.arange(count), rows)
    order = np.argsort(np.concatenate([rows, new]), kind="stable")
    return Tags(
        rows=np.concatenate([rows, new])[order],
        codes=np.concatenate([codes, np.full(len(new), NEW)])[order],
        file_ids=file_ids,
        existing=(True,) * len(file_ids),
    )


class KnownKeys:
    """The record keys of a partition's file groups, to look records up among, batch after batch.

    A key in several file groups, which inserts may lead to, is tagged with each of them; a key in none is NEW.

    Source: HoodieSimpleIndex.tagLocationInternal, a join.
    """

    def __init__(self, keys: Mapping[str, pa.Array]) -> None:
        self._file_ids = tuple(keys)
        every = pa.chunked_array(list(keys.values()), pa.string())
        owners = np.repeat(np.arange(len(keys)), [len(group) for group in keys.values()])
        numbers, self._index = number_keys(every)
        # Each distinct key with each of its owners, once, in the order of the keys.
        pairs = np.sort(numbers * max(len(keys), 1) + owners)
        of_key, self._owners = np.divmod(pairs[np.diff(pairs, prepend=-1) != 0], max(len(keys), 1))
        self._counts = np.bincount(of_key, minlength=len(self._index))
        self._first = np.cumsum(self._counts) - self._counts

    def tag(self, keys: pa.Array) -> Tags:
        """The file groups of each of *keys*."""
        found, numbers = self._index.find(pa.chunked_array([keys]))
        number_of = np.full(len(keys), NEW, dtype=np.int64)
        number_of[found] = numbers
        times = np.ones(len(keys), dtype=np.int64)
        times[found] = self._counts[numbers]
        rows = np.repeat(np.arange(len(keys)), times)
        which = np.arange(len(rows)) - np.repeat(np.cumsum(times) - times, times)
        is_known = number_of[rows] != NEW
        codes = np.full(len(rows), NEW, dtype=np.int64)
        codes[is_known] = self._owners[self._first[number_of[rows[is_known]]] + which[is_known]]
        return Tags(rows=rows, codes=codes, file_ids=self._file_ids, existing=(True,) * len(self._file_ids))
