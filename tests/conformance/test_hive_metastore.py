"""A real Hive Metastore has of a table of ours what it has of the same table of Hudi's."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pymetastore.hive_metastore import ThriftHiveMetastore
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport import TSocket, TTransport

import hudiformat as hf
from tests.catalogs.fake_metastore import plain
from tests.catalogs.hudi_cases import cases, comparable, expected, writes
from tests.conformance.hudi import RealHudi
from tests.conformance.test_bootstrap import (
    BASE_PATH,
    COPY,
    FULL,
    MERGE,
    MIXED,
    ONLY_METADATA,
    bootstrap,
    write_options,
    write_source,
)
from tests.effort import only_long, sample
from tests.tables import create, rows
from tools.hive_metastore import HiveMetastore

HIVE = "hoodie.datasource.hive_sync."


@pytest.fixture(scope="module")
def client(metastore: HiveMetastore) -> Any:
    """A client that is not ours."""
    transport = TTransport.TBufferedTransport(TSocket.TSocket("127.0.0.1", metastore.port))
    transport.open()
    yield ThriftHiveMetastore.Client(TBinaryProtocol(transport))
    transport.close()


def objects_of(client: Any, database: str, path: Path) -> dict[str, Any]:
    """All tables of a database, and their partitions."""
    found = {}
    for name in client.get_all_tables(database):
        table = client.get_table(database, name)
        partitions = client.get_partitions(database, name, -1) if table.partitionKeys else []
        both = {"table": plain(table), "partitions": [plain(one) for one in partitions]}
        found[name] = comparable(both, str(path), str(path))
        found[name]["table"]["dbName"] = "db"
        for one in found[name]["partitions"]:
            one["dbName"] = "db"
    return found


@pytest.mark.parametrize("case", sample(sorted(cases()), of=2))
def test_the_objects_of_each_write_are_those_of_hudi(
    case: str, tmp_path: Path, metastore: HiveMetastore, client: Any
) -> None:
    database = f"db{uuid.uuid4().hex[:8]}"
    path = tmp_path / case
    options = {
        "hoodie.datasource.hive_sync.metastore.uris": metastore.uri,
        "hoodie.datasource.hive_sync.database": database,
    }
    for step in writes(case, path, options):
        assert objects_of(client, database, path) == expected(case, step, path), step


def sync_by_hudi(hudi: RealHudi, path: Path, options: Mapping[str, str]) -> None:
    """Run Hudi's own tool, which compares all partitions, over the table at *path*."""
    asked = {**options, "hoodie.datasource.meta.sync.base.path": str(path), "hoodie.meta.sync.incremental": "false"}
    hudi.eval_(
        "properties = jvm.java.util.Properties()\n"
        f"for key, value in {asked!r}.items():\n"
        "    properties.setProperty(key, value)\n"
        "tool = jvm.org.apache.hudi.hive.HiveSyncTool(properties, spark._jsc.hadoopConfiguration())\n"
        "tool.syncHoodieTable()\n"
        "result = None\n"
    )


@only_long
def test_hudi_finds_nothing_to_change_after_us_nor_we_after_hudi(
    tmp_path: Path, metastore: HiveMetastore, client: Any, hudi: RealHudi
) -> None:
    database = f"db{uuid.uuid4().hex[:8]}"
    names = {f"{HIVE}metastore.uris": metastore.uri, f"{HIVE}database": database, f"{HIVE}mode": "hms"}
    ours = tmp_path / "ours"
    create(ours, name="ours", options={"hoodie.datasource.write.hive_style_partitioning": "true"})
    table = hf.open_table(ours, options={**names, f"{HIVE}enable": "true"})
    table.upsert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    table.evolve(add={"more": pa.timestamp("us", "UTC")})
    before = objects_of(client, database, ours)
    of_table = {f"{HIVE}table": "ours", f"{HIVE}partition_fields": "p"}
    extractor = {f"{HIVE}partition_extractor_class": "org.apache.hudi.hive.HiveStylePartitionValueExtractor"}
    sync_by_hudi(hudi, ours, {**names, **of_table, **extractor})
    assert objects_of(client, database, ours) == before
    assert not table.sync_catalog(full=True)
    assert sorted(before) == ["ours", "ours_ro", "ours_rt"]

    theirs = tmp_path / "theirs"
    options = {
        "hoodie.table.name": "theirs",
        "hoodie.datasource.write.recordkey.field": "k",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.partitionpath.field": "p",
        **names,
        f"{HIVE}enable": "true",
        f"{HIVE}partition_fields": "p",
        f"{HIVE}table": "theirs",
    }
    hudi.write(rows(("a", 1, "x", 1), ("b", 1, "y", 1)), theirs, options)
    before = {name: one for name, one in objects_of(client, database, theirs).items() if name == "theirs"}
    opened = hf.open_table(theirs, options=names)
    assert not opened.sync_catalog()
    assert not opened.sync_catalog(full=True)
    after = {name: one for name, one in objects_of(client, database, theirs).items() if name == "theirs"}
    assert after == before != {}


