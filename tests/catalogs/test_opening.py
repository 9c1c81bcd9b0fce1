"""Tables are listed in a catalog, and opened by name."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pymetastore.hive_metastore import ttypes

import hudiformat as hf
from hudiformat import CatalogError, NotATableError, OptionError, UnsupportedFeatureError
from hudiformat.catalogs.hive import HiveCatalog
from hudiformat.cli.app import run
from tests.catalogs.fake_metastore import FakeMetastore
from tests.tables import content, new_table, rows

URI = "hive://metastore:9083"


@pytest.fixture
def path(tmp_path: Path, metastore_in_memory: FakeMetastore) -> Path:
    """A table in the catalog, as lake.t and its two other names, beside one that is not Hudi's."""
    table = new_table(tmp_path / "t")
    table.upsert(rows(("a", 1, "x", 1)))
    table.sync_catalog(URI, database="lake")
    serde = ttypes.SerDeInfo(serializationLib="x", parameters={})
    storage = ttypes.StorageDescriptor(cols=[], location="file:/other", inputFormat="text", serdeInfo=serde)
    metastore_in_memory.create_table(ttypes.Table(dbName="lake", tableName="other", sd=storage, parameters={}))
    return tmp_path / "t"


def test_databases_and_tables_are_listed_as_in_pyiceberg(path: Path) -> None:
    with hf.catalog(URI) as catalog:
        assert catalog.uri == "thrift://metastore:9083"
        assert catalog.list_namespaces() == [("default",), ("lake",)]
        assert catalog.list_tables("lake") == [("lake", "t"), ("lake", "t_ro"), ("lake", "t_rt")]
        assert catalog.list_tables(("lake",)) == catalog.list_tables("lake")
        assert catalog.list_tables("default") == []
        assert catalog.table_exists("lake.t")
        assert not catalog.table_exists("lake.other")
        assert not catalog.table_exists(("lake", "none"))
        assert content(catalog.load_table(("lake", "t"))) == [("a", 1, "x", 1)]


@pytest.mark.parametrize("name", ["lake.t", "lake.t_ro", "lake.t_rt"])
def test_a_table_is_opened_by_its_name(name: str, path: Path) -> None:
    for scheme in ("hive", "thrift"):
        assert content(hf.open_table(f"{scheme}://metastore:9083/{name}")) == [("a", 1, "x", 1)]
    assert content(hf.catalog(URI).load_table(name)) == [("a", 1, "x", 1)]


def test_a_table_that_was_opened_by_its_name_tells_the_catalog_that_it_came_from(
    path: Path, metastore_in_memory: FakeMetastore
) -> None:
    for name in ("lake.t", "lake.t_ro"):
        table = hf.open_table(f"{URI}/{name}", options={"hoodie.datasource.hive_sync.enable": "true"})
        commit = table.upsert(rows(("b", 1, name, 1)))
        report = table.sync_catalog()
        assert report.catalog == "thrift://metastore:9083"
        assert [one.name for one in report.tables] == ["lake.t_ro", "lake.t_rt", "lake.t"]
        assert metastore_in_memory._of("t", "lake").parameters["last_commit_time_sync"] == commit.instant
    assert list(metastore_in_memory.databases) == ["default", "lake"]


def test_a_table_that_is_not_there_or_not_hudis_is_named(path: Path) -> None:
    with pytest.raises(NotATableError, match="thrift://metastore:9083: there is no table lake.none"):
        hf.open_table(f"{URI}/lake.none")
    with pytest.raises(NotATableError, match="expected a table of Hudi's as lake.other, found one with"):
        hf.open_table(f"{URI}/lake.other")
    with pytest.raises(OptionError, match=r"name: expected database.table, found 'a.b.c'"):
        hf.open_table(f"{URI}/a.b.c")
    with pytest.raises(OptionError, match="name: expected database.table, found 'lake/t'"):
        hf.open_table(f"{URI}/lake/t")
    with pytest.raises(NotATableError, match="there is no table default.t"):
        hf.open_table(f"{URI}/t")
    with pytest.raises(OptionError, match="uri: expected a catalog, found .*, a table in one; use open_table"):
        hf.catalog(f"{URI}/lake.t")


