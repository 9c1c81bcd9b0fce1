"""AWS Glue is told of a table in few requests; what it refuses is sent again, or is an error by name."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat import CatalogError, HudiFormatWarning, NotATableError, OptionError, UnsupportedFeatureError
from hudiformat.catalogs.glue import GlueCatalog, _open_client
from hudiformat.catalogs.hive import HiveCatalog
from hudiformat.catalogs.objects import CatalogPartition, CatalogTable
from hudiformat.table.options.keys import parse_write_options
from hudiformat.table.options.sync import GlueOptions
from tests.catalogs.fake_metastore import FakeMetastore
from tests.catalogs.hudi_cases import cases, writes
from tests.effort import sample
from tests.tables import content, new_table, rows

boto3 = pytest.importorskip("boto3")
moto = pytest.importorskip("moto")

KEYS = "hoodie.datasource.meta.sync.glue."
SYNC = {
    "hoodie.datasource.meta.sync.enable": "true",
    "hoodie.meta.sync.client.tool.class": "org.apache.hudi.aws.sync.AwsGlueCatalogSyncTool",
    "hoodie.datasource.hive_sync.database": "lake",
}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """A Glue of moto's, and how often it was asked for what."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "k",
        "AWS_SECRET_ACCESS_KEY": "s",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    found: Counter[str] = Counter()
    with moto.mock_aws():
        client = boto3.client("glue")
        client.meta.events.register("before-call.glue.*", lambda model, **_: found.update([model.name]))
        monkeypatch.setattr("hudiformat.catalogs.glue._open_client", lambda _options: client)
        monkeypatch.setattr(client, "close", lambda: None)
        yield found


def raw(name: str = "t", database: str = "lake") -> Any:
    return boto3.client("glue").get_table(DatabaseName=database, Name=name)["Table"]


def values(name: str = "t", database: str = "lake") -> list[list[str]]:
    pages = boto3.client("glue").get_paginator("get_partitions").paginate(DatabaseName=database, TableName=name)
    return sorted(one["Values"] for page in pages for one in page["Partitions"])


def test_glue_has_what_a_metastore_has(tmp_path: Path, asked: Counter[str]) -> None:
    table = new_table(tmp_path / "t", table_type="COPY_ON_WRITE", options=SYNC)
    commit = table.upsert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    there = raw()
    storage = there["StorageDescriptor"]
    assert there["TableType"] == "EXTERNAL_TABLE"
    assert there["Parameters"]["EXTERNAL"] == "TRUE"
    assert there["Parameters"]["hudi.metadata-listing-enabled"] == "FALSE"
    assert there["Parameters"]["last_commit_time_sync"] == commit.instant
    assert there["PartitionKeys"] == [{"Name": "p", "Type": "string", "Comment": ""}]
    assert [one["Name"] for one in storage["Columns"]][5:] == ["k", "ts", "v"]
    assert storage["InputFormat"] == "org.apache.hudi.hadoop.HoodieParquetInputFormat"
    assert storage["SerdeInfo"]["Parameters"]["path"] == str(tmp_path / "t")
    assert values() == [["x"], ["y"]]
    assert asked == Counter(
        GetDatabase=1, CreateDatabase=1, GetTable=2, CreateTable=1, BatchCreatePartition=1, UpdateTable=1
    )
    asked.clear()
    table.upsert(rows(("a", 2, "x", 2), ("c", 1, "z", 1)))
    assert asked == Counter(GetDatabase=1, GetTable=2, BatchGetPartition=1, BatchCreatePartition=1, UpdateTable=1)
    table.delete_partitions("y")
    table.evolve(add={"more": pa.int64()})
    assert values() == [["x"], ["z"]]
    assert raw()["StorageDescriptor"]["Columns"][-1]["Name"] == "more"
    partition = boto3.client("glue").get_partition(DatabaseName="lake", TableName="t", PartitionValues=["x"])
    assert partition["Partition"]["StorageDescriptor"]["Columns"][-1]["Name"] == "more"
    asked.clear()
    assert not table.sync_catalog()
    assert asked == Counter(GetDatabase=1, GetTable=1)


