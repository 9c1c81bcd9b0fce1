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
    """``codes[i]`` is the place of record i's file group in ``file_ids``, or NEW.

    ``existing`` says of each file group whether it was there before this write.
    """

    codes: Integers
    file_ids: tuple[str, ...]
    existing: tuple[bool, ...]


def bucket_tags(buckets: npt.NDArray[np.integer], known: Mapping[int, str], new_ids: Mapping[int, str]) -> Tags:
    """Tags by bucket number: a bucket's file group is the one it has, else the new one.

    Source: HoodieSimpleBucketIndex.
    """
    numbers, codes = np.unique(buckets, return_inverse=True)
    return Tags(
        codes=codes.astype(np.int64),
        file_ids=tuple(known.get(int(number)) or new_ids[int(number)] for number in numbers),
        existing=tuple(int(number) in known for number in numbers),
    )


def lookup_tags(keys: pa.Array, known: Mapping[str, pa.Array]) -> Tags:
    """Tags by looking *keys* up among the record keys of each file group; a key in none of them is NEW.

    Source: HoodieSimpleIndex.
    """
    file_ids = tuple(known)
    groups = [known[file_id] for file_id in file_ids]
    owners = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    every = pa.chunked_array(groups, pa.string()).combine_chunks()
    found = np.asarray(pc.fill_null(pc.index_in(keys, value_set=every), NEW)).astype(np.int64)
    codes = np.where(found == NEW, NEW, owners[np.maximum(found, 0)] if len(owners) else NEW)
    return Tags(codes=codes.astype(np.int64), file_ids=file_ids, existing=(True,) * len(file_ids))
