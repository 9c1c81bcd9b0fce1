"""Tables without meta fields: record keys are made of the columns of rows, and files have nulls in the meta fields."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hudiformat as hf
from hudiformat.codec.log.reader import LogReader
from hudiformat.schema.meta_fields import META_FIELDS
from tests.tables import edit, tree, unpack

NO_META = {"hoodie.populate.meta.fields": "false"}
SCHEMA = pa.schema([("k", pa.string()), ("n", pa.int32()), ("o", pa.int64()), ("p", pa.string()), ("v", pa.int32())])
COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"


def rows(*values: tuple[str, int, int, str, int]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, one, strict=True)) for one in values], SCHEMA)


def create(path: Path, *, options: dict[str, str] | None = None, **more: Any) -> hf.Table:
    given: dict[str, Any] = {"name": "t", "schema": SCHEMA, "record_key": "k", "ordering": "o", "partition_by": "p"}
    return hf.create_table(path, **{**given, **more}, options={**NO_META, **(options or {})})


def values(found: hf.Table | pa.Table) -> list[tuple[str, int]]:
    found = found.snapshot(columns=["k", "v"]) if isinstance(found, hf.Table) else found
    return sorted(zip(found["k"].to_pylist(), found["v"].to_pylist(), strict=True))


def assert_without_meta(root: Path) -> None:
    """The files have the meta fields, as Hudi's have, and only nulls in them; footers tell no keys."""
    files = [one for one in root.rglob("*.parquet") if ".hoodie" not in one.relative_to(root).parts]
    assert files
    for file in files:
        opened = pq.ParquetFile(file)
        assert not [key for key in opened.metadata.metadata or () if b"record_key" in key or b"bloom" in key]
        assert_blank(opened.read())
    for file in root.rglob(".*.log.*"):
        if ".hoodie" not in file.relative_to(root).parts and not file.name.endswith((".crc", ".cdc")):
            with LogReader(file) as reader:
                for block in reader:
                    if block.type.name == "AVRO_DATA":
                        assert_blank(block.to_arrow())


def assert_blank(found: pa.Table | pa.RecordBatch) -> None:
    assert found.schema.names[:5] == list(META_FIELDS)
    assert all(found[name].null_count == found.num_rows for name in META_FIELDS)


@pytest.mark.parametrize("index", ["SIMPLE", "GLOBAL_SIMPLE", "BLOOM", "BUCKET"])
@pytest.mark.parametrize("version", [6, 8, 9])
@pytest.mark.parametrize("table_type", [COW, MOR])
def test_rows_are_found_by_the_keys_of_their_columns(table_type: str, version: int, index: str, tmp_path: Path) -> None:
    options = {"hoodie.index.type": index, "hoodie.bucket.index.num.buckets": "2", "hoodie.metadata.enable": "true"}
    keys = ["k", "n"] if version == 9 else "k"
    create(tmp_path / "t", options=options, table_type=table_type, version=version, record_key=keys)
    table = hf.open_table(tmp_path / "t")
    table.insert(rows(("a", 1, 1, "x", 1), ("b", 1, 1, "y", 2), ("c", 1, 1, "x", 3)))
    table.upsert(rows(("a", 1, 2, "x", 5), ("d", 1, 1, "y", 4), ("c", 1, 0, "x", 0)))
    table.delete(rows(("b", 1, 1, "y", 2)))
    table.update({"v": 9}, where="k = 'c'")
    table.merge(
        rows(("a", 1, 3, "x", 50), ("e", 1, 1, "y", 7)), when_matched=[hf.Update()], when_not_matched=[hf.Insert()]
    )
    expected = [("a", 50), ("c", 9), ("d", 4), ("e", 7)]
    assert values(table) == expected
    if table_type == MOR:
        table.compact()
        for order in (4, 5, 6):
            table.upsert(rows(("a", 1, order, "x", 44 + order)))
        if version > 6:
            table.log_compact()
        table.delete(where="k = 'd'")
        expected.remove(("d", 4))
        assert values(table) == expected
    if index != "BUCKET":
        table.cluster()
    table.clean()
    assert values(table) == expected
    assert values(hf.open_table(tmp_path / "t")) == expected
    assert table.snapshot().schema.names == SCHEMA.names
    assert table.verify() == []
    assert_without_meta(tmp_path / "t")


def test_a_global_index_moves_rows(tmp_path: Path) -> None:
    table = create(tmp_path / "t", options={"hoodie.index.type": "GLOBAL_SIMPLE"})
    table.insert(rows(("a", 1, 1, "x", 1), ("b", 1, 1, "y", 2)))
    table.upsert(rows(("a", 1, 2, "y", 3)))
    assert table.snapshot().sort_by("k").select(["k", "p", "v"]).to_pydict() == {
        "k": ["a", "b"],
        "p": ["y", "y"],
        "v": [3, 2],
    }