def test_partitions_go_in_batches_of_100_and_25(tmp_path: Path, asked: Counter[str]) -> None:
    table = new_table(tmp_path / "t", table_type="COPY_ON_WRITE")
    names = [f"p{number:03}" for number in range(230)]
    table.bulk_insert(rows(*((name, 1, name, 1) for name in names)))
    table.sync_catalog("glue://", database="lake")
    assert asked["BatchCreatePartition"] == 3
    assert values() == [[name] for name in names]
    asked.clear()
    table.delete_partitions(names[:60])
    options = {f"{KEYS}partition_change_parallelism": "3", f"{KEYS}all_partitions_read_parallelism": "2"}
    wide = hf.open_table(tmp_path / "t", options=options)
    [synced, *_] = wide.sync_catalog("glue://", database="lake", full=True).tables
    assert len(synced.dropped) == 60
    assert asked["BatchDeletePartition"] == 3
    assert asked["GetPartitions"] >= 2
    assert values() == [[name] for name in names[60:]]


def test_its_own_keys_name_the_table_and_what_it_is_told(tmp_path: Path, asked: Counter[str]) -> None:
    own = {
        f"{KEYS}database_name": "other",
        f"{KEYS}table_name": "trips",
        f"{KEYS}metadata_file_listing": "true",
        f"{KEYS}resource_tags": "team:data,env:test",
        f"{KEYS}skip_table_archive": "false",
        "hoodie.datasource.meta.sync.base.path": "s3a://bucket/t",
        "hoodie.datasource.hive_sync.create_managed_table": "true",
    }
    table = new_table(tmp_path / "t", table_type="COPY_ON_WRITE", options={**SYNC, **own})
    table.upsert(rows(("a", 1, "x", 1)))
    there = raw("trips", "other")
    assert there["TableType"] == "EXTERNAL_TABLE"
    assert "EXTERNAL" not in there["Parameters"]
    assert there["Parameters"]["hudi.metadata-listing-enabled"] == "TRUE"
    assert there["StorageDescriptor"]["Location"] == "s3://bucket/t"
    assert there["StorageDescriptor"]["SerdeInfo"]["Parameters"]["path"] == "s3a://bucket/t"
    partition = boto3.client("glue").get_partition(DatabaseName="other", TableName="trips", PartitionValues=["x"])
    assert partition["Partition"]["StorageDescriptor"]["Location"] == "s3://bucket/t/x"
    [synced] = table.sync_catalog().tables
    assert not synced


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("all_partitions_read_parallelism", "11", "expected a number from 1 to 10, found '11'"),
        ("resource_tags", "team", "expected name:value, found 'team'"),
        ("skip_table_archive", "perhaps", "expected true or false"),
    ],
)
def test_a_bad_value_is_refused(key: str, value: str, expected: str, tmp_path: Path) -> None:
    new_table(tmp_path / "t")
    with pytest.raises(OptionError, match=f"{KEYS}{key}: {expected}"):
        hf.open_table(tmp_path / "t", options={f"{KEYS}{key}": value})


def test_tables_are_listed_and_opened_by_name(tmp_path: Path, asked: Counter[str]) -> None:
    table = new_table(tmp_path / "t")
    table.upsert(rows(("a", 1, "x", 1)))
    table.sync_catalog("glue://", database="lake")
    catalog = hf.catalog("glue://")
    assert catalog.uri == "glue://"
    assert catalog.list_namespaces() == [("lake",)]
    assert catalog.list_tables("lake") == [("lake", "t"), ("lake", "t_ro"), ("lake", "t_rt")]
    assert content(hf.open_table("glue://lake.t")) == content(catalog.load_table("lake.t")) == [("a", 1, "x", 1)]
    with pytest.raises(NotATableError, match="glue://: there is no table lake.none"):
        hf.open_table("glue://lake.none")
    with pytest.raises(CatalogError, match="glue://: cannot list the tables of none: .*EntityNotFoundException"):
        catalog.list_tables("none")
    catalog.close()


def test_an_error_names_the_command_for_glue(tmp_path: Path, asked: Counter[str]) -> None:
    options = {**SYNC, "hoodie.datasource.hive_sync.auto_create_database": "false"}
    table = new_table(tmp_path / "t", options=options)
    with pytest.warns(HudiFormatWarning, match="expected the database lake, .*--metastore glue:// --database lake"):
        table.upsert(rows(("a", 1, "x", 1)))


