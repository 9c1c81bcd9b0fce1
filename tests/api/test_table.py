"""Opening tables, and what is refused there."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat import CorruptTableError, NotATableError, StorageError, UnsupportedFeatureError, open_table
from tests.tables import content, create, edit, new_table, rows, tree


def test_a_path_without_a_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "nothing", tmp_path / "file"):
        with pytest.raises(NotATableError, match="not a Hudi table") as caught:
            open_table(path)
        assert caught.value.path == str(path)
    with pytest.raises(StorageError, match="cannot open nfs4://bucket/table"):
        open_table("nfs4://bucket/table")


@pytest.mark.parametrize("version", ["5", "10"])
def test_tables_of_other_versions_are_refused_by_name(tmp_path: Path, version: str) -> None:
    create(tmp_path / "t")
    edit(tmp_path / "t", "hoodie.table.version", version)
    before = tree(tmp_path)
    with pytest.raises(
        UnsupportedFeatureError, match=f"expected a table of version .*, found version {version}"
    ) as caught:
        open_table(tmp_path / "t")
    assert caught.value.feature == f"table version {version}"
    assert tree(tmp_path) == before


def test_damaged_properties_are_refused(tmp_path: Path) -> None:
    create(tmp_path / "t")
    edit(tmp_path / "t", "hoodie.table.checksum", "1")
    with pytest.raises(CorruptTableError, match="hoodie.table.checksum"):
        open_table(tmp_path / "t")


def test_two_tables_objects_see_what_the_other_commits(tmp_path: Path) -> None:
    first = new_table(tmp_path / "t")
    second = open_table(tmp_path / "t")
    first.insert(rows(("a", 1, "x", 1)))
    assert content(second) == [("a", 1, "x", 1)]