def test_keys_are_dropped_and_doubled_by_policy(tmp_path: Path) -> None:
    create(tmp_path / "t", table_type=COW).insert(rows(("a", 1, 1, "x", 1)))
    policy = "hoodie.datasource.insert.dup.policy"
    hf.open_table(tmp_path / "t", options={policy: "drop"}).insert(rows(("a", 1, 1, "x", 2), ("b", 1, 1, "x", 3)))
    assert values(hf.open_table(tmp_path / "t")) == [("a", 1), ("b", 3)]
    with pytest.raises(hf.DataError, match="the record key 'a' is in partition 'x' already"):
        hf.open_table(tmp_path / "t", options={policy: "fail"}).insert(rows(("a", 1, 1, "x", 2)))


@pytest.mark.parametrize("mode", ["OP_KEY_ONLY", "DATA_BEFORE", "DATA_BEFORE_AFTER"])
@pytest.mark.parametrize("table_type", [COW, MOR])
def test_changes_are_told_by_key(table_type: str, mode: str, tmp_path: Path) -> None:
    options = {"hoodie.table.cdc.enabled": "true", "hoodie.table.cdc.supplemental.logging.mode": mode}
    table = create(tmp_path / "t", options=options, table_type=table_type)
    table.insert(rows(("a", 1, 1, "x", 1), ("b", 1, 1, "x", 2)))
    table.upsert(rows(("a", 1, 2, "x", 5)))
    table.delete(where="k = 'b'")
    assert sorted(table.cdc("0")["op"].to_pylist()) == ["d", "i", "i", "u"]


def test_columns_that_change_keep_their_keys(tmp_path: Path) -> None:
    table = create(tmp_path / "t", options={"hoodie.schema.on.read.enable": "true"})
    table.insert(rows(("a", 1, 1, "x", 1), ("b", 1, 1, "x", 2)))
    table.evolve(rename={"v": "w"})
    table.upsert(rows(("a", 1, 2, "x", 5)).rename_columns(["k", "n", "o", "p", "w"]))
    table.compact()
    assert table.snapshot().sort_by("k")["w"].to_pylist() == [5, 2]


def test_a_table_of_hudis_is_written(tmp_path: Path) -> None:
    golden = unpack("v6-cow-no-metafields-h0150", tmp_path)
    table = hf.open_table(golden.table)
    before = table.snapshot().sort_by("k")
    chosen = before.slice(0, 10)
    newer = chosen.set_column(chosen.schema.get_field_index("v"), "v", pa.array([77] * 10, pa.int64()))
    newer = newer.set_column(newer.schema.get_field_index("ts"), "ts", pa.array([10**15] * 10, pa.int64()))
    table.upsert(newer)
    after = table.snapshot().sort_by("k")
    assert after["k"].to_pylist() == before["k"].to_pylist()
    assert after["v"].to_pylist().count(77) >= 10
    assert table.verify() == []


@pytest.mark.parametrize(
    ("more", "options", "feature"),
    [
        ({"record_key": []}, {}, "no record key"),
        ({"partition_by": ["p:SIMPLE"]}, {}, "the key generator CUSTOM"),
        (
            {},
            {"hoodie.metadata.enable": "true", "hoodie.metadata.record.index.enable": "true"},
            "the indexes record_index",
        ),
        (
            {},
            {"hoodie.metadata.enable": "true", "hoodie.metadata.index.bloom.filter.enable": "true"},
            "the indexes bloom_filters",
        ),
        ({}, {"hoodie.allow.operation.metadata.field": "true"}, "hoodie.allow.operation.metadata.field"),
    ],
)
def test_what_needs_meta_fields_is_refused(
    more: dict[str, Any], options: dict[str, str], feature: str, tmp_path: Path
) -> None:
    with pytest.raises(hf.UnsupportedFeatureError, match=f"whose rows tell their record keys, found {feature}"):
        create(tmp_path / "t", options=options, **more)
    assert not tree(tmp_path / "t")


def test_a_table_whose_metadata_table_has_record_keys_is_refused_until_they_are_dropped(tmp_path: Path) -> None:
    indexes = {"hoodie.metadata.enable": "true", "hoodie.metadata.record.index.enable": "true"}
    given: dict[str, Any] = {"name": "t", "schema": SCHEMA, "record_key": "k", "partition_by": "p"}
    hf.create_table(tmp_path / "t", **given, options=indexes)
    edit(tmp_path / "t", "hoodie.populate.meta.fields", "false")
    with pytest.raises(hf.UnsupportedFeatureError, match="found the indexes record_index in the metadata table"):
        hf.open_table(tmp_path / "t").insert(rows(("a", 1, 1, "x", 1)))
    dropping = hf.open_table(tmp_path / "t", options={"hoodie.metadata.index.drop": "record_index"})
    with pytest.warns(hf.HudiFormatWarning, match="record_index of the metadata table are dropped"):
        dropping.insert(rows(("a", 1, 1, "x", 1)))
    assert values(hf.open_table(tmp_path / "t")) == [("a", 1)]
