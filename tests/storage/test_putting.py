"""Objects created in one request, or not at all."""

from __future__ import annotations

import pytest

from hudiformat.errors import StorageError
from hudiformat.storage import Capabilities, open_storage


def test_without_conditional_puts_a_file_is_still_created_whole_and_once(
    bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    storage = open_storage(f"{bucket}/table")
    assert storage.capabilities == Capabilities()
    storage.create("file", b"first")
    with pytest.raises(StorageError, match="File exists"):
        storage.create("file", b"second")
    assert storage.read("file") == b"first"


def test_of_two_that_look_before_either_creates_one_is_refused_by_the_server(
    bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = open_storage(f"{bucket}/table")
    storage.create("file", b"first")
    monkeypatch.setattr(storage, "exists", lambda _path: False)  # what the second saw, a moment ago
    with pytest.raises(StorageError, match="cannot create .*file: File exists"):
        storage.create("file", b"second")
    assert storage.read("file") == b"first"
