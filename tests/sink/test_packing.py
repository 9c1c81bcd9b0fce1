"""The groups of files that are merged into one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hudiformat.sink import Packing, pack

EXAMPLE = {"a": 5, "b": 4, "c": 7, "d": 11, "e": 2, "f": 3, "g": 4}


def packed(packing: Packing, target: int = 10) -> list[str]:
    return ["".join(group) for group in pack(list(EXAMPLE), EXAMPLE.__getitem__, target, packing)]


def test_next_fit_closes_a_group_when_the_next_file_does_not_fit() -> None:
    assert packed(Packing.NEXT_FIT) == ["ab", "c", "d", "efg"]


def test_first_fit_looks_back_at_the_open_groups() -> None:
    assert packed(Packing.FIRST_FIT) == ["ab", "ce", "d", "fg"]


def test_a_group_may_be_filled_to_the_last_byte() -> None:
    assert packed(Packing.NEXT_FIT, 9) == ["ab", "c", "d", "efg"]
    assert packed(Packing.NEXT_FIT, 8) == ["a", "b", "c", "d", "ef", "g"]


def test_first_fit_closes_the_oldest_of_more_than_ten_groups() -> None:
    sizes = [6, *[9] * 9, 4]
    assert pack(range(11), sizes.__getitem__, 10, Packing.FIRST_FIT) == [[0, 10], *([i] for i in range(1, 10))]
    sizes = [6, *[9] * 10, 4]
    assert pack(range(12), sizes.__getitem__, 10, Packing.FIRST_FIT) == [[i] for i in range(12)]


def test_no_files_make_no_groups() -> None:
    assert pack([], len, 10, Packing.NEXT_FIT) == []


@given(
    sizes=st.lists(st.integers(0, 30), max_size=60), target=st.integers(1, 30), packing=st.sampled_from(list(Packing))
)
def test_every_file_is_in_one_group_and_no_group_of_several_is_too_large(
    sizes: list[int], target: int, packing: Packing
) -> None:
    groups = pack(range(len(sizes)), sizes.__getitem__, target, packing)
    assert sorted(item for group in groups for item in group) == list(range(len(sizes)))
    assert all(len(group) == 1 or sum(sizes[item] for item in group) <= target for group in groups)
    if packing is Packing.NEXT_FIT:
        assert [item for group in groups for item in group] == list(range(len(sizes)))
