from __future__ import annotations

import mmap
from pathlib import Path

import pytest

from hudiformat.storage import FileMap, LocalStorage, Trail, give_back, mapping

PAGE = mmap.PAGESIZE


class Spy(FileMap):
    """A map that tells what it gave back."""

    given: list[tuple[int, int]]

    def madvise(self, option: int, start: int = 0, length: int | None = None) -> None:
        assert option == mmap.MADV_DONTNEED
        length = len(self) if length is None else length
        self.given.append((start, length))
        super().madvise(option, start, length)


@pytest.fixture
def spy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Spy:
    monkeypatch.setattr(mapping, "_STRIDE", 4 * PAGE)
    monkeypatch.setattr(mapping, "_MARGIN", PAGE)
    (tmp_path / "file").write_bytes(b"x" * (20 * PAGE + 5))
    with (tmp_path / "file").open("rb") as file:
        found = Spy(file.fileno(), 0, access=mmap.ACCESS_READ)
    found.given = []
    return found


def test_pages_are_given_back_a_stride_at_a_time_with_a_margin(spy: Spy) -> None:
    view = memoryview(spy)
    trail = Trail(view)
    for position in range(0, len(view), PAGE):
        trail.reach(position)
    assert spy.given == [
        (0, 5 * PAGE),
        (3 * PAGE, 6 * PAGE),
        (7 * PAGE, 6 * PAGE),
        (11 * PAGE, 6 * PAGE),
        (15 * PAGE, 5 * PAGE + 5),
    ]
    assert bytes(view) == b"x" * len(view)


def test_a_walk_may_go_backward(spy: Spy) -> None:
    trail = Trail(memoryview(spy), len(spy))
    for position in range(len(spy), 10 * PAGE, -PAGE):
        trail.reach(position)
    assert spy.given == [(15 * PAGE, 5 * PAGE + 5), (11 * PAGE, 6 * PAGE + 5)]


def test_a_local_file_is_a_file_map(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    assert isinstance(LocalStorage(tmp_path).map("file").obj, FileMap)


def test_nothing_is_given_back_of_what_a_caller_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapping, "_STRIDE", 1)
    theirs = mmap.mmap(-1, 4 * PAGE)  # whose pages are in no file
    theirs.write(b"x" * 4 * PAGE)
    for data in (theirs, b"x" * 4 * PAGE):
        Trail(memoryview(data)).reach(4 * PAGE)
        assert bytes(data[:]) == b"x" * 4 * PAGE


def test_whole_files_are_given_back_once_and_their_views_stay(spy: Spy) -> None:
    views = [memoryview(spy)[:9], memoryview(spy)[PAGE:]]
    give_back([*views, b"bytes", memoryview(b"no file")])
    assert spy.given == [(0, len(spy))]
    assert bytes(views[1]) == b"x" * (19 * PAGE + 5)
