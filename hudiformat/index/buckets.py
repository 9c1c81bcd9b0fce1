"""File groups of a partition by bucket number.  Source: HoodieSimpleBucketIndex, BucketIdentifier, Hudi 1.2.0."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

import numpy as np
import numpy.typing as npt

from hudiformat.errors import CorruptTableError, OptionError
from hudiformat.index.rows import Tags
from hudiformat.naming import bucket_file_id, fixed_bucket_file_id, join_path, new_bucket_uuid, parse_bucket
from hudiformat.transaction import WritePlan
from hudiformat.view import FileSlice


def bucket_tags(buckets: npt.NDArray[np.integer], group_of: Callable[[int], tuple[str, bool]]) -> Tags:
    """Tags by bucket number; *group_of* gives a bucket's file group, and whether it existed before this write."""
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


def new_bucket(plan: WritePlan, path: str, number: int) -> str:
    """The file id of a bucket that this write opens."""
    if not plan.options.concurrency.is_non_blocking:
        return bucket_file_id(number, new_bucket_uuid(plan.instant, path, number))
    # Other writers may be opening the same bucket: it has to be the same file group.  One that was removed from the
    # table would hide the new one, if that had its id.
    ids = (fixed_bucket_file_id(number, index) for index in count())
    return next(one for one in ids if not plan.visibility.is_replaced(path, one, None))


def existing_buckets(plan: WritePlan, path: str, slices: Sequence[FileSlice]) -> dict[int, str]:
    """The file ids of the buckets that a partition has.

    Raises:
        OptionError: a file group is none of the buckets that the options name.
        CorruptTableError: two file groups have one bucket.
    """
    buckets: dict[int, str] = {}
    for file_slice in slices:
        number = parse_bucket(file_slice.file_id)
        if number is None or number >= plan.options.num_buckets:
            raise OptionError(
                f"the file group {file_slice.file_id} in partition {path!r} is none of "
                f"{plan.options.num_buckets} buckets; hoodie.index.type and hoodie.bucket.index.num.buckets "
                "have to be those that the table was written with",
                option="hoodie.bucket.index.num.buckets",
            )
        if number in buckets:
            raise CorruptTableError(
                f"{plan.root}: expected one file group for bucket {number} of partition {path!r}, "
                f"found {buckets[number]} and {file_slice.file_id}, and both may have a row of one key; "
                "overwrite the partition with what it should have",
                path=join_path(plan.root, path),
            )
        buckets[number] = file_slice.file_id
    return buckets
