"""Parts of a query are read side by side, and what they hold comes in order."""

from __future__ import annotations

import threading
from collections.abc import Generator
from functools import partial

import pytest

from hudiformat.read.ahead import Bounds, Part, read_in_order

WHOLE = Bounds(threads=3, cost=100, held=None)
PIECES = Bounds(threads=3, cost=100, held=2)


class Seen:
    """What was read, in which thread, and which generators were closed."""

    def __init__(self) -> None:
        self.read: list[tuple[int, int]] = []
        self.threads: set[str] = set()
        self.ended: list[int] = []

    def items(self, part: int, count: int, fails_at: int | None = None) -> Generator[tuple[int, int], None, None]:
        try:
            for number in range(count):
                self.threads.add(threading.current_thread().name)
                if number == fails_at:
                    raise ValueError(f"part {part}")
                self.read.append((part, number))
                yield part, number
        finally:
            self.ended.append(part)

    def parts(self, *counts: int, fails: dict[int, int] | None = None, cost: int = 1) -> list[Part[tuple[int, int]]]:
        return [
            Part(partial(self.items, part, count, (fails or {}).get(part)), cost) for part, count in enumerate(counts)
        ]


def left_over() -> list[str]:
    return [one.name for one in threading.enumerate() if one.name.startswith("hudiformat-read")]


@pytest.mark.parametrize("bounds", [WHOLE, PIECES, Bounds(1, 100, None), Bounds(2, 0, 1)], ids=str)
@pytest.mark.parametrize("counts", [(), (0,), (3,), (2, 0, 5, 1), (0, 0, 4), tuple(range(20))], ids=str)
def test_items_come_in_order(counts: tuple[int, ...], bounds: Bounds) -> None:
    seen = Seen()
    expected = [(part, number) for part, count in enumerate(counts) for number in range(count)]
    assert list(read_in_order(seen.parts(*counts), bounds, lambda _: 1)) == expected
    assert sorted(seen.read) == expected
    assert sorted(seen.ended) == list(range(len(counts)))
    assert left_over() == []


def test_several_parts_are_read_at_the_same_time() -> None:
    both = threading.Barrier(2, timeout=20)

    def meet(part: int) -> Generator[int, None, None]:
        both.wait()
        yield part

    parts = [Part(partial(meet, part), 1) for part in range(2)]
    assert list(read_in_order(parts, WHOLE, lambda _: 1)) == [0, 1]


@pytest.mark.parametrize("bounds", [WHOLE, PIECES])
def test_an_error_comes_when_its_turn_has_come(bounds: Bounds) -> None:
    seen, found = Seen(), []
    with pytest.raises(ValueError, match="part 1"):  # noqa: PT012 - the items before it are looked at too
        for item in read_in_order(seen.parts(3, 3, 3, fails={1: 2, 2: 0}), bounds, lambda _: 1):
            found.append(item)  # noqa: PERF402 - those before the error
    assert found == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]
    assert set(seen.ended) >= {0, 1}
    assert left_over() == []


@pytest.mark.parametrize("taken", [0, 1, 2, 5])
@pytest.mark.parametrize("bounds", [WHOLE, PIECES])
def test_what_is_closed_half_read_leaves_nothing(bounds: Bounds, taken: int) -> None:
    seen = Seen()
    items = read_in_order(seen.parts(*[4] * 10), bounds, lambda _: 1)
    for _ in range(taken):
        next(items)
    items.close()
    assert left_over() == []
    assert {part for part, _ in seen.read} == set(seen.ended)


def test_nothing_is_read_ahead_for_the_first_item() -> None:
    seen = Seen()
    items = read_in_order(seen.parts(4, 4), PIECES, lambda _: 1)
    assert next(items) == (0, 0)
    assert seen.read == [(0, 0)]
    assert seen.threads == {threading.current_thread().name}
    assert len(list(items)) == 7


def test_parts_are_put_down_after_so_many_bytes() -> None:
    seen = Seen()
    items = read_in_order(seen.parts(*[100] * 3), PIECES, lambda _: 1)
    next(items)
    next(items)
    items.close()
    by_part = [sum(part == one for part, _ in seen.read) for one in range(3)]
    assert by_part[0] <= 5, "one, a step that was taken and the next"
    assert by_part[1:] <= [2, 2]


def test_parts_whose_costs_are_too_high_wait() -> None:
    seen = Seen()
    items = read_in_order(seen.parts(*[3] * 4, cost=60), WHOLE, lambda _: 1)
    next(items)
    assert {part for part, _ in seen.read} == {0}
    assert len(list(items)) == 11
