"""Calls that happen only after a while."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial

import pytest

from hudiformat.write.commit.heartbeats import Delayed, DelayedCalls


@pytest.fixture
def calls() -> Iterator[DelayedCalls]:
    """Return calls whose thread looks all the time."""
    made = DelayedCalls(look_again=0.001)
    yield made
    wait_for_end(made)


def wait_for_end(calls: DelayedCalls) -> None:
    """Wait until the thread of *calls* has ended."""
    if (thread := calls.thread) is not None:
        thread.join(10)
    assert calls.thread is None


def test_a_call_happens_after_its_delay_and_once(calls: DelayedCalls) -> None:
    called = threading.Semaphore(0)
    one = Delayed(called.release, 0.01, calls=calls)
    assert called.acquire(timeout=10)
    one.call()
    assert not called.acquire(blocking=False)


def test_what_is_stopped_before_is_not_called(calls: DelayedCalls) -> None:
    called: list[str] = []
    stopped = Delayed(partial(called.append, "stopped"), 0.05, calls=calls)
    stopped.stop()
    stopped.call()
    done = threading.Event()
    Delayed(done.set, 0.1, calls=calls)
    assert done.wait(10)
    assert called == []


def test_the_thread_ends_when_nothing_waits_and_another_one_begins(calls: DelayedCalls) -> None:
    first, second = threading.Event(), threading.Event()
    Delayed(first.set, 0, calls=calls)
    assert first.wait(10)
    wait_for_end(calls)
    Delayed(second.set, 0, calls=calls)
    assert second.wait(10)
