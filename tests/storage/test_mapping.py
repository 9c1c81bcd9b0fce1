"""Mapped files, and which of their pages are released."""

from __future__ import annotations

import mmap
from pathlib import Path

import pytest

from hudiformat.errors import StorageError
from hudiformat.storage import mapping
from hudiformat.storage.local import LocalStorage
from hudiformat.storage.mapping import PageReleaser, release_pages

PAGE = mmap.PAGESIZE
SIZE = 20 * PAGE + 5


def _open_files() -> int:
    return sum(1 for _ in Path("/dev/fd").iterdir())


Given = list[tuple[int, int]]


@pytest.fixture
def view(tmp_path: Path) -> memoryview:
    (tmp_path / "file").write_bytes(b"x" * SIZE)
    return LocalStorage(tmp_path).map("file")


@pytest.fixture
def given(view: memoryview, monkeypatch: pytest.MonkeyPatch) -> Given:
    """What is given back: offsets in the file, and lengths."""
    given: Given = []
    release = mapping._release

    def spy(address: int, length: int) -> None:
        given.append((address - mapping._map_of(view).address, length))
        release(address, length)

    monkeypatch.setattr(mapping, "_release", spy)
    return given


def test_pages_are_given_back_a_stride_at_a_time_with_a_margin(view: memoryview, given: Given) -> None:
    trail = PageReleaser(view, stride=4 * PAGE, margin=PAGE)
    for position in range(0, len(view), PAGE):
        trail.advance_to(position)
    assert given == [
        (0, 5 * PAGE),
        (3 * PAGE, 6 * PAGE),
        (7 * PAGE, 6 * PAGE),
        (11 * PAGE, 6 * PAGE),
        (15 * PAGE, 5 * PAGE + 5),
    ]
    assert bytes(view) == b"x" * SIZE


def test_a_walk_may_go_backward(view: memoryview, given: Given) -> None:
    trail = PageReleaser(view, SIZE, stride=4 * PAGE, margin=PAGE)
    for position in range(SIZE, 10 * PAGE, -PAGE):
        trail.advance_to(position)
    assert given == [(15 * PAGE, 5 * PAGE + 5), (11 * PAGE, 6 * PAGE + 5)]


def test_nothing_is_given_back_of_what_a_caller_holds(given: Given) -> None:
    theirs = mmap.mmap(-1, 4 * PAGE)  # whose pages are in no file
    theirs.write(b"x" * 4 * PAGE)
    for data in (theirs, b"x" * 4 * PAGE):
        PageReleaser(memoryview(data)).advance_to(4 * PAGE)
        release_pages([memoryview(data)])
        assert bytes(data[:]) == b"x" * 4 * PAGE
    assert given == []


def test_whole_files_are_given_back_once_and_their_views_stay(view: memoryview, given: Given) -> None:
    views = [view[:9], view[PAGE:]]
    release_pages([*views, b"bytes", memoryview(b"no file")])
    assert given == [(0, SIZE)]
    assert bytes(views[1]) == b"x" * (SIZE - PAGE)


def test_the_bytes_outlive_the_name_of_the_file(tmp_path: Path, view: memoryview) -> None:
    (tmp_path / "file").unlink()
    release_pages([view])
    assert mapping._map_of(view[3:]) is not None
    assert view == b"x" * SIZE


def test_mapped_files_are_not_open(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    for number in range(50):
        storage.create(str(number), bytes([number + 200]) * 9)
    before = _open_files()
    views = [storage.map(str(number)) for number in range(50)]
    assert _open_files() <= before + 2  # a thread may have one open
    assert [view[8] for view in views] == list(range(200, 250))


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot read .*file: No such file"):
        LocalStorage(tmp_path).map("file")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(StorageError, match="cannot read .*folder"):
        LocalStorage(tmp_path).map("folder")
