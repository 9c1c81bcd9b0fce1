"""A table made from Hudi's keys alone is as Hudi's first write makes it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from hudiformat import OptionError, SchemaError, TableExistsError, UnsupportedFeatureError
from hudiformat.api.from_keys import create_from_keys
from hudiformat.storage.local import LocalStorage
from tests.tables import SCHEMA, rows, tree

KEYS = {
    "hoodie.table.name": "trips",
    "hoodie.datasource.write.recordkey.field": "k",
    "hoodie.datasource.write.partitionpath.field": "p",
    "hoodie.datasource.write.precombine.field": "ts",
}


def test_the_keys_of_a_first_write_make_the_table(tmp_path: Path) -> None:
    more = {
        "hoodie.datasource.write.table.type": "merge_on_read",
        "hoodie.write.table.version": "8",
        "hoodie.datasource.write.hive_style_partitioning": "true",
        "hoodie.metadata.enable": "true",
        "hoodie.index.type": "SIMPLE",
    }
    table = create_from_keys(tmp_path / "t", schema=SCHEMA, options=KEYS | more)
    config = table._context.state().config
    assert (config.name, config.table_type.value, config.version) == ("trips", "MERGE_ON_READ", 8)
    assert (config.record_key_fields, config.partition_fields, config.ordering_fields) == (("k",), ("p",), ("ts",))
    assert config.hive_style_partitioning
    assert "files" in config.metadata_partitions
    table.upsert(rows(("a", 1, "x", 1)))
    assert table.snapshot().num_rows == 1


def test_what_the_keys_leave_out_is_as_in_hudi(tmp_path: Path) -> None:
    keys = {"hoodie.datasource.write.recordkey.field": "k, p"}
    config = create_from_keys(tmp_path / "trips", schema=SCHEMA, options=keys)._context.state().config
    assert (config.name, config.table_type.value, config.version) == ("trips", "COPY_ON_WRITE", 9)
    assert (config.record_key_fields, config.partition_fields, config.ordering_fields) == (("k", "p"), (), ())
    second = create_from_keys(LocalStorage(tmp_path / "2-nd trips"), schema=SCHEMA, options=keys)
    assert second._context.state().config.name == "_2_nd_trips"


def test_partition_columns_may_be_named_apart(tmp_path: Path) -> None:
    keys = {key: value for key, value in KEYS.items() if "partition" not in key}
    table = create_from_keys(tmp_path / "t", schema=SCHEMA, options=keys, partition_by=["p"])
    assert table._context.state().config.partition_fields == ("p",)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"hoodie.datasource.write.recordkey.field": "id"}, SchemaError, "no column 'id'"),
        ({"hoodie.write.table.version": "nine"}, OptionError, "expected a number, found 'nine'"),
        ({"hoodie.write.table.version": "5"}, UnsupportedFeatureError, "version: expected one of 6, 8, 9, found 5"),
        ({"hoodie.datasource.write.table.type": "BOTH"}, OptionError, "expected one of COPY_ON_WRITE, MERGE_ON_READ"),
        (
            {"hoodie.table.recordkey.fields": "v"},
            OptionError,
            "recordkey.fields: expected 'k', as in",
        ),
        (
            {"hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.TimestampBasedKeyGenerator"},
            OptionError,
            "hoodie.keygen.timebased.timestamp.type: expected a value",
        ),
        ({"hoodie.index.typ": "SIMPLE"}, OptionError, "hoodie.index.type"),
    ],
)
def test_keys_that_make_no_table_are_named(
    tmp_path: Path, changes: Mapping[str, str], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        create_from_keys(tmp_path / "t", schema=SCHEMA, options={**KEYS, **changes})
    assert tree(tmp_path) == {}


def test_a_table_that_is_there_is_left(tmp_path: Path) -> None:
    create_from_keys(tmp_path / "t", schema=SCHEMA, options=KEYS)
    with pytest.raises(TableExistsError):
        create_from_keys(tmp_path / "t", schema=pa.schema([SCHEMA.field("k")]), options=KEYS)


def test_without_a_record_key_each_row_gets_a_key(tmp_path: Path) -> None:
    table = create_from_keys(tmp_path / "t", schema=SCHEMA, options={"hoodie.table.name": "t"})
    assert table.config.record_key_fields == ()
    assert "hoodie.table.recordkey.fields" not in table.config.properties
