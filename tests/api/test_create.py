"""Creating tables, and everything that is refused there."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudiformat import (
    HudiFormatError,
    NotATableError,
    OptionError,
    SchemaError,
    TableExistsError,
    UnsupportedFeatureError,
    create_table,
    open_table,
)
from hudiformat.storage.local import LocalStorage
from hudiformat.timeline.table_config import MergeMode, TableType, TimelineZone
from tests.tables import SCHEMA, GoldenTable, create, tree


def test_a_new_table_is_its_properties_and_nothing_else(tmp_path: Path) -> None:
    table = create(tmp_path / "t")
    assert [path for path in tree(tmp_path) if not path.endswith("/")] == ["t/.hoodie/hoodie.properties"]
    config = table.config
    assert (config.name, config.version, config.table_type) == ("t", 9, TableType.MERGE_ON_READ)
    assert (config.record_key_fields, config.partition_fields, config.ordering_fields) == (("k",), ("p",), ("ts",))
    assert (config.merge_mode, config.timeline_zone) == (MergeMode.EVENT_TIME_ORDERING, TimelineZone.LOCAL)
    assert table.path == str(tmp_path / "t")


def test_an_empty_table_has_its_schema_and_no_rows(tmp_path: Path) -> None:
    create(tmp_path / "t")
    table = open_table(tmp_path / "t")
    assert table.schema == SCHEMA
    assert table.snapshot().num_rows == table.read_optimized().num_rows == 0
    assert table.snapshot().schema.names[-4:] == SCHEMA.names
    assert (table.file_slices(), table.timeline.instants) == ([], ())


def test_options_that_stay_in_the_properties(tmp_path: Path) -> None:
    table = create(
        tmp_path / "t",
        options={
            "hoodie.index.type": "bucket",
            "hoodie.bucket.index.num.buckets": "4",
            "hoodie.table.timeline.timezone": "utc",
            "hoodie.datasource.write.hive_style_partitioning": "TRUE",
            "hoodie.datasource.write.partitionpath.urlencode": "true",
            "hoodie.record.merge.mode": "commit_time_ordering",
        },
    )
    config = open_table(tmp_path / "t").config
    assert config.timeline_zone is TimelineZone.UTC
    assert (config.hive_style_partitioning, config.url_encode_partitioning) == (True, True)
    assert config.merge_mode is MergeMode.COMMIT_TIME_ORDERING
    assert config.extra["hoodie.index.type"] == "BUCKET"
    assert config.extra["hoodie.bucket.index.num.buckets"] == "4"
    assert config.extra["hoodie.bucket.index.hash.field"] == "k"
    assert config.extra["hoodie.datasource.write.recordkey.field"] == "k"
    assert table._context.options.num_buckets == open_table(tmp_path / "t")._context.options.num_buckets == 4


def test_without_ordering_the_newer_write_wins(tmp_path: Path) -> None:
    assert create(tmp_path / "t", ordering=[]).config.merge_mode is MergeMode.COMMIT_TIME_ORDERING


def test_meta_fields_of_the_schema_are_left_out(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("_hoodie_commit_time", pa.string()), *SCHEMA])
    assert create(tmp_path / "t", schema=schema).schema == SCHEMA


def test_a_path_may_be_a_file_url(tmp_path: Path) -> None:
    create_table(f"file://{tmp_path}/t", name="t", schema=SCHEMA, record_key=["k"])
    assert open_table(tmp_path / "t").config.name == "t"


def test_a_second_table_at_a_path_is_refused(tmp_path: Path) -> None:
    create(tmp_path / "t")
    before = tree(tmp_path)
    with pytest.raises(TableExistsError, match="there is a table already") as caught:
        create(tmp_path / "t", name="other")
    assert caught.value.path == str(tmp_path / "t")
    assert tree(tmp_path) == before


@pytest.mark.parametrize("moment", ["make_folder", "create"])
def test_a_creation_that_was_stopped_leaves_no_table_and_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    def interrupt(_storage: LocalStorage, _path: str, *_data: bytes) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(LocalStorage, moment, interrupt)
        with pytest.raises(KeyboardInterrupt):
            create(tmp_path / "t")
    with pytest.raises(NotATableError):
        open_table(tmp_path / "t")
    create(tmp_path / "t")
    assert open_table(tmp_path / "t").snapshot().num_rows == 0


Refused = tuple[dict[str, Any], type[HudiFormatError], str]
ODD = SCHEMA.append(pa.field("odd", pa.list_(pa.int8())))
FLAGGED = SCHEMA.append(pa.field("_hoodie_is_deleted", pa.string()))
REFUSED: dict[str, Refused] = {
    "no name": ({"name": ""}, OptionError, "name: expected letters"),
    "a name with a space": ({"name": "my table"}, OptionError, "name: expected letters, digits and _"),
    "an unknown record key": ({"record_key": ["q"]}, SchemaError, "no column 'q'; the columns are k, ts, p, v"),
    "an unknown ordering column": ({"ordering": ["q"]}, SchemaError, "no column 'q'"),
    "an unknown partition column": ({"partition_by": ["q"]}, SchemaError, "no column 'q'"),
    "a record key twice": ({"record_key": ["k", "k"]}, OptionError, "expected each column once, found k, k"),
    "a record key without fixed text": ({"schema": ODD, "record_key": ["odd"]}, SchemaError, "odd"),
    "a partition column without fixed text": ({"schema": ODD, "partition_by": ["odd"]}, SchemaError, "odd"),
    "an ordering column without order": ({"schema": ODD, "ordering": ["odd"]}, SchemaError, "order by numbers"),
    "a delete column of another type": ({"schema": FLAGGED}, SchemaError, "Hudi expects a boolean"),
    "a type that Avro does not have": (
        {"schema": SCHEMA.append(pa.field("n", pa.uint64()))},
        SchemaError,
        "column n of type uint64 cannot be stored",
    ),
    "a name that Avro does not allow": (
        {"schema": SCHEMA.append(pa.field("a b", pa.int32()))},
        SchemaError,
        "not an Avro name",
    ),
    "a column twice": ({"schema": SCHEMA.append(SCHEMA.field("k"))}, SchemaError, "comes twice"),
    "an unknown table type": (
        {"table_type": "MOR"},
        OptionError,
        "expected one of COPY_ON_WRITE, MERGE_ON_READ, found 'MOR'",
    ),
    "version 5": ({"version": 5}, UnsupportedFeatureError, "version: expected one of 6, 8, 9, found 5"),
    "keys of either form": (
        {"version": 8, "partition_by": ["p", "v"]},
        UnsupportedFeatureError,
        "tables below version 9 with the COMPLEX key generator and one record key field; name",
    ),
    "several ordering columns in version 8": (
        {"version": 8, "ordering": ["ts", "v"]},
        OptionError,
        "ordering: expected one column in table version 8, found ts, v",
    ),
    "found 10": ({"version": 10}, UnsupportedFeatureError, "found 10"),
    "event time without ordering columns": (
        {"ordering": [], "options": {"hoodie.record.merge.mode": "EVENT_TIME_ORDERING"}},
        OptionError,
        "expected ordering columns beside",
    ),
    "a custom merge mode": (
        {"options": {"hoodie.record.merge.mode": "CUSTOM"}},
        UnsupportedFeatureError,
        "found CUSTOM; hand open_table a merger",
    ),
    "a time zone": ({"options": {"hoodie.table.timeline.timezone": "CET"}}, OptionError, "LOCAL or UTC, found 'CET'"),
    "a flag": (
        {"options": {"hoodie.datasource.write.hive_style_partitioning": "yes"}},
        OptionError,
        "expected true or false, found 'yes'",
    ),
}


@pytest.mark.parametrize(("changes", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_a_table_is_refused_before_anything_is_written(
    tmp_path: Path, changes: dict[str, Any], error: type[HudiFormatError], message: str
) -> None:
    with pytest.raises(error, match=re.escape(message)):
        create(tmp_path / "t", **changes)
    assert tree(tmp_path) == {}


def test_a_golden_table_is_a_table(golden: Callable[[str], GoldenTable]) -> None:
    with pytest.raises(TableExistsError):
        create_table(golden("v9-mor-avro-h120").table, name="t", schema=SCHEMA, record_key=["k"])
