"""HDFS that asks for Kerberos: a secured name node and data node, and a server of tickets, all real."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.hudi import ROOT
from tests.conftest import started
from tests.effort import only_long
from tests.storage.test_hdfs import configure
from tools.kerberos import REALM, Kerberos, kerberos_server
from tools.store_servers import hdfs_cluster

pytestmark = [pytest.mark.servers, only_long]

PROGRAM = """
import sys
import pyarrow as pa
from hudiformat import create_table

root = sys.argv[1]
schema = pa.schema([("k", pa.string()), ("p", pa.string()), ("v", pa.int64())])
keys = {"record_key": ["k"], "partition_by": ["p"]}
table = create_table(f"{root}/t", name="t", schema=schema, table_type="MERGE_ON_READ", **keys)
table.insert(pa.table({"k": ["a", "b"], "p": ["x", "y"], "v": [1, 2]}, schema=schema))
table.upsert(pa.table({"k": ["a"], "p": ["x"], "v": [3]}, schema=schema))
table.compact()
assert table.verify() == []
print(table.snapshot(columns=["k", "v"]).to_pylist())
"""


@pytest.fixture(scope="module")
def kerberos(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    yield from started(kerberos_server(tmp_path_factory.mktemp("kerberos")), "hdfs_native")


@pytest.fixture(scope="module")
def keys(kerberos: Kerberos) -> tuple[Path, Path]:
    """The keys of the name node, the data node and their pages, and those of a user."""
    return kerberos.keytab(["hdfs/localhost", "HTTP/localhost"]), kerberos.keytab(["alice"])


@pytest.mark.parametrize("protection", ["authentication", "privacy"])
def test_tables_are_written_and_read_with_a_ticket_or_a_keytab_and_not_without(
    protection: str, kerberos: Kerberos, keys: tuple[Path, Path], java: Path, tmp_path: Path
) -> None:
    services, alice = keys
    shared = {"hadoop.security.authentication": "kerberos", "dfs.data.transfer.protection": protection}
    own = {
        "hadoop.security.authorization": "true",
        "dfs.namenode.kerberos.principal": f"hdfs/localhost@{REALM}",
        "dfs.namenode.keytab.file": str(services),
        "dfs.datanode.kerberos.principal": f"hdfs/localhost@{REALM}",
        "dfs.datanode.keytab.file": str(services),
        "dfs.web.authentication.kerberos.principal": f"HTTP/localhost@{REALM}",
        "dfs.web.authentication.kerberos.keytab": str(services),
        "dfs.block.access.token.enable": "true",
        "ignore.secure.ports.for.testing": "true",
    }
    configure(tmp_path, {**shared, "dfs.namenode.kerberos.principal": f"hdfs/_HOST@{REALM}"})
    (tmp_path / "hdfs").mkdir()
    options = [f"-Djava.security.krb5.conf={kerberos.environ['KRB5_CONFIG']}"]
    with hdfs_cluster(tmp_path / "hdfs", java, nodes=1, properties=shared | own, options=options) as (uri, _):
        root = uri.replace("127.0.0.1", "localhost")  # the name that the name node's key is of

        def run(folder: str, **environ: str) -> subprocess.CompletedProcess[str]:
            known = {**os.environ, **kerberos.environ, "HADOOP_CONF_DIR": str(tmp_path), **environ}
            command = [sys.executable, "-c", PROGRAM, f"{root}/{folder}"]
            return subprocess.run(command, cwd=ROOT, env=known, capture_output=True, text=True, timeout=60, check=False)

        for done in (
            run("ticket", KRB5CCNAME=kerberos.ticket("alice", alice)),
            run("keytab", KRB5CCNAME="MEMORY:", KRB5_CLIENT_KTNAME=str(alice)),
        ):
            assert done.returncode == 0, done.stderr
            assert done.stdout == "[{'k': 'a', 'v': 3}, {'k': 'b', 'v': 2}]\n"
        refused = run("nobody", KRB5CCNAME=f"FILE:{tmp_path}/none")
        assert refused.returncode
        assert "StorageError: cannot list" in refused.stderr
        assert "No Kerberos credentials available" in refused.stderr