@pytest.mark.parametrize("case", sample(sorted(cases()), of=14))
def test_in_each_case_glue_has_what_a_metastore_has(
    case: str, tmp_path: Path, asked: Counter[str], metastore_in_memory: FakeMetastore
) -> None:
    path = tmp_path / case
    tools = "hoodie.meta.sync.client.tool.class"
    more = {**SYNC, tools: f"org.apache.hudi.hive.HiveSyncTool,{SYNC[tools]}"}
    del more["hoodie.datasource.hive_sync.database"]
    of_glue, metastore = GlueCatalog(GlueOptions()), HiveCatalog(["metastore"])
    for step in writes(case, path, more):
        there, known = of_glue.tables("db"), metastore.tables("db")
        assert [_common(one) for one in there] == [_common(one) for one in known], step
        for table in known:
            listed = [set(catalog.partitions(table)) for catalog in (of_glue, metastore) if table.partition_keys]
            assert all(one == listed[0] for one in listed)
    # Hudi makes a request for each change of a table, and one more for its indexes
    assert asked["UpdateTable"] <= 4 * len(metastore_in_memory.tables) * 6


def _common(table: CatalogTable) -> CatalogTable:
    """A table without what Glue and a metastore have each for themselves, and without who and when."""
    own = ("EXTERNAL", "hudi.metadata-listing-enabled", "transient_lastDdlTime")
    parameters = {key: value for key, value in table.parameters.items() if key not in own}
    return replace(table, parameters=parameters, table_type="", owner="")


class FakeClient:
    """As much of boto3's client as refuses what moto never refuses."""

    def __init__(self, answers: dict[str, list[Any]]) -> None:
        self.answers = answers
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.exceptions = boto3.client("glue", region_name="us-east-1").exceptions

    def __getattr__(self, name: str) -> Any:
        def call(*_: Any, **arguments: Any) -> Any:
            self.calls.append((name, arguments))
            answer = self.answers[name].pop(0) if len(self.answers[name]) > 1 else self.answers[name][0]
            if isinstance(answer, Exception):
                raise answer
            return answer

        return call


class Pages:
    def __init__(self, *pages: Any) -> None:
        self.pages = pages

    def paginate(self, **_: Any) -> Any:
        return self.pages


def client_error(code: str) -> Exception:
    from botocore.exceptions import ClientError

    return ClientError(  # type: ignore[no-any-return]  # its types are unknown
        {"Error": {"Code": code, "Message": "no"}}, "call"
    )


def glue(answers: dict[str, list[Any]], **options: Any) -> tuple[GlueCatalog, FakeClient, list[float]]:
    client, pauses = FakeClient(answers), list[float]()
    return GlueCatalog(GlueOptions(**options), client=client, pause=pauses.append), client, pauses


TABLE = {
    "Name": "t",
    "VersionId": "7",
    "PartitionKeys": [{"Name": "p", "Type": "string"}],
    "CreatedBy": "me",
    "Retention": 0,
    "Description": "of the team",
    "Parameters": {"theirs": "1"},
    "StorageDescriptor": {"Location": "s3://b/t", "NumberOfBuckets": -1},
}


def test_a_table_that_others_change_meanwhile_is_read_again() -> None:
    catalog, client, pauses = glue(
        {
            "get_table": [{"Table": TABLE}, {"Table": TABLE}, {"Table": {**TABLE, "VersionId": "8"}}],
            "update_table": [client_error("ConcurrentModificationException"), {}],
        }
    )
    found = catalog.table("db", "t")
    assert found is not None
    catalog.alter_table(found, cascade=False)
    updates = [arguments for name, arguments in client.calls if name == "update_table"]
    assert [one["VersionId"] for one in updates] == ["7", "8"]
    assert updates[0]["SkipArchive"] is True
    described = updates[0]["TableInput"]
    assert (described["Description"], described["Parameters"]) == ("of the team", {"theirs": "1"})
    assert described["StorageDescriptor"]["NumberOfBuckets"] == -1
    assert "CreatedBy" not in described
    assert pauses == [0.1]


def test_a_table_that_is_always_changed_or_gone_is_an_error() -> None:
    catalog, _, pauses = glue(
        {"get_table": [{"Table": TABLE}], "update_table": [client_error("VersionMismatchException")]}
    )
    found = catalog.table("db", "t")
    assert found is not None
    with pytest.raises(CatalogError, match="glue://: cannot change the table db.t: .*VersionMismatchException"):
        catalog.alter_table(found, cascade=False)
    assert pauses == [0.1, 0.2, 0.4, 0.8]
    catalog, _, _ = glue({"get_table": [client_error("EntityNotFoundException")]})
    with pytest.raises(CatalogError, match="another process has dropped db.t; sync again"):
        catalog.alter_table(found, cascade=False)


def errors(code: str, *names: str) -> dict[str, Any]:
    return {"Errors": [{"PartitionValues": [name], "ErrorDetail": {"ErrorCode": code}} for name in names]}


