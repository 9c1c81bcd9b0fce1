"""Calls to a remote storage side by side."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from hudiformat import open_storage
from hudiformat.errors import StorageError
from hudiformat.storage.protocol import Storage
from hudiformat.storage.threads import side_by_side
from tests.requests import RemoteStorage

pytestmark = pytest.mark.unmeasured


@pytest.fixture
def near(tmp_path: Path) -> Storage:
    return open_storage(str(tmp_path))


def test_calls_to_a_remote_storage_are_made_at_the_same_time(near: Storage) -> None:
    together = threading.Barrier(5)

    def call(number: int) -> int:
        together.wait(30)  # for all five, or the barrier breaks
        return number * number

    assert list(side_by_side(RemoteStorage(near), call, range(5), at_once=5)) == [0, 1, 4, 9, 16]


def test_calls_to_a_local_storage_are_made_when_their_results_are_asked_for(near: Storage) -> None:
    made: list[int] = []
    results = side_by_side(near, made.append, range(5))
    next(results)
    assert made == [0]


def test_no_more_results_wait_than_calls_are_made_at_a_time(near: Storage) -> None:
    given = iter(range(100))
    results: Any = side_by_side(RemoteStorage(near), lambda number: number, given, at_once=4)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    assert next(given) <= 7
    results.close()


def test_an_error_comes_in_place_of_its_result(near: Storage) -> None:
    def call(number: int) -> int:
        if number == 2:
            raise StorageError("there is no file 2", path="2")
        return number

    results: Any = side_by_side(RemoteStorage(near), call, range(20), at_once=8)
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(StorageError, match="there is no file 2"):
        next(results)
    assert list(results) == []
