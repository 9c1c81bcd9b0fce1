from __future__ import annotations

from pathlib import Path

from tests.tables import new_table, rows


def test_the_files_of_each_partition(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options={"hoodie.index.type": "SIMPLE"})
    assert table.stats().num_rows == 0
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "y", 2)))
    table.upsert(rows(("b", 2, "y", 3)))
    x, y = table.stats().to_pylist()
    assert (x["partition"], x["file_groups"], x["base_files"], x["log_files"], x["log_ratio"]) == ("x", 1, 1, 0, 0.0)
    assert (y["base_files"], y["log_files"], y["small_base_files"]) == (1, 1, 1)
    assert y["log_ratio"] == y["log_bytes"] / y["base_bytes"]
    assert table.stats(small_file_limit=0)["small_base_files"].to_pylist() == [0, 0]
