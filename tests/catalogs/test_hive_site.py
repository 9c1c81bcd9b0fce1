"""The metastore that Hive's own configuration names."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat import OptionError, UnsupportedFeatureError
from hudiformat.catalogs.hive_site import metastores_of
from hudiformat.table.options.sync import SyncOptions
from tests.catalogs.fake_metastore import FakeMetastore
from tests.tables import new_table, rows

HIVE, HADOOP = "HIVE_CONF_DIR", "HADOOP_CONF_DIR"
BY_DEFAULT = ("thrift://localhost:9083",)


@pytest.fixture(autouse=True)
def no_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine's own configuration is not looked at."""
    monkeypatch.delenv(HIVE, raising=False)
    monkeypatch.delenv(HADOOP, raising=False)


def configure(folder: Path, **properties: str) -> str:
    """Write a ``hive-site.xml``; in names ``__`` stands for a point."""
    folder.mkdir(exist_ok=True)
    entries = "".join(
        f"<property>\n<name> {name.replace('__', '.')} </name><value>{value}</value></property>"
        for name, value in properties.items()
    )
    (folder / "hive-site.xml").write_text(f'<?xml version="1.0"?>\n<configuration>{entries}</configuration>')
    return str(folder)


def test_without_options_the_servers_are_those_of_hives_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert metastores_of(SyncOptions()) == BY_DEFAULT
    monkeypatch.setenv(HADOOP, configure(tmp_path / "hadoop", hive__metastore__uris="thrift://b:9083"))
    assert metastores_of(SyncOptions()) == ("thrift://b:9083",)
    monkeypatch.setenv(HIVE, configure(tmp_path / "hive", hive__metastore__uris="thrift://a:1, thrift://b:2"))
    assert metastores_of(SyncOptions()) == ("thrift://a:1", "thrift://b:2")
    assert metastores_of(SyncOptions(uris=("thrift://c:3",))) == ("thrift://c:3",)


def test_a_configuration_that_names_no_server_stands_for_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(HIVE, configure(tmp_path, hive__metastore__uris="", hive__metastore__sasl__enabled="false"))
    assert metastores_of(SyncOptions()) == BY_DEFAULT


@pytest.mark.parametrize("name", ["hive__metastore__sasl__enabled", "hive__metastore__use__SSL"])
def test_a_metastore_that_asks_for_kerberos_or_tls_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(HIVE, configure(tmp_path, hive__metastore__uris="thrift://a:1", **{name: "TRUE"}))
    with pytest.raises(UnsupportedFeatureError, match=r"expected a metastore without Kerberos and TLS"):
        metastores_of(SyncOptions())


def test_a_configuration_that_is_no_xml_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hive-site.xml").write_text("<configuration>")
    monkeypatch.setenv(HIVE, str(tmp_path))
    with pytest.raises(OptionError, match=r"hive-site.xml: expected Hadoop's form of a configuration"):
        metastores_of(SyncOptions())


def test_a_table_is_told_to_the_metastore_of_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, metastore_in_memory: FakeMetastore
) -> None:
    monkeypatch.setenv(HIVE, configure(tmp_path / "conf", hive__metastore__uris="thrift://metastore:9083"))
    table = new_table(tmp_path / "t")
    table.upsert(rows(("a", 1, "x", 1)))
    table.sync_catalog(database="lake")
    assert metastore_in_memory.get_all_databases() == ["default", "lake"]
