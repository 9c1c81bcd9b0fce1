"""Daft reads tables by a task for each file group, and writes data frames in one commit; it runs where Daft is."""

from __future__ import annotations

from pathlib import Path

import pytest

import hudiformat as hf
from tests.documents import pages_that_need, run_page
from tests.requests import RecordingStorage, data_files
from tests.tables import content, table_to_merge

daft = pytest.importorskip("daft", reason="pip install daft", exc_type=ImportError)


@pytest.fixture
def table(tmp_path: Path) -> hf.Table:
    return table_to_merge(tmp_path / "t")


def test_merged_rows_are_read_and_columns_filters_and_limits_pushed_down(table: hf.Table) -> None:
    from hudiformat.daft import read_hudi

    frame = read_hudi(table.path)
    assert frame.select("k", "v").sort("k").to_pydict() == {"k": ["a", "b", "c"], "v": [10, 2, 3]}
    assert (frame.count_rows(), frame.limit(2).count_rows()) == (3, 2)
    first = table.timeline.completed[0]
    assert read_hudi(table.path, as_of=first, filter="k = 'a'").select("v").to_pydict() == {"v": [1]}
    storage = RecordingStorage(hf.open_storage(table.path))
    for condition in (daft.col("p") == "x", (daft.col("p") == "x") & (daft.col("v") + 1 > 2)):
        frame = read_hudi(storage)
        storage.clear()
        assert frame.where(condition).select("k").to_pydict() == {"k": ["a"]}
        if "v" not in str(condition):
            assert {path.partition("/")[0] for path in data_files(storage.requests)} == {"x"}
    with pytest.raises(hf.SchemaError):
        read_hudi(table.path, filter="gone = 1")


def test_a_frame_is_written_in_one_commit(table: hf.Table) -> None:
    from hudiformat.daft import read_hudi, write_hudi

    before = table.history().num_rows
    changed = read_hudi(table.path).select("k", "ts", "p", (daft.col("v") * 2).cast(daft.DataType.int32()).alias("v"))
    commit = write_hudi(changed, table.path)
    assert commit.num_writes == 3
    assert content(table) == [("a", 2, "x", 20), ("b", 1, "y", 4), ("c", 2, "y", 6)]
    write_hudi(changed.where(daft.col("k") == "a"), table.path, operation="delete")
    assert [row[0] for row in content(table)] == ["b", "c"]
    assert table.history().num_rows == before + 2
    with pytest.raises(hf.OptionError, match="operation: expected one of upsert"):
        write_hudi(changed, table.path, operation="update")


@pytest.mark.parametrize("name", pages_that_need("daft"))
def test_the_examples_of_the_page_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(name, needs=("daft",))
