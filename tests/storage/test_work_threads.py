"""Threads that make calls, and that help each other."""

from __future__ import annotations

import threading

import pytest

from hudiformat.storage.threads import NO_THREADS, WorkThreads


def here() -> int:
    return threading.get_ident()


def test_without_threads_calls_are_made_at_once() -> None:
    made: list[int] = []
    assert not NO_THREADS.exist
    assert NO_THREADS.submit(lambda: made.append(here())).result() is None
    assert NO_THREADS.share(lambda: made.append(here()))() is None
    assert made == [here()] * 2
    NO_THREADS.stop()


def test_a_free_thread_takes_over_a_part_of_another_thread() -> None:
    threads = WorkThreads(2)
    assert threads.exist
    begun = threading.Event()

    def begin() -> bool:
        begun.set()
        return True

    def whole() -> tuple[int, int]:
        part = threads.share(lambda: begin() and here())
        assert begun.wait(30)  # though nobody waits for the part yet
        return here(), part()

    first, second = threads.submit(whole).result()
    assert len({first, second, here()}) == 3
    threads.stop()


def test_a_thread_makes_its_own_calls_while_no_other_is_free() -> None:
    threads = WorkThreads(2)
    busy, may_end = threading.Event(), threading.Event()

    def wait() -> bool:
        busy.set()
        return may_end.wait(30)

    other = threads.submit(wait)
    assert busy.wait(30)
    assert len({*threads.submit(lambda: [here(), threads.share(here)()]).result()}) == 1
    may_end.set()
    assert other.result()
    threads.stop()


def test_a_call_that_no_thread_begins_is_made_by_the_one_that_waits_for_it() -> None:
    threads = WorkThreads(2)
    may_end = threading.Event()
    waits = [threads.share(lambda: may_end.wait(30) and here()) for _ in range(2)]  # both threads were free
    late = threads.submit(here)
    part = threads.share(here)  # nothing is free: it is made now
    assert part() == here()
    may_end.set()
    assert here() not in {one() for one in waits} | {late.result()}
    threads.stop()


def test_after_a_failed_write_the_rest_is_made_by_the_one_that_asks() -> None:
    threads = WorkThreads(2)
    threads.stop()
    with pytest.raises(RuntimeError, match="shutdown"):
        threads.submit(here)
    assert threads.share(here)() == here()


def test_what_a_call_raises_the_one_that_waits_gets() -> None:
    threads = WorkThreads(2)
    result = threads.share(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        result()
    threads.stop()