@only_long
def test_engines_read_by_name_what_is_there(tmp_path: Path, metastore: HiveMetastore, client: Any) -> None:
    database = f"db{uuid.uuid4().hex[:8]}"
    names = {f"{HIVE}metastore.uris": metastore.uri, f"{HIVE}database": database, f"{HIVE}enable": "true"}
    path = tmp_path / "t"
    create(path, name="t")
    table = hf.open_table(path, options=names)
    server = RealHudi()
    with Path(server._conf, "spark-defaults.conf").open("a") as file:
        file.write("spark.sql.catalogImplementation hive\n")
        file.write(f"spark.hadoop.hive.metastore.uris {metastore.uri}\n")

    def check(hudi: RealHudi, *columns: str) -> None:
        picked = ["k", "ts", "p", "v", *columns]
        for name, found in (("t", table.snapshot), ("t_rt", table.snapshot), ("t_ro", table.read_optimized)):
            hudi.sql(f"REFRESH TABLE {database}.{name}")
            by_name = hudi.sql(f"FROM {database}.{name} SELECT {', '.join(picked)} ORDER BY k")
            assert by_name.to_pylist() == found(columns=picked).sort_by("k").to_pylist(), name
        live = sorted(f"p={one}" for one in table.snapshot()["p"].unique().to_pylist())
        assert sorted(client.get_partition_names(database, "t", -1)) == live

    with server as hudi:
        table.insert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
        check(hudi)
        table.upsert(rows(("a", 2, "x", 2), ("c", 1, "z", 1)))
        check(hudi)
        table.delete_partitions("y")
        check(hudi)
        table.evolve(add={"more": pa.int64()})
        table.upsert(rows(("c", 2, "z", 2)).append_column("more", pa.array([7], pa.int64())))
        check(hudi, "more")
        table.compact()
        check(hudi, "more")
        table.cluster()
        check(hudi, "more")


@only_long
@pytest.mark.parametrize("selector", [ONLY_METADATA, FULL, MIXED], ids=["metadata", "full", "mixed"])
@pytest.mark.parametrize("table_type", [COPY, MERGE])
def test_a_bootstrapped_table_has_the_objects_that_hudis_tool_makes_of_it(
    tmp_path: Path, metastore: HiveMetastore, client: Any, hudi: RealHudi, *, table_type: str, selector: dict[str, str]
) -> None:
    source, path = tmp_path / "source", tmp_path / "t"
    write_source(source, hive_style=True)
    given = {**write_options(table_type, hive_style=True), **selector}
    bootstrap(hudi, source, path, given)
    found = []
    for by_hudi in (True, False):
        database = f"db{uuid.uuid4().hex[:8]}"
        names = {f"{HIVE}metastore.uris": metastore.uri, f"{HIVE}database": database}
        if by_hudi:
            extractor = {f"{HIVE}partition_extractor_class": "org.apache.hudi.hive.HiveStylePartitionValueExtractor"}
            of_table = {f"{HIVE}table": "t", f"{HIVE}partition_fields": "p", f"{HIVE}mode": "hms"}
            sync_by_hudi(hudi, path, {**names, **of_table, **extractor})
        else:
            table = hf.open_table(path, options={BASE_PATH: str(source), **names})
            assert table.sync_catalog()
            assert not table.sync_catalog(full=True)
        found.append(objects_of(client, database, path))
    theirs, ours = found
    assert ours == theirs
    assert len(ours) == (1 if table_type == COPY else 3)
    assert len(ours["t"]["partitions"]) == 2
