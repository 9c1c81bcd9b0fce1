"""Calls that happen only after a while."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from hudiformat.write.commit import heartbeats
from hudiformat.write.commit.heartbeats import Delayed


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The thread of this test looks all the time; that of others goes on."""
    monkeypatch.setattr(heartbeats, "_LOOK_AGAIN", 0.001)
    monkeypatch.setattr(heartbeats, "_waiting", {})
    monkeypatch.setattr(heartbeats, "_thread", None)
    yield
    if (thread := heartbeats._thread) is not None:
        thread.join(10)


def test_a_call_happens_after_its_delay_and_once() -> None:
    called = threading.Semaphore(0)
    one = Delayed(called.release, 0.01)
    assert called.acquire(timeout=10)
    one.call()
    assert not called.acquire(blocking=False)


def test_what_is_stopped_before_is_not_called() -> None:
    called: list[str] = []
    stopped = Delayed(lambda: called.append("stopped"), 0.05)
    stopped.stop()
    stopped.call()
    done = threading.Event()
    Delayed(done.set, 0.1)
    assert done.wait(10)
    assert called == []


def test_the_thread_ends_when_nothing_waits_and_another_one_begins() -> None:
    first, second = threading.Event(), threading.Event()
    Delayed(first.set, 0)
    assert first.wait(10)
    if (thread := heartbeats._thread) is not None:
        thread.join(10)
    assert heartbeats._thread is None
    Delayed(second.set, 0)
    assert second.wait(10)
