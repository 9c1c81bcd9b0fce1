"""What a table is may be repeated by options, and not contradicted."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat import OptionError, UnsupportedFeatureError, open_table
from hudiformat.options.values import IndexType
from tests.tables import content, create, new_table, rows, tree

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
    with pytest.raises(OptionError, match=f"{key} is .* in the table's properties, and cannot be '{value}'") as caught:
        open_table(tmp_path / "t", options={key: value})
    assert caught.value.option == key


def test_what_a_table_is_may_be_said_again(tmp_path: Path) -> None:
    create(tmp_path / "t")
    open_table(tmp_path / "t", options=AGREED)


@pytest.mark.parametrize("key", AGREED)
def test_what_a_table_is_may_not_be_contradicted(tmp_path: Path, key: str) -> None:
    create(tmp_path / "t")
    with pytest.raises(OptionError, match=f"{key} is .*cannot be 'other'") as caught:
        open_table(tmp_path / "t", options={key: "other"})
    assert caught.value.option == key


def test_an_option_that_repeats_the_properties_is_fine(tmp_path: Path) -> None:
    create(tmp_path / "t", options={"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "4"})
    table = open_table(tmp_path / "t", options={"hoodie.index.type": "bucket", "hoodie.bucket.index.num.buckets": "4"})
    assert table.context.options.index_type is IndexType.BUCKET


def test_a_table_whose_index_cannot_be_written_with_can_be_read(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    table.insert(rows(("a", 1, "x")))
    properties = tmp_path / "t/.hoodie/hoodie.properties"
    properties.write_text(properties.read_text() + "hoodie.index.type=HBASE\n")
    table = open_table(tmp_path / "t")
    assert content(table) == [("a", 1, "x", None)]
    before = tree(tmp_path)
    with pytest.raises(UnsupportedFeatureError, match="cannot write the index HBASE"):
        table.insert(rows(("b", 1, "x")))
    assert tree(tmp_path) == before
