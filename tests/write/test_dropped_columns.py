"""Tables whose files do not have the partition columns, as BigQuery needs them: the paths tell their texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hudiformat as hf
from tests.tables import edit, tree, unpack

DROP = {"hoodie.datasource.write.drop.partition.columns": "true"}
SCHEMA = pa.schema([("k", pa.string()), ("o", pa.int64()), ("p", pa.string()), ("q", pa.int32()), ("v", pa.int32())])


def rows(*values: tuple[str, int, str | None, int, int]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, one, strict=True)) for one in values], SCHEMA)


def create(path: Path, *, options: dict[str, str] | None = None, **more: Any) -> hf.Table:
    given: dict[str, Any] = {"name": "t", "schema": SCHEMA, "record_key": "k", "ordering": "o", "partition_by": "p"}
    given["table_type"] = "COPY_ON_WRITE"
    return hf.create_table(path, **{**given, **more}, options={**DROP, **(options or {})})


def values(table: hf.Table) -> list[tuple[Any, ...]]:
    found = table.snapshot().sort_by("k").to_pylist()
    return [(row["k"], row["p"], row["q"], row["v"]) for row in found]


def assert_dropped(root: Path, *names: str) -> None:
    files = [one for one in root.rglob("*.parquet") if ".hoodie" not in one.relative_to(root).parts]
    assert files
    assert all(not set(names) & set(pq.ParquetFile(file).schema_arrow.names) for file in files)


@pytest.mark.parametrize("index", ["SIMPLE", "GLOBAL_SIMPLE", "BLOOM", "BUCKET", "RECORD_INDEX"])
@pytest.mark.parametrize("version", [6, 8, 9])
@pytest.mark.parametrize("hive", ["false", "true"])
def test_partition_columns_come_from_the_paths_and_are_not_written(
    index: str, version: int, hive: str, tmp_path: Path
) -> None:
    options = {"hoodie.index.type": index, "hoodie.bucket.index.num.buckets": "2", "hoodie.metadata.enable": "true"}
    options |= {"hoodie.datasource.write.hive_style_partitioning": hive}
    options |= {"hoodie.metadata.record.index.enable": "true"} if index == "RECORD_INDEX" else {}
    both = version == 9
    create(tmp_path / "t", options=options, version=version, partition_by=["p", "q"] if both else "p")
    table = hf.open_table(tmp_path / "t", options={"hoodie.index.type": index})
    table.insert(rows(("a", 1, "x", 1, 1), ("b", 1, "y", 2, 2), ("c", 1, "x", 1, 3), ("n", 1, None, 1, 4)))
    table.upsert(rows(("a", 2, "x", 1, 5), ("d", 1, "y", 2, 4)))
    table.delete(rows(("b", 1, "y", 2, 2)))
    table.update({"v": 9}, where="k = 'c' and p = 'x'")
    of_x, of_y = ("1", "2") if both else (1, 2)
    expected = [("a", "x", of_x, 5), ("c", "x", of_x, 9), ("d", "y", of_y, 4), ("n", None, of_x, 4)]
    assert values(table) == expected
    if index != "BUCKET":
        table.cluster()
    assert values(hf.open_table(tmp_path / "t")) == expected
    assert table.snapshot(filter="p = 'y'")["k"].to_pylist() == ["d"]
    assert table.snapshot().schema.names[-(1 + both) :] == ["p", "q"][: 1 + both]
    table.upsert(rows(("e", 3, "x", 1, 50)).append_column("more", pa.array([7])))
    assert table.snapshot(filter="k = 'e'").select(["p", "more"]).to_pylist() == [{"p": "x", "more": 7}]
    assert table.verify() == []
    assert_dropped(tmp_path / "t", "p", *(["q"] if both else []))


def test_tables_of_hudis_are_written(tmp_path: Path) -> None:
    golden = unpack("v9-cow-dropped-partition-columns-h120", tmp_path)
    table = hf.open_table(golden.table)
    before = table.snapshot().sort_by("k")
    table.upsert(before.slice(0, 5))
    assert table.snapshot().sort_by("k").drop_columns(DATED).equals(before.drop_columns(DATED))
    assert table.verify() == []


DATED = ["_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_file_name"]


@pytest.mark.parametrize(
    ("more", "options"),
    [
        ({"table_type": "MERGE_ON_READ"}, {}),
        ({"partition_by": []}, {}),
        ({"partition_by": ["p:SIMPLE"]}, {}),
        ({}, {"hoodie.table.cdc.enabled": "true"}),
    ],
)
def test_kinds_that_hudi_does_not_have_are_not_made(
    more: dict[str, Any], options: dict[str, str], tmp_path: Path
) -> None:
    with pytest.raises(hf.OptionError, match=r"drop.partition.columns: expected a COPY_ON_WRITE table with partition"):
        create(tmp_path / "t", options=options, **more)
    assert not tree(tmp_path / "t")


@pytest.mark.parametrize(
    ("key", "value", "feature"),
    [
        ("hoodie.table.type", "MERGE_ON_READ", "dropped partition columns of a MERGE_ON_READ table"),
        ("hoodie.table.keygenerator.type", "TIMESTAMP", "dropped partition columns of times"),
        ("hoodie.table.cdc.enabled", "true", "dropped partition columns in change data"),
    ],
)
def test_kinds_that_hudi_does_not_have_are_not_written(key: str, value: str, feature: str, tmp_path: Path) -> None:
    create(tmp_path / "t")
    edit(tmp_path / "t", key, value)
    before = tree(tmp_path / "t")
    with pytest.raises(hf.UnsupportedFeatureError, match=feature):
        hf.open_table(tmp_path / "t").insert(rows(("a", 1, "x", 1, 1)))
    assert tree(tmp_path / "t") == before


def test_a_merge_is_refused(tmp_path: Path) -> None:
    table = create(tmp_path / "t")
    with pytest.raises(
        hf.UnsupportedFeatureError, match="merge: expected a table whose files have the partition columns"
    ):
        table.merge(rows(("a", 1, "x", 1, 1)), when_not_matched=[hf.Insert()])
