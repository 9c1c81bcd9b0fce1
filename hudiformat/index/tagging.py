"""Which file group each record of a partition belongs to.  Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

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


def lookup_tags(keys: pa.Array, known: Mapping[str, pa.Array]) -> Tags:
    """Tags by looking *keys* up among the record keys of each file group; a key in none of them is NEW.

    A key in several file groups, which inserts may lead to, is tagged with each of them.

    Source: HoodieSimpleIndex.tagLocationInternal, a join.
    """
    file_ids = tuple(known)
    groups = [known[file_id] for file_id in file_ids]
    owners = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    every = pa.chunked_array(groups, pa.string()).combine_chunks()
    encoded = keys.dictionary_encode()
    found = np.asarray(pc.fill_null(pc.index_in(every, value_set=encoded.dictionary), NEW)).astype(np.int64)
    # Each distinct key with each of its owners, once, in the order of the keys.
    pairs = np.unique(np.stack([found, owners])[:, found != NEW], axis=1)
    counts = np.bincount(pairs[0], minlength=len(encoded.dictionary))
    first = np.cumsum(counts) - counts
    codes = np.asarray(encoded.indices).astype(np.int64)
    times = np.maximum(counts[codes], 1)
    rows = np.repeat(np.arange(len(codes)), times)
    which = np.arange(len(rows)) - np.repeat(np.cumsum(times) - times, times)
    is_known = counts[codes[rows]] > 0
    groups_of = np.full(len(rows), NEW, dtype=np.int64)
    groups_of[is_known] = pairs[1][(first[codes[rows]] + which)[is_known]]
    return Tags(rows=rows, codes=groups_of, file_ids=file_ids, existing=(True,) * len(file_ids))
