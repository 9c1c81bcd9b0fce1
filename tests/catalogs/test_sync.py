"""A metastore is told of columns, partitions and commits; what others have done to it stays, or is an error by name."""

from __future__ import annotations

import warnings
from pathlib import Path

import pyarrow as pa
import pytest
from pymetastore.hive_metastore import ttypes

import hudiformat as hf
from hudiformat import CatalogError, HudiFormatWarning, OptionError, Table, UnsupportedFeatureError
from hudiformat.catalogs.column_types import hive_type, spark_schema_text
from hudiformat.codec.avro.types import parse_avro_types
from hudiformat.table.options.keys import parse_write_options
from hudiformat.table.options.sync import Extractor
from tests.catalogs.fake_metastore import FakeMetastore
from tests.tables import new_table, rows

HIVE = "hoodie.datasource.hive_sync."
BY_HIVE, BY_GLUE = "org.apache.hudi.hive.HiveSyncTool", "org.apache.hudi.aws.sync.AwsGlueCatalogSyncTool"
SYNC = {f"{HIVE}enable": "true", f"{HIVE}mode": "hms", f"{HIVE}database": "db"}


@pytest.fixture
def table(tmp_path: Path, metastore_in_memory: FakeMetastore) -> Table:
    return new_table(tmp_path / "t", table_type="COPY_ON_WRITE", options=SYNC)


def names_of(fake: FakeMetastore, name: str = "t") -> list[str]:
    return sorted(fake.partitions["db", name])


def test_a_metastore_is_told_of_nothing_unless_the_options_say_so(
    tmp_path: Path, metastore_in_memory: FakeMetastore
) -> None:
    new_table(tmp_path / "t").upsert(rows(("a", 1, "x", 1)))
    assert metastore_in_memory.asked == []


def test_the_other_switch_tells_the_catalogs_of_its_tools(tmp_path: Path, metastore_in_memory: FakeMetastore) -> None:
    options = {"hoodie.datasource.meta.sync.enable": "true", f"{HIVE}database": "db"}
    new_table(tmp_path / "t", table_type="COPY_ON_WRITE", options=options).upsert(rows(("a", 1, "x", 1)))
    assert names_of(metastore_in_memory) == ["p=x"]


@pytest.mark.parametrize("switch", ["hoodie.datasource.hive_sync.enable", "hoodie.datasource.meta.sync.enable"])
@pytest.mark.parametrize(
    ("named", "told"),
    [
        ({}, ["HIVE"]),
        ({"hoodie.meta.sync.client.tool.class": BY_GLUE}, ["GLUE"]),
        ({"hoodie.meta.sync.client.tool.class": f"{BY_HIVE},{BY_GLUE}"}, ["HIVE", "GLUE"]),
        ({"hoodie.datasource.hive_sync.mode": "glue"}, ["GLUE"]),
        ({"hoodie.datasource.hive_sync.mode": "glue", "hoodie.meta.sync.client.tool.class": BY_GLUE}, ["GLUE"]),
    ],
)
@pytest.mark.all_sets
def test_both_switches_are_for_all_catalogs_that_are_named(switch: str, named: dict[str, str], told: list[str]) -> None:
    """With the older switch Hudi once told a metastore alone, and does not any more."""
    options = parse_write_options({switch: "true", **named}).catalogs
    assert [tool.name for tool in options.after_commits] == told
    assert parse_write_options(named).catalogs.after_commits == ()


def test_the_next_commit_asks_for_its_own_partitions_only(table: Table, metastore_in_memory: FakeMetastore) -> None:
    table.upsert(rows(*((str(n), 1, f"p{n}", 1) for n in range(5))))
    metastore_in_memory.asked.clear()
    table.upsert(rows(("1", 2, "p1", 2), ("9", 1, "p9", 1)))
    assert names_of(metastore_in_memory) == ["p=p0", "p=p1", "p=p2", "p=p3", "p=p4", "p=p9"]
    assert metastore_in_memory.asked == [
        "get_database",
        "get_table_req",
        "get_partitions_by_names",
        "add_partitions_req",
        "get_table_req",
        "alter_table_with_environment_context",
    ]


