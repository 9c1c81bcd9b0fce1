"""Something that is done at intervals."""

from __future__ import annotations

import threading

from hudiformat import StorageError
from hudiformat.write.commit.ticking import Ticker


def test_it_goes_on_after_an_error_until_it_is_stopped() -> None:
    calls = 0
    enough = threading.Event()

    def act() -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            enough.set()
        raise StorageError("this time")

    ticker = Ticker(act, interval=0.001, name="test")
    ticker.start()
    assert enough.wait(10)
    ticker.stop()
    seen = calls
    assert not any(thread.name == "test" for thread in threading.enumerate())
    assert calls == seen


def test_one_that_never_began_is_stopped() -> None:
    calls: list[None] = []
    Ticker(lambda: calls.append(None), interval=0.001, name="test").stop()
    assert not any(thread.name == "test" for thread in threading.enumerate())
    assert calls == []
