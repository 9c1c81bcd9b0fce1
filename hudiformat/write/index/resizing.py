"""Plan which buckets of a partition a clustering splits and merges, so that each file group has about one file's size.

Source: BaseConsistentHashingBucketClusteringPlanStrategy, Hudi 1.2.0; spec/bucket-index.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from hudiformat.errors import CorruptTableError
from hudiformat.file_group.slices import FileSlice
from hudiformat.write.index.hash_ring import REPLACE, HashRing, Node

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ResizeLimits:
    """Slices of more than ``split`` bytes are halved, up to ``most`` buckets; slices of up to ``merge`` are merged.

    At least ``fewest`` buckets stay in the partition.
    """

    split: int
    merge: int
    most: int
    fewest: int


@dataclass(frozen=True, slots=True)
class Resize:
    """File slices whose rows are rewritten into those buckets of *nodes* that have the tag REPLACE."""

    slices: tuple[FileSlice, ...]
    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class _Bucket:
    """A bucket with a file slice, and its number among the nodes."""

    number: int
    slice: FileSlice

    @property
    def size(self) -> int:
        return self.slice.size


def plan_resizes(
    ring: HashRing, slices: Sequence[FileSlice], limits: ResizeLimits, new_prefix: Callable[[], str], *, sorts: bool
) -> list[Resize]:
    """Return the splits, then the merges; with *sorts* also a rewrite of every other bucket.

    Raises:
        CorruptTableError: a slice belongs to none of the buckets.
    """
    buckets = [_Bucket(_number(ring, one), one) for one in slices]
    found, left = _splits(ring, buckets, limits, new_prefix)
    slots = max(len(ring.nodes) - limits.fewest + len(found), 0)
    merged, left = _merges(ring, left, limits.merge, slots, new_prefix)
    found += merged
    if sorts:
        found += [Resize((one.slice,), (Node(ring.nodes[one.number].value, new_prefix(), REPLACE),)) for one in left]
    return found


def _number(ring: HashRing, one: FileSlice) -> int:
    number = ring.number_of(one.file_id)
    if number is None:
        raise CorruptTableError(
            f"expected the file group {one.file_id} in partition {one.partition_path!r} to be one of the partition's "
            f"buckets as of {ring.instant}, and it is none of them",
            path=one.partition_path,
        )
    return number


def _splits(
    ring: HashRing, buckets: Sequence[_Bucket], limits: ResizeLimits, new_prefix: Callable[[], str]
) -> tuple[list[Resize], list[_Bucket]]:
    slots = limits.most - len(ring.nodes)
    found: list[Resize] = []
    left: list[_Bucket] = []
    for one in buckets:
        is_large = one.size > limits.split and len(found) < slots
        nodes = ring.split(one.number, (new_prefix(), new_prefix())) if is_large else None
        if nodes is None:
            left.append(one)
        else:
            found.append(Resize((one.slice,), nodes))
    return found, left


def _merges(
    ring: HashRing, buckets: Sequence[_Bucket], most: int, slots: int, new_prefix: Callable[[], str]
) -> tuple[list[Resize], list[_Bucket]]:
    """Return merges of runs of small neighbours around the ring, each as long as possible, and the buckets left."""
    waiting = sorted(buckets, key=lambda one: one.number)
    used: set[int] = set()
    found: list[Resize] = []
    for at, one in enumerate(waiting):
        if one.number in used or one.size > most:
            continue
        run = _find_run(ring, waiting, at, most=most, slots=slots, used=used)
        if len(run) > 1:
            slots -= len(run) - 1
            used |= {bucket.number for bucket in run}
            nodes = ring.merge([bucket.number for bucket in run], new_prefix())
            found.append(Resize(tuple(bucket.slice for bucket in run), nodes))
    return found, [one for one in waiting if one.number not in used]


def _find_run(
    ring: HashRing, buckets: Sequence[_Bucket], at: int, *, most: int, slots: int, used: set[int]
) -> list[_Bucket]:
    """Return a bucket with the neighbours that are merged with it: first those before it, then those after it."""
    run, total = [buckets[at]], buckets[at].size
    for step in (-1, 1):
        for following in _ring_order(buckets, at, step):
            end = run[0] if step < 0 else run[-1]
            is_neighbour = (end.number + step) % len(ring.nodes) == following.number
            is_small = total <= most and following.size <= most
            is_free = following.number not in used and following not in run
            if len(run) > slots or not (is_neighbour and is_small and is_free):
                break
            run = [following, *run] if step < 0 else [*run, following]
            total += following.size
    return run


def _ring_order(values: Sequence[T], at: int, step: int) -> Iterator[T]:
    """Return the other values in their order around a ring, forwards or backwards."""
    return (values[(at + step * distance) % len(values)] for distance in range(1, len(values)))
