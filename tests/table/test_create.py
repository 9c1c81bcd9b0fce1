"""Creating and opening tables, and everything that is refused there."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudiformat import (
    CorruptTableError,
    HudiFormatError,
    HudiFormatWarning,
    NotATableError,
    OptionError,
    SchemaError,
    StorageError,
    TableExistsError,
    UnsupportedFeatureError,
    create_table,
    open_table,
)
from hudiformat.options import keys as option_keys
from hudiformat.options.values import IndexType
from hudiformat.timeline import MergeMode, TableType, TimelineZone
from tests.tables import SCHEMA, content, new_table, rows, tree


def create(path: Path, **changes: Any) -> Any:
    arguments = {"name": "t", "schema": SCHEMA, "record_key": ["k"], "ordering": ["ts"], "partition_by": ["p"]}
    return create_table(path, **{**arguments, **changes})


def edit(path: Path, key: str, value: str | None) -> None:
    """Set a property of the table at *path*, or take it out."""
    file = path / ".hoodie" / "hoodie.properties"
    lines = [line for line in file.read_text().splitlines() if not line.startswith(f"{key}=")]
    file.write_text("\n".join(lines + ([] if value is None else [f"{key}={value}"])) + "\n")


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
    assert table.context.options.num_buckets == open_table(tmp_path / "t").context.options.num_buckets == 4


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


Refused = tuple[dict[str, Any], type[HudiFormatError], str]
ODD = SCHEMA.append(pa.field("odd", pa.list_(pa.int8())))
FLAGGED = SCHEMA.append(pa.field("_hoodie_is_deleted", pa.string()))
REFUSED: dict[str, Refused] = {
    "no name": ({"name": ""}, OptionError, "needs a name"),
    "no record key": ({"record_key": []}, OptionError, "at least one column"),
    "an unknown record key": ({"record_key": ["q"]}, SchemaError, "no column 'q'; the columns are k, ts, p, v"),
    "an unknown ordering column": ({"ordering": ["q"]}, SchemaError, "no column 'q'"),
    "an unknown partition column": ({"partition_by": ["q"]}, SchemaError, "no column 'q'"),
    "a record key twice": ({"record_key": ["k", "k"]}, OptionError, "named twice: k, k"),
    "a record key without fixed text": ({"schema": ODD, "record_key": ["odd"]}, SchemaError, "odd"),
    "a partition column without fixed text": ({"schema": ODD, "partition_by": ["odd"]}, SchemaError, "odd"),
    "an ordering column without order": ({"schema": ODD, "ordering": ["odd"]}, SchemaError, "no order that Hudi knows"),
    "a delete column of another type": ({"schema": FLAGGED}, SchemaError, "Hudi takes it for a boolean"),
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
    "a column twice": ({"schema": SCHEMA.append(SCHEMA.field("k"))}, SchemaError, "there twice"),
    "an unknown table type": (
        {"table_type": "MOR"},
        OptionError,
        "expected one of COPY_ON_WRITE, MERGE_ON_READ, found 'MOR'",
    ),
    "version 5": ({"version": 5}, UnsupportedFeatureError, "version 5 cannot be written; 6, 8, 9 can"),
    "keys of either form": (
        {"version": 8, "partition_by": ["p", "v"]},
        UnsupportedFeatureError,
        "tables below version 9 with the COMPLEX key generator and one record key field cannot be written: name",
    ),
    "several ordering columns in version 8": (
        {"version": 8, "ordering": ["ts", "v"]},
        OptionError,
        "a table of version 8 has one ordering field, found ts, v",
    ),
    "version 10": ({"version": 10}, UnsupportedFeatureError, "version 10"),
    "event time without ordering columns": (
        {"ordering": [], "options": {"hoodie.record.merge.mode": "EVENT_TIME_ORDERING"}},
        OptionError,
        "needs ordering columns",
    ),
    "a custom merge mode": (
        {"options": {"hoodie.record.merge.mode": "CUSTOM"}},
        UnsupportedFeatureError,
        "hoodie.record.merge.mode=CUSTOM",
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


def test_a_path_without_a_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "nothing", tmp_path / "file"):
        with pytest.raises(NotATableError, match="not a Hudi table") as caught:
            open_table(path)
        assert caught.value.path == str(path)
    with pytest.raises(StorageError, match="cannot open nfs4://bucket/table"):
        open_table("nfs4://bucket/table")


@pytest.mark.parametrize("version", ["5", "10"])
def test_tables_of_other_versions_are_refused_by_name(tmp_path: Path, version: str) -> None:
    create(tmp_path / "t")
    edit(tmp_path / "t", "hoodie.table.version", version)
    before = tree(tmp_path)
    with pytest.raises(UnsupportedFeatureError, match=f"table version {version} is not supported") as caught:
        open_table(tmp_path / "t")
    assert caught.value.feature == f"table version {version}"
    assert tree(tmp_path) == before


def test_damaged_properties_are_refused(tmp_path: Path) -> None:
    create(tmp_path / "t")
    edit(tmp_path / "t", "hoodie.table.checksum", "1")
    with pytest.raises(CorruptTableError, match="hoodie.table.checksum"):
        open_table(tmp_path / "t")


@pytest.mark.parametrize(
    ("key", "value", "feature"),
    [
        ("hoodie.populate.meta.fields", "false", "tables without meta fields"),
        ("hoodie.datasource.write.drop.partition.columns", "true", "dropped partition columns"),
        ("hoodie.datasource.write.slash.separated.date.partitioning", "true", "slash-separated dates"),
        ("hoodie.table.base.file.format", "ORC", "base files of format ORC"),
        ("hoodie.partition.metafile.use.base.format", "true", "partition metadata files in base-file format"),
        ("hoodie.bootstrap.base.path", "/somewhere", "bootstrapped tables"),
        ("hoodie.record.merge.mode", "CUSTOM", "CUSTOM merge mode"),
        ("hoodie.table.partial.update.mode", "IGNORE_DEFAULTS", "partial update mode"),
        ("hoodie.table.keygenerator.type", "TIMESTAMP", "key generator TIMESTAMP"),
        ("hoodie.table.keygenerator.class", "com.example.Mine", "key generator com.example.Mine"),
        ("hoodie.table.recordkey.fields", None, "no record key"),
    ],
)
def test_tables_that_cannot_be_written_are_refused_before_anything_is_written(
    tmp_path: Path, key: str, value: str | None, feature: str
) -> None:
    create(tmp_path / "t")
    edit(tmp_path / "t", key, value)
    before = tree(tmp_path)
    table = open_table(tmp_path / "t")
    for write in (table.insert, table.upsert, table.delete):
        with pytest.raises(UnsupportedFeatureError) as caught:
            write(rows(("a", 1, "x")))
        assert caught.value.feature == feature
    assert tree(tmp_path) == before


def test_custom_delete_markers_are_read_and_not_written(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    table.insert(rows(("a", 1, "x", 7), ("b", 1, "x", 8)))
    table.upsert(rows(("a", 2, "x", 9), ("b", 2, "x", 10)))
    edit(tmp_path / "t", "hoodie.record.merge.property.hoodie.payload.delete.field", "v")
    edit(tmp_path / "t", "hoodie.record.merge.property.hoodie.payload.delete.marker", "9")
    table = open_table(tmp_path / "t")
    assert table.snapshot(columns=["k"]).to_pydict() == {"k": ["b"]}
    with pytest.raises(UnsupportedFeatureError, match="custom delete markers"):
        table.upsert(rows(("a", 3, "x", 9)))


@pytest.mark.parametrize(
    ("key", "value", "feature"),
    [
        ("hoodie.table.base.file.format", "ORC", "base files of format ORC"),
        ("hoodie.bootstrap.base.path", "/somewhere", "bootstrapped tables"),
        ("hoodie.record.merge.mode", "CUSTOM", "CUSTOM merge mode"),
    ],
)
def test_tables_that_cannot_be_read_are_refused_by_name(tmp_path: Path, key: str, value: str, feature: str) -> None:
    table = new_table(tmp_path / "t")
    table.insert(rows(("a", 1, "x", 7)))
    table.upsert(rows(("a", 2, "x", 9)))
    edit(tmp_path / "t", key, value)
    with pytest.raises(UnsupportedFeatureError) as caught:
        open_table(tmp_path / "t").snapshot()
    assert caught.value.feature == feature


def test_a_table_without_any_schema_is_refused(tmp_path: Path) -> None:
    create(tmp_path / "t")
    edit(tmp_path / "t", "hoodie.table.create.schema", None)
    with pytest.raises(SchemaError, match="no commit yet, and was created without a schema"):
        open_table(tmp_path / "t").snapshot()


BAD_OPTIONS: dict[str, tuple[dict[str, str], type[HudiFormatError], str]] = {
    "a slip": ({"hoodie.index.typ": "BUCKET"}, OptionError, "did you mean 'hoodie.index.type'?"),
    "a slip in the middle": ({"hoodie.logfle.max.size": "1"}, OptionError, "did you mean 'hoodie.logfile.max.size'?"),
    "nobody's key": ({"zzz": "1"}, OptionError, "unknown option 'zzz'; known are "),
    "a Spark option": ({"path": "x"}, OptionError, "unknown option 'path'"),
    "an unknown index": ({"hoodie.index.type": "HASH"}, OptionError, "one of SIMPLE, BLOOM, INMEMORY, BUCKET"),
    "no buckets": ({"hoodie.bucket.index.num.buckets": "0"}, OptionError, "expected a positive whole number"),
    "no number": ({"hoodie.logfile.max.size": "1GB"}, OptionError, "expected a positive whole number, found '1GB'"),
    "a negative size": ({"hoodie.logfile.data.block.max.size": "-1"}, OptionError, "found '-1'"),
    "a codec": ({"hoodie.parquet.compression.codec": "lzo"}, OptionError, "gzip, snappy, zstd, uncompressed"),
    "no boolean": ({"hoodie.combine.before.upsert": "1"}, OptionError, "expected true or false, found '1'"),
    "no whole number": ({"hoodie.parquet.small.file.limit": "1.5"}, OptionError, "a whole number, found '1.5'"),
    "a negative share": ({"hoodie.record.size.estimation.threshold": "-1"}, OptionError, "0 or more, found '-1'"),
    "no share": ({"hoodie.logfile.to.parquet.compression.ratio": "third"}, OptionError, "0 or more, found 'third'"),
    "a rule of nobody's": ({"hudiformat.sizing": "java"}, OptionError, "expected one of spark, flink, found 'java'"),
    "a policy": ({"hoodie.datasource.insert.dup.policy": "keep"}, OptionError, "none, drop, fail"),
    "a sort mode": ({"hoodie.bulkinsert.sort.mode": "ZORDER"}, OptionError, "NONE, GLOBAL_SORT, PARTITION_SORT"),
    "a sort mode of Hudi's": (
        {"hoodie.bulkinsert.sort.mode": "partition_path_repartition"},
        UnsupportedFeatureError,
        "supported are NONE, GLOBAL_SORT, PARTITION_SORT",
    ),
    "no boolean for the metadata table": ({"hoodie.metadata.enable": "on"}, OptionError, "expected true or false"),
    "HFiles in log blocks": (
        {"hoodie.logfile.data.block.format": "HFile"},
        UnsupportedFeatureError,
        "hoodie.logfile.data.block.format=HFile: supported are avro and parquet; Hudi 1.x writes HFile blocks",
    ),
    "an unknown block format": ({"hoodie.logfile.data.block.format": "orc"}, OptionError, "expected one of avro"),
    **{
        f"the index {name}": ({"hoodie.index.type": name}, UnsupportedFeatureError, f"hoodie.index.type={name}")
        for name in ("RECORD_INDEX", "RECORD_LEVEL_INDEX", "FLINK_STATE", "HBASE")
    },
}


@pytest.mark.parametrize(("options", "error", "message"), BAD_OPTIONS.values(), ids=BAD_OPTIONS)
def test_bad_options_are_refused(
    tmp_path: Path, options: dict[str, str], error: type[HudiFormatError], message: str
) -> None:
    with pytest.raises(error, match=re.escape(message)):
        create(tmp_path / "t", options=options)
    assert tree(tmp_path) == {}
    create(tmp_path / "t")
    with pytest.raises(error, match=re.escape(message)):
        open_table(tmp_path / "t", options=options)


def test_options_that_are_what_happens_anyway(tmp_path: Path) -> None:
    create(tmp_path / "t")
    options = {
        "hoodie.metadata.enable": "false",
        "hoodie.index.type": "bloom",
        "hoodie.logfile.data.block.format": "AVRO",
        "hoodie.parquet.compression.codec": "ZSTD",
        "hoodie.bucket.index.hash.field": "k",
    }
    assert open_table(tmp_path / "t", options=options).context.options.index_type is IndexType.BLOOM


def test_a_key_of_hudis_that_means_nothing_here_warns_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(option_keys, "_warned", set())
    create(tmp_path / "t")
    options = {"hoodie.clean.parallelism": "4", "hoodie.insert.shuffle.parallelism": "2"}
    with pytest.warns(HudiFormatWarning, match="means nothing to hudiformat") as caught:
        open_table(tmp_path / "t", options=options)
    assert len(caught) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        open_table(tmp_path / "t", options=options)


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


def test_the_metadata_table_may_be_asked_for_in_reading_and_not_in_writing(tmp_path: Path) -> None:
    create(tmp_path / "t")
    before = tree(tmp_path)
    table = open_table(tmp_path / "t", options={"hoodie.metadata.enable": "true"})
    assert table.snapshot().num_rows == 0
    with pytest.raises(UnsupportedFeatureError, match="a metadata table of its own"):
        table.insert(rows(("a", 1, "x")))
    assert tree(tmp_path) == before


AGREED = {
    "hoodie.table.name": "t",
    "hoodie.datasource.write.recordkey.field": "k",
    "hoodie.datasource.write.partitionpath.field": "p",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.table.type": "merge_on_read",
    "hoodie.datasource.write.hive_style_partitioning": "false",
    "hoodie.table.timeline.timezone": "local",
}


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


def test_tables_of_hudi_that_are_not_written_yet(own_golden: Callable[[str], Path]) -> None:
    for name, feature in {
        "v9-mor-parquet-partition-file-h120": "partition metadata files in base-file format",
        "v9-mor-timestamp-keygen-h120": "key generator TIMESTAMP",
    }.items():
        path = own_golden(name)
        before = tree(path)
        with pytest.raises(UnsupportedFeatureError) as caught:
            open_table(path).upsert(rows(("a", 1, "x")))
        assert caught.value.feature == feature
        assert tree(path) == before


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


def test_another_bucket_engine_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedFeatureError, match="supported is simple"):
        new_table(tmp_path / "t", options={"hoodie.index.bucket.engine": "CONSISTENT_HASHING"})
    assert tree(tmp_path) == {}