def test_a_sync_that_has_nothing_to_tell_makes_one_request(table: Table, metastore_in_memory: FakeMetastore) -> None:
    table.upsert(rows(("a", 1, "x", 1)))
    metastore_in_memory.asked.clear()
    report = table.sync_catalog()
    assert not report
    assert metastore_in_memory.asked == ["get_database", "get_table_req"]


def test_a_report_says_what_was_changed(table: Table, metastore_in_memory: FakeMetastore) -> None:
    quiet = hf.open_table(_root(table), options={f"{HIVE}database": "db"})
    commit = quiet.upsert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    first = quiet.sync_catalog("hive://metastore:9083")
    assert (first.catalog, first.commit) == ("thrift://metastore:9083", commit.instant)
    assert [(one.name, one.created, one.added) for one in first.tables] == [("db.t", True, ("x", "y"))]
    quiet.delete_partitions("y")
    quiet.evolve(add={"more": pa.int64()})
    [second] = quiet.sync_catalog("hive://metastore:9083").tables
    assert (second.altered, second.added, second.dropped) == (True, (), ("y",))


def _root(table: Table) -> str:
    return str(table._context.storage.root)


def test_a_partition_that_is_dropped_and_written_again_stays(table: Table, metastore_in_memory: FakeMetastore) -> None:
    table.upsert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    quiet = hf.open_table(_root(table), options={})
    quiet.delete_partitions("y")
    quiet.upsert(rows(("c", 1, "y", 1)))
    table.sync_catalog()
    assert names_of(metastore_in_memory) == ["p=x", "p=y"]


def test_partitions_that_an_overwrite_empties_are_dropped(table: Table, metastore_in_memory: FakeMetastore) -> None:
    table.upsert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    table.insert_overwrite_table(rows(("c", 1, "z", 1)))
    assert names_of(metastore_in_memory) == ["p=z"]


@pytest.mark.parametrize("version", [6, 8, 9])
def test_where_the_timeline_no_longer_reaches_back_all_partitions_are_compared(
    version: int, tmp_path: Path, metastore_in_memory: FakeMetastore
) -> None:
    keep = {"hoodie.keep.max.commits": "4", "hoodie.keep.min.commits": "3", "hoodie.clean.commits.retained": "1"}
    table = new_table(tmp_path / "t", table_type="COPY_ON_WRITE", version=version, options={**SYNC, **keep})
    table.upsert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    quiet = hf.open_table(tmp_path / "t", options=keep)
    quiet.delete_partitions("y")
    for number in range(12):  # the folder of y is emptied by a clean, and the commit that dropped it is archived
        quiet.upsert(rows(("a", number + 2, "x", 1), (f"n{number}", 1, f"p{number}", 1)))
    [synced] = table.sync_catalog().tables
    assert synced.dropped == ("y",)
    assert names_of(metastore_in_memory) == sorted(["p=x", *(f"p=p{number}" for number in range(12))])


def test_a_commit_that_was_rolled_back_leaves_no_partition(table: Table, metastore_in_memory: FakeMetastore) -> None:
    table.upsert(rows(("a", 1, "x", 1)))
    commit = table.upsert(rows(("b", 1, "y", 1)))
    assert names_of(metastore_in_memory) == ["p=x", "p=y"]
    table.rollback(commit)
    assert names_of(metastore_in_memory) == ["p=x"]


def test_a_partition_that_others_have_taken_out_comes_back_by_a_full_comparison(
    table: Table, metastore_in_memory: FakeMetastore
) -> None:
    table.upsert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    del metastore_in_memory.partitions["db", "t"]["p=y"]
    table.upsert(rows(("a", 2, "x", 1)))
    assert names_of(metastore_in_memory) == ["p=x"]
    [synced] = table.sync_catalog(full=True).tables
    assert synced.added == ("y",)


def test_a_partition_at_another_place_is_moved(table: Table, metastore_in_memory: FakeMetastore) -> None:
    table.upsert(rows(("a", 1, "x", 1)))
    metastore_in_memory.partitions["db", "t"]["p=x"].sd.location = "file:/elsewhere/x"
    [synced] = table.sync_catalog(full=True).tables
    assert synced.moved == ("x",)
    assert metastore_in_memory.partitions["db", "t"]["p=x"].sd.location == f"file:{_root(table)}/x"


