"""What a table is may be repeated by options, and not contradicted."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat import OptionError, UnsupportedFeatureError, open_table
from hudiformat.table.options.agreement import options_of
from hudiformat.table.options.values import IndexType
from tests.tables import content, create, edit, new_table, rows, tree

AGREED = {
    "hoodie.table.name": "t",
    "hoodie.datasource.write.recordkey.field": "k",
    "hoodie.datasource.write.partitionpath.field": "p",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.table.type": "merge_on_read",
    "hoodie.datasource.write.hive_style_partitioning": "false",
    "hoodie.table.timeline.timezone": "local",
}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("hoodie.index.type", "SIMPLE"),
        ("hoodie.bucket.index.num.buckets", "8"),
        ("hoodie.bucket.index.hash.field", "ts"),
    ],
)
def test_an_option_that_contradicts_the_properties_is_refused(tmp_path: Path, key: str, value: str) -> None:
    create(tmp_path / "t", options={"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "4"})
    with pytest.raises(OptionError, match=f"{key}: expected .*, as in the table's .*, found '{value}'") as caught:
        open_table(tmp_path / "t", options={key: value})
    assert caught.value.option == key


def test_what_a_table_is_may_be_said_again(tmp_path: Path) -> None:
    table = create(tmp_path / "t")
    assert open_table(tmp_path / "t", options=AGREED).config == table.config


@pytest.mark.parametrize("key", AGREED)
def test_what_a_table_is_may_not_be_contradicted(tmp_path: Path, key: str) -> None:
    create(tmp_path / "t")
    with pytest.raises(OptionError, match=f"{key}: expected .*found 'other'") as caught:
        open_table(tmp_path / "t", options={key: "other"})
    assert caught.value.option == key


def test_an_option_that_repeats_the_properties_is_fine(tmp_path: Path) -> None:
    create(tmp_path / "t", options={"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "4"})
    table = open_table(tmp_path / "t", options={"hoodie.index.type": "bucket", "hoodie.bucket.index.num.buckets": "4"})
    assert table._context.options.index_type is IndexType.BUCKET


def test_a_table_whose_index_cannot_be_written_with_can_be_read(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    table.insert(rows(("a", 1, "x")))
    properties = tmp_path / "t/.hoodie/hoodie.properties"
    properties.write_text(properties.read_text() + "hoodie.index.type=HBASE\n")
    table = open_table(tmp_path / "t")
    assert content(table) == [("a", 1, "x", None)]
    before = tree(tmp_path)
    with pytest.raises(UnsupportedFeatureError, match="found the index HBASE; set hoodie.index.type"):
        table.insert(rows(("b", 1, "x")))
    assert tree(tmp_path) == before


def test_what_the_properties_keep_counts_without_being_repeated(tmp_path: Path) -> None:
    kept = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "4"}
    config = create(tmp_path / "t", options=kept).config
    options = options_of(config, {"hoodie.logfile.max.size": "77"})
    assert (options.index_type, options.num_buckets, options.log_max_size) == (IndexType.BUCKET, 4, 77)


def test_spaces_and_case_make_no_contradiction(tmp_path: Path) -> None:
    config = create(tmp_path / "t", record_key=["k", "v"]).config
    options_of(config, {"hoodie.datasource.write.recordkey.field": "K, v"})
    with pytest.raises(OptionError, match=r"recordkey.field: expected 'k,v', as in the table's .*, found 'v,k'"):
        options_of(config, {"hoodie.datasource.write.recordkey.field": "v,k"})


def test_an_index_that_hudi_does_not_know_either_is_an_unknown_one(tmp_path: Path) -> None:
    create(tmp_path / "t")
    edit(tmp_path / "t", "hoodie.index.type", "something")
    config = open_table(tmp_path / "t").config
    assert options_of(config, {}).index_type is IndexType.UNKNOWN
    assert options_of(config, {"hoodie.index.type": "Something"}).index_type is IndexType.UNKNOWN
    with pytest.raises(OptionError, match=r"expected 'something', as in the table's properties, found 'BLOOM'"):
        options_of(config, {"hoodie.index.type": "BLOOM"})


def test_an_unknown_option_is_refused_whatever_the_table_is(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="unknown option 'hoodie.table.nam'") as caught:
        options_of(create(tmp_path / "t").config, {"hoodie.table.nam": "t"})
    assert caught.value.option == "hoodie.table.nam"
