"""Dropping a metadata table, or partitions of it."""

from __future__ import annotations

from pathlib import Path

from hudiformat.write.metadata.dropping import drop_partitions
from tests.metadata_tables import PARTITIONS, indexed_table, properties


def test_a_partition_goes_from_the_properties_and_with_its_files(tmp_path: Path) -> None:
    state = indexed_table(tmp_path / "t")._context.state()
    left = drop_partitions(state, ["partition_stats"])
    assert left.config.metadata_partitions == ("column_stats", "files")
    assert not (tmp_path / "t/.hoodie/metadata/partition_stats").exists()


def test_all_go_with_the_folder(tmp_path: Path) -> None:
    state = indexed_table(tmp_path / "t")._context.state()
    drop_partitions(state, state.config.metadata_partitions)
    assert properties(tmp_path / "t")[PARTITIONS] == ""
    assert not (tmp_path / "t/.hoodie/metadata").exists()