def test_the_command_tells_a_catalog(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["sync", str(path), "--metastore", "thrift://metastore:9083", "--database", "other"]
    assert run(command) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"other.{name}: created, 1 partitions added" for name in ("t_ro", "t_rt", "t")
    ]
    assert run([*command, "--json", "--full", "-o", "hoodie.datasource.hive_sync.table.strategy=RT"]) == 0
    assert '"table": "other.t"' in capsys.readouterr().out
    assert run(command) == 0
    assert capsys.readouterr().out.splitlines() == [f"other.{name}: nothing new" for name in ("t_ro", "t_rt", "t")]


def test_without_the_library_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymetastore.hive_metastore", None)
    monkeypatch.setitem(sys.modules, "pymetastore", None)
    with pytest.raises(UnsupportedFeatureError, match=r"expected pymetastore, .* pip install 'hudiformat\[hive\]'"):
        hf.catalog(URI).list_namespaces()


def test_after_an_error_the_next_call_connects_again(
    path: Path, metastore_in_memory: FakeMetastore, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = HiveCatalog(["metastore"])
    metastore_in_memory.failures["get_all_databases"] = OSError("the server went away")
    with pytest.raises(CatalogError, match="thrift://metastore:9083: cannot list databases: the server went away"):
        catalog.databases()
    metastore_in_memory.failures.clear()
    assert catalog.databases() == ["default", "lake"]


def test_a_table_that_another_process_drops_meanwhile_is_named(path: Path, metastore_in_memory: FakeMetastore) -> None:
    catalog = HiveCatalog(["metastore"])
    found = catalog.table("lake", "t")
    assert found is not None
    catalog.drop_table(found)
    with pytest.raises(CatalogError, match="another process has dropped lake.t; sync again"):
        catalog.alter_table(found, cascade=False)


def test_a_database_that_another_process_makes_meanwhile_is_fine(metastore_in_memory: FakeMetastore) -> None:
    catalog = HiveCatalog(["metastore"])
    catalog.create_database("default")
    assert catalog.has_database("default")


def test_a_table_that_another_process_makes_meanwhile_is_fine(path: Path) -> None:
    catalog = HiveCatalog(["metastore"])
    found = catalog.table("lake", "t")
    assert found is not None
    assert catalog.create_table(found) == found


@pytest.mark.parametrize("first", ["127.0.0.1:1", "127.0.0.1:2"])
def test_every_address_is_tried(first: str) -> None:
    with pytest.raises(CatalogError, match="thrift://127.0.0.1:1: .*; thrift://127.0.0.1:2: ") as error:
        HiveCatalog(["thrift://127.0.0.1:1", "thrift://127.0.0.1:2"]).databases()
    assert error.value.catalog == "thrift://127.0.0.1:1,thrift://127.0.0.1:2"
    assert first in str(error.value)


def test_a_metastore_on_a_port_is_asked_by_thrift(
    tmp_path: Path, metastore_on_a_port: tuple[str, FakeMetastore]
) -> None:
    uri, fake = metastore_on_a_port
    table = new_table(tmp_path / "t")
    table.upsert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    assert table.sync_catalog(uri, database="lake")
    table.delete_partitions("y")
    table.evolve(add={"more": pa.int64()})
    assert table.sync_catalog(uri, database="lake")
    assert sorted(fake.partitions["lake", "t"]) == ["p=x"]
    with hf.catalog(f"thrift://127.0.0.1:1,{uri.removeprefix('thrift://')}") as catalog:
        assert catalog.list_tables("lake") == [("lake", "t"), ("lake", "t_ro"), ("lake", "t_rt")]
        assert not catalog.table_exists("lake.none")
    fake.failures["get_all_databases"] = ttypes.MetaException(message="no room")
    with pytest.raises(CatalogError, match="cannot list databases: no room"):
        hf.catalog(uri).list_namespaces()
