"""Partitions whose metadata files have the format of base files pass between hudiformat and real Hudi."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat import open_table
from tests.conformance.hudi import RealHudi
from tests.file_group.test_partition_metadata import metadata_files, new_table
from tests.tables import rows

pytestmark = pytest.mark.hudi


def test_each_finds_the_partitions_of_the_other(hudi: RealHudi, tmp_path: Path) -> None:
    path = tmp_path / "t"
    new_table(path).insert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    options = {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.operation": "upsert",
        "hoodie.datasource.write.table.type": "COPY_ON_WRITE",
        "hoodie.datasource.write.recordkey.field": "k",
        "hoodie.datasource.write.partitionpath.field": "p",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.metadata.enable": "false",
    }
    hudi.write(rows(("b", 2, "y", 2), ("c", 1, "z", 3)), path, options)
    table = open_table(path)
    table.upsert(rows(("c", 2, "z", 4), ("d", 1, "w", 5)))
    assert metadata_files(path) == [f"{one}/.hoodie_partition_metadata.parquet" for one in "wxyz"]
    expected = [("a", 1), ("b", 2), ("c", 4), ("d", 5)]
    for found in (table.snapshot(), hudi.read(path, {"hoodie.metadata.enable": "false"})):
        assert sorted(zip(found["k"].to_pylist(), found["v"].to_pylist(), strict=True)) == expected
    assert table.verify() == []
