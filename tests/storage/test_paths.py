"""What every storage refuses; that it does, also for each of its methods, is in test_protocol.py."""

from __future__ import annotations

import pytest

from hudiformat.errors import StorageError
from hudiformat.storage.protocol import check_path

REFUSED = [
    "..",
    "../outside",
    "a/../../outside",
    "a/..",
    "/etc/passwd",
    "/",
    "//",
    "a//b",
    "a/",
    ".",
    "./a",
    "a/./b",
    "a\0b",
    "\0",
    "a/\ud800",
    "\udcff",
    "../\n",
]


@pytest.mark.parametrize("path", REFUSED)
def test_a_path_that_leads_out_or_is_none_is_refused(path: str) -> None:
    with pytest.raises(StorageError, match="refused the path .* below /table: expected names") as caught:
        check_path(path, "/table")
    assert caught.value.path is not None
    caught.value.path.encode()


@pytest.mark.parametrize(
    "path", ["", "a", "a/b", "...", ".a", "a..b/..c", "a=%2F", "ü/\U0001f600", ".hoodie/.temp/x", "a\n"]
)
def test_a_path_below_the_root_is_returned_as_it_is(path: str) -> None:
    assert check_path(path, "/table") == path


def test_a_long_path_is_not_shown_whole() -> None:
    with pytest.raises(StorageError) as caught:
        check_path("../" * 100_000, "/table")
    assert len(str(caught.value)) < 1000
