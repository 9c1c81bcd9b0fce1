"""Which buckets are split and merged."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest

from hudiformat import CorruptTableError
from hudiformat.write.index.hash_ring import HashRing
from hudiformat.write.index.resizing import Resize, ResizeLimits, plan_resizes
from tests.sizing.support import group

LIMITS = ResizeLimits(split=100, merge=20, most=8, fewest=1)


def prefixes() -> Callable[[], str]:
    numbers = count()
    return lambda: f"new-{next(numbers)}"


def planned(sizes: dict[int, int], limits: ResizeLimits = LIMITS, *, sorts: bool = False) -> list[Resize]:
    """What becomes of buckets with slices of these sizes."""
    ring = HashRing.first("p", 4)
    slices = [group(ring.nodes[number].file_id, size) for number, size in sizes.items()]
    return plan_resizes(ring, slices, limits, prefixes(), sorts=sorts)


def shape(found: list[Resize]) -> list[tuple[list[int | None], list[str]]]:
    ring = HashRing.first("p", 4)
    return [([ring.number_of(one.file_id) for one in item.slices], [node.tag for node in item.nodes]) for item in found]


def test_large_buckets_are_split_as_long_as_there_may_be_more() -> None:
    sizes = {0: 101, 1: 100, 2: 500, 3: 900}
    assert shape(planned(sizes)) == [([number], ["REPLACE", "REPLACE"]) for number in (0, 2, 3)]
    limits = ResizeLimits(split=100, merge=20, most=6, fewest=4)
    assert shape(planned(sizes, limits=limits)) == [([number], ["REPLACE", "REPLACE"]) for number in (0, 2)]
    assert planned(sizes, limits=ResizeLimits(split=100, merge=20, most=2, fewest=2)) == []


def test_small_neighbours_are_merged_around_the_ring() -> None:
    assert shape(planned({0: 5, 1: 50, 2: 8, 3: 10})) == [([2, 3, 0], ["DELETE", "DELETE", "REPLACE"])]
    # together they may come to twice the limit: the third begins beyond it
    assert shape(planned(dict.fromkeys(range(4), 20))) == [([n, m], ["DELETE", "REPLACE"]) for n, m in ((3, 0), (1, 2))]
    assert shape(planned({0: 1, 1: 1, 2: 1, 3: 1})) == [([1, 2, 3, 0], ["DELETE", "DELETE", "DELETE", "REPLACE"])]


def test_as_many_buckets_are_left_as_there_have_to_be() -> None:
    limits = ResizeLimits(split=100, merge=20, most=8, fewest=3)
    assert shape(planned({0: 1, 1: 1, 2: 1, 3: 1}, limits=limits)) == [([3, 0], ["DELETE", "REPLACE"])]
    # a split makes room for a merge
    assert shape(planned({0: 1, 1: 1, 2: 1, 3: 101}, limits=limits)) == [
        ([3], ["REPLACE", "REPLACE"]),
        ([0, 1, 2], ["DELETE", "DELETE", "REPLACE"]),
    ]


def test_a_bucket_without_files_keeps_neighbours_apart() -> None:
    assert planned({0: 1, 2: 1}) == []
    assert planned({0: 1}) == []


def test_what_is_sorted_is_rewritten_bucket_by_bucket() -> None:
    assert shape(planned({0: 50, 1: 60}, sorts=True)) == [([0], ["REPLACE"]), ([1], ["REPLACE"])]


def test_a_file_group_of_no_bucket_is_damage() -> None:
    with pytest.raises(
        CorruptTableError, match="expected the file group x-0 in partition 'p' to be one of the partition's buckets"
    ):
        plan_resizes(HashRing.first("p", 2), [group("x-0", 1)], LIMITS, prefixes(), sorts=False)
