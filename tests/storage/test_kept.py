"""What is kept between operations."""

from __future__ import annotations

from hudiformat.storage import Kept


def test_what_is_kept_is_there_until_another_value_takes_its_place() -> None:
    kept = Kept(100)
    assert kept.get("a") is None
    assert kept.put("a", 1, 60)
    assert kept.get("a") == 1
    assert kept.put("a", 2, 100)
    assert kept.get("a") == 2


def test_a_value_that_does_not_fit_is_not_kept_and_drives_out_nothing_of_the_last_two_operations() -> None:
    kept = Kept(100)
    kept.put("a", 1, 60)
    kept.begin()
    assert not kept.put("b", 2, 60)
    assert (kept.get("a"), kept.get("b")) == (1, None)


def test_what_the_last_two_operations_have_not_used_makes_room() -> None:
    kept = Kept(100)
    kept.put("unused", 1, 60)
    kept.put("used", 2, 30)
    for _ in range(2):
        kept.begin()
        kept.get("used")
    assert kept.put("new", 3, 60)
    assert [kept.get(name) for name in ("unused", "used", "new")] == [None, 2, 3]


def test_a_value_that_no_longer_fits_is_gone() -> None:
    kept = Kept(100)
    kept.put("a", 1, 60)
    assert not kept.put("a", 2, 101)
    assert kept.get("a") is None