def test_partitions_are_sent_in_batches(tmp_path: Path, metastore_in_memory: FakeMetastore) -> None:
    options = {**SYNC, f"{HIVE}batch_num": "3", f"{HIVE}filter_pushdown_max_size": "2"}
    table = new_table(tmp_path / "t", table_type="COPY_ON_WRITE", options=options)
    table.upsert(rows(*((str(n), 1, f"p{n}", 1) for n in range(7))))
    assert metastore_in_memory.asked.count("add_partitions_req") == 3
    metastore_in_memory.asked.clear()
    table.upsert(rows(*((str(n), 2, f"p{n}", 1) for n in range(5))))
    assert metastore_in_memory.asked.count("get_partitions_by_names") == 3
    table.delete_partitions([f"p{n}" for n in range(5)])
    assert metastore_in_memory.asked.count("drop_partitions_req") == 2
    assert names_of(metastore_in_memory) == ["p=p5", "p=p6"]


def test_partitions_are_touched_where_that_is_asked_for(tmp_path: Path, metastore_in_memory: FakeMetastore) -> None:
    options = {**SYNC, "hoodie.meta.sync.touch.partitions.enabled": "true"}
    table = new_table(tmp_path / "t", table_type="COPY_ON_WRITE", options=options)
    table.upsert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    assert "alter_partitions" not in metastore_in_memory.asked
    table.upsert(rows(("a", 2, "x", 1)))
    assert metastore_in_memory.asked.count("alter_partitions") == 1


def test_partitions_may_be_left_out(tmp_path: Path, metastore_in_memory: FakeMetastore) -> None:
    options = {**SYNC, "hoodie.meta.sync.no_partition_metadata": "true"}
    new_table(tmp_path / "t", table_type="COPY_ON_WRITE", options=options).upsert(rows(("a", 1, "x", 1)))
    assert names_of(metastore_in_memory) == []


