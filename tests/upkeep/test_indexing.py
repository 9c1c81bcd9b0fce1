"""The records that an index begins with; that they are right is seen in tests/services/test_indexing.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat.upkeep import IndexBuild, indexing
from tests.metadata_statistics import check_record_index
from tests.tables import new_table, rows


def test_an_index_gets_more_file_groups_where_it_is_larger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The records of one file group are in memory at a time."""
    table = new_table(tmp_path / "t")
    table.upsert(rows(*((f"k{number}", 1, "x", 1) for number in range(100))))
    monkeypatch.setattr(indexing, "_GROUP_BYTES", 1000)
    table.create_index("record_index")
    folder = tmp_path / "t/.hoodie/metadata/record_index"
    assert len(list(folder.glob(".record-index-*"))) == 13  # 128 bytes a row
    check_record_index(tmp_path / "t")
    table.upsert(rows(("k7", 2, "x", 1), ("new", 1, "y", 1)))
    check_record_index(tmp_path / "t")


def test_only_column_statistics_have_columns_in_their_definition(tmp_path: Path) -> None:
    state = new_table(tmp_path / "t").context.state()
    found = {name: IndexBuild(state, name, state.options.indexing).definition for name in ("files", "column_stats")}
    assert found["files"] is None
    assert found["column_stats"] is not None
    assert found["column_stats"].fields[-4:] == ("k", "ts", "p", "v")
