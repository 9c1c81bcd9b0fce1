"""Find the file groups of a partition by bucket number.

Source: HoodieSimpleBucketIndex, HoodieConsistentBucketIndex, BucketIdentifier, NumBucketsFunction, Hudi 1.2.0;
spec/bucket-index.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudiformat.errors import CorruptTableError, OptionError
from hudiformat.file_group.slices import FileSlice
from hudiformat.naming.bucket_hash import record_key_buckets
from hudiformat.naming.file_names import bucket_file_id, fixed_bucket_file_id, join_path, new_bucket_uuid, parse_bucket
from hudiformat.storage.protocol import Storage
from hudiformat.table.options.buckets import BucketEngine
from hudiformat.write.commit.plan import WritePlan
from hudiformat.write.index.hash_ring import HashRing, first_ring, ring_of
from hudiformat.write.rows import Integers, Locations


class Buckets(Protocol):
    """The buckets of one partition, numbered from 0."""

    def numbers(self, record_keys: pa.Array) -> npt.NDArray[np.integer]:
        """Return the bucket number of each record key."""
        ...

    def number_of(self, file_id: str) -> int | None:
        """Return the bucket number of a file group; None if it belongs to no bucket."""
        ...

    def new_id(self, number: int) -> str:
        """Return the file id of a bucket that the write opens."""
        ...


def buckets_of(storage: Storage, plan: WritePlan, path: str) -> Buckets:
    """Return the buckets of a partition, as the write found them.

    Raises:
        CorruptTableError: the table's own record of its buckets is damaged.
    """
    if plan.options.bucket_engine is BucketEngine.SIMPLE:
        return SimpleBuckets(plan, path, buckets_in(plan, path))
    return RingBuckets(plan, _RINGS.get(storage, plan, path))


def buckets_in(plan: WritePlan, path: str) -> int:
    """Return how many buckets a partition has at first."""
    return plan.options.bucketing.count_in(path, plan.options.num_buckets)


@dataclass(frozen=True, slots=True)
class SimpleBuckets:
    """Buckets by the remainder of the hash."""

    plan: WritePlan
    path: str
    count: int

    def numbers(self, record_keys: pa.Array) -> npt.NDArray[np.integer]:
        """Return the bucket number of each record key."""
        return record_key_buckets(record_keys, _hash_fields(self.plan), self.count)

    def number_of(self, file_id: str) -> int | None:
        """Return the bucket number with which a file id begins."""
        number = parse_bucket(file_id)
        return None if number is None or number >= self.count else number

    def new_id(self, number: int) -> str:
        """Return the file id of a bucket that the write opens."""
        plan, path = self.plan, self.path
        if not plan.options.concurrency.is_non_blocking:
            return bucket_file_id(number, new_bucket_uuid(plan.instant, path, number))
        # Other writers may be opening the same bucket, and all must open the same file group, so its id is computed.
        # An id of a group that was removed from the table is skipped: a new group with that id would be hidden.
        ids = (fixed_bucket_file_id(number, index) for index in count())
        return next(one for one in ids if not plan.visibility.is_replaced(path, one, None))


@dataclass(frozen=True, slots=True)
class RingBuckets:
    """Buckets by the range that the hash falls into; each bucket has its file id from the beginning."""

    plan: WritePlan
    ring: HashRing

    def numbers(self, record_keys: pa.Array) -> npt.NDArray[np.integer]:
        """Return the bucket number of each record key."""
        return self.ring.numbers(record_keys, _hash_fields(self.plan))

    def number_of(self, file_id: str) -> int | None:
        """Return the number of the bucket that has a file id."""
        return self.ring.number_of(file_id)

    def new_id(self, number: int) -> str:
        """Return the file id of the bucket."""
        return self.ring.nodes[number].file_id


class _Rings:
    """The rings that this process has read for its newest write; they do not change until that write is over."""

    def __init__(self) -> None:
        self._newest: tuple[WritePlan | None, dict[str, HashRing]] = (None, {})

    def get(self, storage: Storage, plan: WritePlan, path: str) -> HashRing:
        """Return the ring of a partition, which is read once per write."""
        of, known = self._newest
        if of is not plan:
            known = {}
        if path not in known:
            known[path] = ring_of(storage, path, plan.visibility) or first_ring(storage, path, buckets_in(plan, path))
        self._newest = plan, known
        return known[path]


_RINGS = _Rings()


def numbers_by_path(
    storage: Storage, plan: WritePlan, record_keys: pa.Array, rows_by_path: Mapping[str, Integers]
) -> Integers:
    """Return the bucket number of each record key; *rows_by_path* has the rows of each partition path."""
    numbers = np.zeros(len(record_keys), np.int64)
    for path, rows in rows_by_path.items():
        numbers[rows] = buckets_of(storage, plan, path).numbers(record_keys.take(pa.array(rows)))
    return numbers


def locate_by_bucket(buckets: npt.NDArray[np.integer], group_of: Callable[[int], tuple[str, bool]]) -> Locations:
    """Return tags for bucket numbers; *group_of* returns a bucket's file group, and whether it existed before.

    For example, three rows whose buckets are 7, 2 and 7, with the file groups b2 and b7:

        numbers           2  7        the distinct buckets
        code_of[2], [7]   0  1        the place of each among them
        codes             1  0  1     the place of each row's bucket
        file_ids          b2 b7
    """
    numbers = np.flatnonzero(np.bincount(buckets))
    code_of = np.zeros(int(numbers.max(initial=0)) + 1, np.int64)
    code_of[numbers] = np.arange(len(numbers))
    found = [group_of(number) for number in numbers.tolist()]
    return Locations(
        rows=np.arange(len(buckets)),
        codes=code_of[buckets],
        file_ids=tuple(file_id for file_id, _ in found),
        existing=tuple(existing for _, existing in found),
    )


def existing_buckets(plan: WritePlan, buckets: Buckets, path: str, slices: Sequence[FileSlice]) -> dict[int, str]:
    """Return the file ids of the buckets that a partition already has.

    Raises:
        OptionError: a file group belongs to none of the buckets that the options describe.
        CorruptTableError: two file groups have the same bucket.
    """
    found: dict[int, str] = {}
    for file_slice in slices:
        number = buckets.number_of(file_slice.file_id)
        if number is None:
            raise OptionError(
                f"the file group {file_slice.file_id} in partition {path!r}: expected one of "
                f"{buckets_in(plan, path)} buckets, found none of them; set hoodie.index.type, "
                "hoodie.index.bucket.engine and hoodie.bucket.index.num.buckets to the values "
                "that the table was written with",
                option="hoodie.bucket.index.num.buckets",
            )
        if number in found:
            raise CorruptTableError(
                f"{plan.root}: expected one file group for bucket {number} of partition {path!r}, "
                f"found {found[number]} and {file_slice.file_id}, and both may have a row of one key; "
                "overwrite the partition with what it should have",
                path=join_path(plan.root, path),
            )
        found[number] = file_slice.file_id
    return found


def _hash_fields(plan: WritePlan) -> tuple[str, ...]:
    return tuple(plan.options.hash_fields or plan.config.record_key_fields)
