"""Different keys are counted exactly where they are few, and closely where they are many."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.spark.write.lookup.distinct import DistinctCounts, mix_hashes

NUMBERS = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 50)), max_size=60)


def counted(pairs: list[tuple[str, int]], most: int) -> DistinctCounts[str]:
    found: DistinctCounts[str] = DistinctCounts(most)
    for part, number in pairs:
        found.add(part, mix_hashes(np.array([number])))
    return found


@given(NUMBERS, NUMBERS)
def test_few_are_counted_exactly_also_where_two_have_counted(
    left: list[tuple[str, int]], right: list[tuple[str, int]]
) -> None:
    found = counted(left, 1000)
    found.merge(counted(right, 1000))
    assert found.counts() == {part: len({one for of, one in left + right if of == part}) for part, _ in left + right}


@given(NUMBERS, NUMBERS)
def test_a_sample_of_two_is_the_sample_of_all(left: list[tuple[str, int]], right: list[tuple[str, int]]) -> None:
    found = counted(left, 8)
    found.merge(counted(right, 8))
    assert found.counts() == counted(left + right, 8).counts()


def test_many_are_counted_closely_however_often_they_come() -> None:
    found: DistinctCounts[str] = DistinctCounts()
    for start in range(0, 1_000_000, 100_000):
        found.add("p", mix_hashes(np.arange(start, start + 200_000)))
    assert found.counts()["p"] == pytest.approx(1_100_000, rel=0.02)
