"""What a table object remembers between operations."""

from __future__ import annotations

from hudiformat.table.cache import TableCache


def test_what_is_kept_is_there_until_another_value_takes_its_place() -> None:
    kept = TableCache(100)
    assert kept.get("a", int) is None
    assert kept.put("a", 1, 60)
    assert kept.get("a", int) == 1
    assert kept.put("a", 2, 100)
    assert kept.get("a", int) == 2


def test_a_value_that_does_not_fit_is_not_kept_and_drives_out_nothing_of_the_last_two_operations() -> None:
    kept = TableCache(100)
    kept.put("a", 1, 60)
    kept.begin()
    assert not kept.put("b", 2, 60)
    assert (kept.get("a", int), kept.get("b", int)) == (1, None)


def test_what_the_last_two_operations_have_not_used_makes_room() -> None:
    kept = TableCache(100)
    kept.put("unused", 1, 60)
    kept.put("used", 2, 30)
    for _ in range(2):
        kept.begin()
        kept.get("used", int)
    assert kept.put("new", 3, 60)
    assert [kept.get(name, int) for name in ("unused", "used", "new")] == [None, 2, 3]


def test_a_value_that_no_longer_fits_is_gone() -> None:
    kept = TableCache(100)
    kept.put("a", 1, 60)
    assert not kept.put("a", 2, 101)
    assert kept.get("a", int) is None


def test_a_value_of_another_class_is_not_found() -> None:
    kept = TableCache(100)
    kept.put("a", 1, 60)
    assert kept.get("a", str) is None