def test_with_a_condition_a_commit_that_changes_nothing_is_not_noted(
    tmp_path: Path, metastore_in_memory: FakeMetastore
) -> None:
    options = {**SYNC, "hoodie.datasource.meta_sync.condition.sync": "true"}
    table = new_table(tmp_path / "t", table_type="COPY_ON_WRITE", options=options)
    first = table.upsert(rows(("a", 1, "x", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    assert metastore_in_memory._of("t").parameters["last_commit_time_sync"] == first.instant
    second = table.upsert(rows(("a", 3, "y", 3)))
    assert metastore_in_memory._of("t").parameters["last_commit_time_sync"] == second.instant


def test_columns_are_added_and_widened_in_the_partitions_too(table: Table, metastore_in_memory: FakeMetastore) -> None:
    table.upsert(rows(("a", 1, "x", 1)))
    table.evolve(add={"more": pa.timestamp("us", "UTC")}, widen={"v": pa.int64()})
    [partition] = metastore_in_memory.partitions["db", "t"].values()
    for storage in (metastore_in_memory._of("t").sd, partition.sd):
        types = {one.name: one.type for one in storage.cols}
        assert (types["v"], types["more"]) == ("bigint", "bigint")


def test_comments_are_told_where_that_is_asked_for(tmp_path: Path, metastore_in_memory: FakeMetastore) -> None:
    table = new_table(tmp_path / "t", table_type="COPY_ON_WRITE", options={**SYNC, f"{HIVE}sync_comment": "true"})
    table.upsert(rows(("a", 1, "x", 1)))
    table.evolve(comment={"v": "a value"})
    comments = {one.name: one.comment for one in metastore_in_memory._of("t").sd.cols}
    assert (comments["v"], comments["k"]) == ("a value", "")


def test_what_others_have_added_to_a_table_stays(table: Table, metastore_in_memory: FakeMetastore) -> None:
    table.upsert(rows(("a", 1, "x", 1)))
    there = metastore_in_memory._of("t")
    there.owner, there.parameters["comment"], there.privileges = "finance", "of the finance team", "kept"
    table.evolve(add={"more": pa.int64()})
    there = metastore_in_memory._of("t")
    assert (there.owner, there.parameters["comment"], there.privileges) == ("finance", "of the finance team", "kept")


def test_a_schema_is_split_at_the_length_that_the_metastore_takes(
    tmp_path: Path, metastore_in_memory: FakeMetastore
) -> None:
    wide = pa.schema([("k", pa.string()), ("p", pa.string()), *((f"column_{n}", pa.int64()) for n in range(200))])
    table = hf.create_table(
        tmp_path / "t", name="t", schema=wide, record_key="k", partition_by="p", table_type="COPY_ON_WRITE"
    )
    table.sync_catalog("hive://metastore:9083", database="db")
    parameters = metastore_in_memory._of("t").parameters
    parts = [parameters[f"spark.sql.sources.schema.part.{n}"] for n in range(4)]
    assert parameters["spark.sql.sources.schema.numParts"] == "4"
    assert [len(part) for part in parts[:3]] == [4000] * 3
    assert '"name":"column_199","type":"long"' in "".join(parts)


def test_a_table_without_commits_is_registered_without_one(tmp_path: Path, metastore_in_memory: FakeMetastore) -> None:
    report = new_table(tmp_path / "t", table_type="COPY_ON_WRITE").sync_catalog("hive://metastore:9083")
    assert report.commit is None
    assert "last_commit_time_sync" not in metastore_in_memory._of("t", "default").parameters


def test_a_missing_database_is_made_or_named(tmp_path: Path, metastore_in_memory: FakeMetastore) -> None:
    table = new_table(tmp_path / "t", options={f"{HIVE}auto_create_database": "false", f"{HIVE}database": "none"})
    with pytest.raises(CatalogError, match="expected the database none, found none; create it, or name another with"):
        table.sync_catalog("hive://metastore:9083")
    assert list(metastore_in_memory.databases) == ["default"]


def test_the_location_may_have_another_scheme_than_the_path(tmp_path: Path, metastore_in_memory: FakeMetastore) -> None:
    options = {**SYNC, "hoodie.datasource.meta.sync.base.path": "s3a://bucket/t"}
    new_table(tmp_path / "t", table_type="COPY_ON_WRITE", options=options).upsert(rows(("a", 1, "x", 1)))
    storage = metastore_in_memory._of("t").sd
    assert (storage.location, storage.serdeInfo.parameters["path"]) == ("s3a://bucket/t", "s3a://bucket/t")
    assert metastore_in_memory.partitions["db", "t"]["p=x"].sd.location == "s3a://bucket/t/x"


def test_a_table_of_that_name_at_another_place_is_replaced_with_a_warning(
    tmp_path: Path, metastore_in_memory: FakeMetastore
) -> None:
    old = new_table(tmp_path / "old", table_type="COPY_ON_WRITE", options=SYNC)
    old.upsert(rows(("a", 1, "x", 1)))
    new = new_table(tmp_path / "new", table_type="COPY_ON_WRITE", options=SYNC)
    with pytest.warns(HudiFormatWarning, match=f"db.t in the catalog .* was the table at {tmp_path}/old, and is now"):
        new.upsert(rows(("b", 1, "y", 1)))
    assert metastore_in_memory._of("t").sd.location == f"file:{tmp_path}/new"
    assert names_of(metastore_in_memory) == ["p=y"]


def test_a_table_that_is_not_hudis_is_never_touched(table: Table, metastore_in_memory: FakeMetastore) -> None:
    serde = ttypes.SerDeInfo(serializationLib="x", parameters={})
    storage = ttypes.StorageDescriptor(cols=[], location="file:/other", inputFormat="text", serdeInfo=serde)
    metastore_in_memory.create_database(ttypes.Database(name="db"))
    metastore_in_memory.create_table(ttypes.Table(dbName="db", tableName="t", sd=storage, parameters={}))
    with pytest.warns(HudiFormatWarning, match="expected a table of Hudi's, or none, as db.t, found one with"):
        commit = table.upsert(rows(("a", 1, "x", 1)))
    assert commit.num_writes == 1
    assert metastore_in_memory._of("t").sd.location == "file:/other"


def test_other_partition_columns_are_an_error_or_make_the_table_anew(
    tmp_path: Path, metastore_in_memory: FakeMetastore
) -> None:
    table = new_table(tmp_path / "t", table_type="COPY_ON_WRITE")
    table.upsert(rows(("a", 1, "x", 1)))
    table.sync_catalog("hive://metastore:9083")
    options = {f"{HIVE}partition_fields": "q"}
    with pytest.raises(CatalogError, match="expected default.t with the partition columns q, found p, which cannot be"):
        hf.open_table(tmp_path / "t", options=options).sync_catalog("hive://metastore:9083", full=True)
    options[f"{HIVE}recreate_table_on_error"] = "true"
    [synced] = hf.open_table(tmp_path / "t", options=options).sync_catalog("hive://metastore:9083", full=True).tables
    assert synced.created
    keys = [(one.name, one.type) for one in metastore_in_memory._of("t", "default").partitionKeys]
    assert keys == [("q", "string")]


class TestErrors:
    def test_an_error_is_a_warning_that_names_the_commit_and_the_command(
        self, table: Table, metastore_in_memory: FakeMetastore
    ) -> None:
        metastore_in_memory.failures["create_table"] = ttypes.MetaException(message="no room")
        with pytest.warns(HudiFormatWarning) as warned:
            commit = table.upsert(rows(("a", 1, "x", 1)))
        [text] = [str(one.message) for one in warned]
        assert text == (
            f"{_root(table)}: the write {commit.instant} is committed, but a catalog was not told: "
            "thrift://localhost:9083: cannot create the table db.t: no room; tell it with: "
            f"hudiformat sync {_root(table)} --database db"
        )
        assert table.count() == 1

    def test_it_may_be_ignored(self, tmp_path: Path, metastore_in_memory: FakeMetastore) -> None:
        metastore_in_memory.failures["get_database"] = ttypes.MetaException(message="down")
        table = new_table(tmp_path / "t", options={**SYNC, f"{HIVE}ignore_exceptions": "true"})
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert table.upsert(rows(("a", 1, "x", 1))).num_writes == 1

    def test_what_was_missed_is_told_with_the_next_commit(
        self, table: Table, metastore_in_memory: FakeMetastore
    ) -> None:
        table.upsert(rows(("a", 1, "x", 1)))
        metastore_in_memory.failures["add_partitions_req"] = ttypes.MetaException(message="down")
        with pytest.warns(HudiFormatWarning, match="cannot add partitions to db.t: down"):
            table.upsert(rows(("b", 1, "y", 1)))
        metastore_in_memory.failures.clear()
        table.upsert(rows(("c", 1, "z", 1)))
        assert names_of(metastore_in_memory) == ["p=x", "p=y", "p=z"]

    @pytest.mark.parametrize("mode", ["jdbc", "hiveql"])
    def test_another_mode_is_refused_before_anything_is_written(self, mode: str, tmp_path: Path) -> None:
        new_table(tmp_path / "t")
        asked = {f"{HIVE}mode": mode}
        hf.open_table(tmp_path / "t", options=asked)  # it asks for nothing
        expected = (
            f"{HIVE}mode: expected hms, found {mode}, which needs Hive's own classes in Java; write {HIVE}mode=hms and "
            f"{HIVE}metastore.uris=thrift://<host>:9083"
        )
        with pytest.raises(UnsupportedFeatureError) as error:
            hf.open_table(tmp_path / "t", options={**asked, f"{HIVE}enable": "true"})
        assert str(error.value) == expected
        with pytest.raises(UnsupportedFeatureError, match="expected hms"):
            hf.open_table(tmp_path / "t", options=asked).sync_catalog()

    def test_a_metastore_that_does_not_answer_is_named(self, tmp_path: Path) -> None:
        table = new_table(tmp_path / "t")
        with pytest.raises(CatalogError, match="cannot reach the Hive Metastore: thrift://127.0.0.1:1: .*; name its"):
            table.sync_catalog("hive://127.0.0.1:1")

    @pytest.mark.parametrize("uri", ["jdbc:hive2://h:10000", "hive://", "s3://bucket", "thrift://h:port"])
    def test_an_address_of_another_form_is_refused(self, uri: str, tmp_path: Path) -> None:
        with pytest.raises(OptionError, match="expected (hive|thrift)://<host>:<port>.*, found"):
            new_table(tmp_path / "t").sync_catalog(uri)

    def test_a_type_that_hive_does_not_have_is_named(self) -> None:
        text = '{"type":"record","name":"r","fields":[{"name":"u","type":["null","string","long"]}]}'
        [column] = parse_avro_types(text).columns
        expected = "column u: expected a type that Hive and Spark have, found union"
        with pytest.raises(hf.SchemaError, match=expected):
            hive_type(column, timestamps=False)
        with pytest.raises(hf.SchemaError, match=expected):
            spark_schema_text([column])


def test_hoodie_properties_name_the_extractor_that_was_asked_for(tmp_path: Path) -> None:
    plain = new_table(tmp_path / "a")
    key = "hoodie.table.partition_extractor_class"
    assert plain.config.properties[key] == Extractor.SINGLE_PART.value
    chosen = new_table(tmp_path / "b", options={f"{HIVE}partition_extractor_class": Extractor.MULTI_PART.value})
    assert chosen.config.properties[key] == Extractor.MULTI_PART.value


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, ["t", "t_ro", "t_rt"]),
        ({"hoodie.meta.sync.sync_snapshot_with_table_name": "false"}, ["t_ro", "t_rt"]),
        ({f"{HIVE}skip_ro_suffix": "true", "hoodie.meta.sync.sync_snapshot_with_table_name": "false"}, ["t", "t_rt"]),
        ({f"{HIVE}table.strategy": "ro"}, ["t"]),
        ({f"{HIVE}table": "Trips"}, ["trips", "trips_ro", "trips_rt"]),
    ],
)
def test_a_merge_on_read_table_has_the_names_that_are_asked_for(
    options: dict[str, str], names: list[str], tmp_path: Path, metastore_in_memory: FakeMetastore
) -> None:
    table = new_table(tmp_path / "t", options={**SYNC, **options})
    for value in (1, 2):  # with skip_ro_suffix and all names, t is with log files from the second commit on
        table.upsert(rows(("a", value, "x", value)))
        assert sorted(name for _, name in metastore_in_memory.tables) == names
    if len(names) == 2 and "t" in names:
        assert metastore_in_memory._of("t").sd.serdeInfo.parameters["hoodie.query.as.ro.table"] == "true"


