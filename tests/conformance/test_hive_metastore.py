"""A real Hive Metastore has of a table of ours what it has of the same table of Hudi's."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest
from pymetastore.hive_metastore import ThriftHiveMetastore
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport import TSocket, TTransport

from tests.catalogs.fake_metastore import plain
from tests.catalogs.hudi_cases import cases, comparable, expected, writes
from tools.hive_metastore import HiveMetastore


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


@pytest.mark.parametrize("case", sorted(cases()))
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