def test_partitions_that_are_refused_are_sent_again() -> None:
    catalog, client, _ = glue(
        {
            "get_table": [{"Table": TABLE}],
            "batch_create_partition": [errors("InternalServiceException", "b"), errors("AlreadyExistsException", "b")],
            "batch_delete_partition": [errors("EntityNotFoundException", "a")],
            "batch_update_partition": [errors("InvalidInputException", "a")],
            "batch_get_partition": [
                {"Partitions": [], "UnprocessedKeys": [{"Values": ["b"]}]},
                {"Partitions": [{"Values": ["b"], "StorageDescriptor": {"Location": "x"}}]},
            ],
        }
    )
    table = catalog.table("db", "t")
    assert table is not None
    both = [CatalogPartition((name,), f"s3://b/t/{name}") for name in "ab"]
    catalog.add_partitions(table, both)
    sent = [
        [one["Values"] for one in a["PartitionInputList"]] for n, a in client.calls if n == "batch_create_partition"
    ]
    assert sent == [[["a"], ["b"]], [["b"]]]
    catalog.drop_partitions(table, [("a",)])
    with pytest.raises(CatalogError, match="cannot change partitions of db.t: 1 were refused, such as a: InvalidInput"):
        catalog.alter_partitions(table, both)
    assert catalog.partitions_of(table, [("a",), ("b",)]) == [CatalogPartition(("b",), "x")]


def test_partitions_that_are_never_looked_for_are_an_error() -> None:
    answer = {"Partitions": [], "UnprocessedKeys": [{"Values": ["b"]}]}
    catalog, _, _ = glue({"get_table": [{"Table": TABLE}], "batch_get_partition": [answer]})
    table = catalog.table("db", "t")
    assert table is not None
    with pytest.raises(CatalogError, match="1 partitions of db.t were not looked for"):
        catalog.partitions_of(table, [("b",)])


def test_indexes_of_partitions_are_made_and_dropped() -> None:
    old = {"IndexName": "old", "Keys": [{"Name": "q"}]}
    answers: dict[str, list[Any]] = {
        "get_table": [{"Table": TABLE}],
        "update_table": [{}],
        "get_paginator": [Pages({"PartitionIndexDescriptorList": [old]})],
        "delete_partition_index": [{}],
        "create_partition_index": [{}],
    }
    catalog, client, _ = glue(answers, index=True, index_fields=(("p",), ("p", "q")))
    table = catalog.table("db", "t")
    assert table is not None
    catalog.complete(table)
    made = [a["PartitionIndex"] for n, a in client.calls if n == "create_partition_index"]
    assert made == [
        {"Keys": ["p"], "IndexName": "hudi_managed_p"},
        {"Keys": ["p", "q"], "IndexName": "hudi_managed_p_q"},
    ]
    [dropped] = [a["IndexName"] for n, a in client.calls if n == "delete_partition_index"]
    assert dropped == "old"
    [update] = [a["TableInput"]["Parameters"] for n, a in client.calls if n == "update_table"]
    assert update["partition_filtering.enabled"] == "true"
    catalog, client, _ = glue(answers)
    catalog.complete(table)
    assert client.calls == []  # nobody has asked for an index, nor is there one
    answers["create_partition_index"] = [client_error("InternalServiceException")]
    catalog, _, _ = glue(answers, index=True)
    with pytest.warns(HudiFormatWarning, match="db.t is told of, but its indexes of partitions are not as asked for"):
        catalog.complete(table)


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(UnsupportedFeatureError, match=r"expected boto3, .* pip install 'hudiformat\[glue\]'"):
        hf.catalog("glue://").list_namespaces()


def test_without_a_region_the_variable_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    with warnings.catch_warnings(), pytest.raises(CatalogError, match="cannot reach AWS Glue: .*; set AWS_REGION"):
        hf.catalog("glue://").list_namespaces()


def test_a_client_is_of_the_region_the_endpoint_and_the_credentials_that_hudis_keys_give() -> None:
    given = {
        "hoodie.aws.glue.region": "eu-west-1",
        "hoodie.aws.glue.endpoint": "http://127.0.0.1:1",
        "hoodie.aws.access.key": "AKIA",
        "hoodie.aws.secret.key": "hush",
    }
    client = _open_client(parse_write_options(given).catalogs.glue)
    assert client.meta.region_name == "eu-west-1"
    assert client.meta.endpoint_url == "http://127.0.0.1:1"
    client.close()
