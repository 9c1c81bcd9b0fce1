from __future__ import annotations

import gc

import pytest

from hudiformat.view import paused_collection


def test_collection_goes_on_afterwards_even_after_an_error() -> None:
    seen = []

    @paused_collection()
    def failing() -> None:
        seen.append(gc.isenabled())
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    assert (seen, gc.isenabled()) == ([False], True)


def test_collection_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with paused_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
