from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from hudiformat import NotATableError, open_storage, open_table
from tests.tables import new_table


def made(*folders: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        for folder in folders:
            new_table(path / folder)

    return make


@pytest.mark.parametrize(
    ("make", "opened", "message"),
    [
        (lambda _path: None, "nothing", "DIR/nothing is not a Hudi table: there is no such folder"),
        (lambda path: (path / "f").touch(), "f", "DIR/f is not a Hudi table: it is a file; give the folder"),
        (lambda path: (path / "e").mkdir(), "e", "DIR/e is not a Hudi table: it has no folder .hoodie"),
        (lambda path: (path / "e/x").mkdir(parents=True), "e", "DIR/e is not a Hudi table: it has no folder .hoodie"),
        (made("p/t"), "p", "DIR/p is not a Hudi table, but there is one inside it; did you mean DIR/p/t?"),
        (made("p/t", "p/u"), "p", "but there are 2 inside it; did you mean DIR/p/t or DIR/p/u?"),
        (made("t"), "t/.hoodie", "DIR/t/.hoodie is not a Hudi table, but inside of one; did you mean DIR/t?"),
        (made("t"), "t/year=1/month=2", "is not a Hudi table, but inside of one; did you mean DIR/t?"),
    ],
    ids=["nothing", "file", "empty", "other", "parent", "parent of two", "meta folder", "partition"],
)
@pytest.mark.parametrize("uri", [False, True], ids=["path", "uri"])
def test_what_there_is_instead_of_a_table_is_said(
    tmp_path: Path, make: Callable[[Path], None], opened: str, message: str, uri: bool
) -> None:
    make(tmp_path)
    path = f"file://{tmp_path / opened}" if uri else tmp_path / opened
    with pytest.raises(NotATableError, match=re.escape(message.replace("DIR", str(tmp_path)))):
        open_table(path)


def test_a_file_system_without_a_path_of_its_own_is_not_searched_above(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    storage = open_storage("memory://somewhere/else", filesystem=fsspec.filesystem("memory"))
    with pytest.raises(NotATableError, match="is not a Hudi table: there is no such folder"):
        open_table(storage)
