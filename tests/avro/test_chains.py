"""Chains that are followed at many places at once, and those that cannot be."""

from __future__ import annotations

import numpy as np
import pytest

from hudiformat.avro.arrays import Bytes, Longs, Mask
from hudiformat.avro.framing import follow

COUNT = 2048
DATA = np.tile(np.array([9, 1, 1, 1], np.uint8), COUNT)  # a link is a 9 and three bytes


def _begins(first: Bytes, _second: Bytes) -> Mask:
    mask: Mask = first == 9
    return mask


def _step(places: Longs) -> Longs:
    return places + 4


def test_all_links_are_found() -> None:
    places = follow(DATA, COUNT, _step, _begins, most=16)
    assert places is not None
    assert places.tolist() == list(range(0, len(DATA) + 1, 4))


@pytest.mark.parametrize("count", [COUNT - 1, COUNT + 1])
def test_a_wrong_count_is_not_believed(count: int) -> None:
    assert follow(DATA, count, _step, _begins, most=16) is None


def test_chains_that_pass_each_other_are_given_up() -> None:
    assert follow(DATA, COUNT, lambda places: places + 6, _begins, most=16) is None


def test_chains_that_stand_still_are_given_up() -> None:
    assert follow(DATA, COUNT, lambda places: places + (places == 0), _begins, most=16) is None


def test_places_from_which_nothing_follows_are_given_up() -> None:
    assert follow(DATA, COUNT, lambda places: places + 10_000, _begins, most=16) is None
    assert follow(DATA, COUNT, _step, lambda first, _: first == 7, most=16) is None


def test_places_that_are_too_few_are_given_up() -> None:
    data = DATA.copy()
    data[len(data) // 2 :] = 1
    assert follow(data, COUNT, _step, _begins, most=16) is None


def test_links_too_long_for_a_window_are_given_up() -> None:
    assert follow(np.zeros(COUNT << 14, np.uint8), COUNT, _step, _begins, most=16) is None
