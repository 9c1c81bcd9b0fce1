"""Calls in another thread."""

from __future__ import annotations

import threading

import pytest

from hudiformat.storage.threads import BackgroundCalls


@pytest.mark.parametrize("apart", [True, False])
def test_calls_are_made_in_their_order(apart: bool) -> None:
    made: list[tuple[int, bool]] = []
    here = threading.get_ident()
    with BackgroundCalls(apart=apart) as behind:
        for number in range(10):
            behind.call(lambda given: made.append((given, threading.get_ident() == here)), number)
        behind.finish()
    assert made == [(number, not apart) for number in range(10)]


def test_what_a_call_raises_a_later_one_or_the_end_raises() -> None:
    def fail_first() -> None:
        with BackgroundCalls(apart=True) as behind:
            behind.call(lambda given: 1 // given, 0)
            for _ in range(3):
                behind.call(id, 0)
            behind.finish()

    with pytest.raises(ZeroDivisionError):
        fail_first()


def test_calls_that_wait_are_dropped_where_something_else_fails() -> None:
    made: list[int] = []
    begun, may_end = threading.Event(), threading.Event()

    def slow(given: int) -> None:
        begun.set()
        may_end.wait(10)
        made.append(given)

    def fail_meanwhile() -> None:
        with BackgroundCalls(apart=True) as behind:
            behind.call(slow, 1)
            behind.call(slow, 2)
            begun.wait(10)
            threading.Timer(0.05, may_end.set).start()
            raise KeyError

    with pytest.raises(KeyError):
        fail_meanwhile()
    assert made == [1]