def test_keys_that_change_nothing_in_hudi_either_are_taken_without_a_warning(
    tmp_path: Path, metastore_in_memory: FakeMetastore
) -> None:
    asked = {
        "use_jdbc": "false",
        "username": "me",
        "password": "x",
        "jdbcurl": "jdbc:hive2://h:1",
        "bucket_sync": "true",
    }
    options = {**SYNC, **{f"{HIVE}{key}": value for key, value in asked.items()}}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*the table does not keep")
        new_table(tmp_path / "t", table_type="COPY_ON_WRITE", options=options).upsert(rows(("a", 1, "x", 1)))
    assert metastore_in_memory._of("t").sd.numBuckets == 0


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_tables_with_base_files_in_orc_have_hive_s_own_classes(
    table_type: str, tmp_path: Path, metastore_in_memory: FakeMetastore
) -> None:
    options = {**SYNC, "hoodie.table.base.file.format": "ORC"}
    new_table(tmp_path / "t", table_type=table_type, options=options).upsert(rows(("a", 1, "x", 1)))
    assert metastore_in_memory.tables
    for found in metastore_in_memory.tables.values():
        classes = (found.sd.inputFormat, found.sd.outputFormat, found.sd.serdeInfo.serializationLib)
        assert classes == tuple(
            f"org.apache.hadoop.hive.ql.io.orc.Orc{one}" for one in ("InputFormat", "OutputFormat", "Serde")
        )
