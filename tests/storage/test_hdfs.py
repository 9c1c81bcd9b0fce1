"""HDFS as clusters have it: Hadoop's configuration, mounts of ViewFs, data that is synced, data nodes that die."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from hdfs_native import Client

from hudiformat import CommitError, StorageError, create_table, open_storage, open_table
from hudiformat.storage.checks import STORE_CHECKS
from hudiformat.storage.folder import FolderStorage
from tests.conformance.hudi import ROOT
from tests.effort import only_long
from tests.tables import SCHEMA, content, rows
from tools.store_servers import hdfs_cluster

pytestmark = [pytest.mark.servers, only_long]


def configure(folder: Path, properties: Mapping[str, str]) -> None:
    """Write Hadoop's configuration."""
    entries = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>" for name, value in properties.items()
    )
    (folder / "core-site.xml").write_text(f"<configuration>{entries}</configuration>")


def test_mounts_of_viewfs_and_name_services_come_from_hadoops_configuration(
    hdfs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = f"/{uuid.uuid4()}"
    open_storage(f"{hdfs}{root}").make_folder("")
    configure(
        tmp_path,
        {
            "fs.viewfs.mounttable.lake.link./data": f"{hdfs}{root}",
            "fs.viewfs.mounttable.lake.linkFallback": hdfs,  # without one hdfs-native opens no viewfs
            "dfs.nameservices": "ns",
            "dfs.ha.namenodes.ns": "one",
            "dfs.namenode.rpc-address.ns.one": hdfs.removeprefix("hdfs://"),
        },
    )
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    mounted = open_storage("viewfs://lake/data")
    for number, check in enumerate(STORE_CHECKS):
        if "several pages" not in str(check):  # a thousand requests
            check(FolderStorage(mounted, f"check-{number}"))
    create_table("viewfs://lake/data/t", name="t", schema=SCHEMA, record_key="k", ordering="ts", partition_by="p")
    open_table("viewfs://lake/data/t").upsert(rows(("a", 1, "x", 1)))
    for uri in (f"{hdfs}{root}/t", f"hdfs://ns{root}/t"):
        table = open_table(uri)
        assert content(table) == [("a", 1, "x", 1)]
        assert table.verify() == []


def test_a_folder_is_deleted_only_if_it_is_empty(hdfs: str) -> None:
    """A clean deletes the folder of a partition so; the name node refuses it in the same step in which it looks."""
    storage = open_storage(f"{hdfs}/{uuid.uuid4()}")
    storage.create("a/b/file", b"1")
    assert [storage.delete_empty_folder(path) for path in ("a", "a/b", "a/b/file", "missing")] == [False] * 4
    assert storage.read("a/b/file") == b"1"
    storage.delete("a/b/file")
    assert storage.delete_empty_folder("a/b")
    assert [entry.name for entry in storage.list("")] == ["a"]


def test_what_is_synced_survives_its_writer(hdfs: str) -> None:
    root = f"{hdfs}/{uuid.uuid4()}"
    program = f"""
import os
from hudiformat import open_storage
file = open_storage({root!r}).open_new("file")
file.write(b"some bytes")
file.sync()
os._exit(0)
"""
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, timeout=60)
    end = time.monotonic() + 60
    while not Client(hdfs).recover_lease(f"{root.removeprefix(hdfs)}/file"):
        assert time.monotonic() < end
        time.sleep(0.1)
    assert open_storage(root).read("file") == b"some bytes"


def test_of_two_that_append_to_a_file_one_is_refused(hdfs: str) -> None:
    storage = open_storage(f"{hdfs}/{uuid.uuid4()}")
    storage.create("file", b"one")
    with storage.reopen("file") as file:  # type: ignore[attr-defined]  # only this storage has it
        with pytest.raises(StorageError, match="cannot append to"):
            storage.reopen("file")  # type: ignore[attr-defined]  # only this storage has it
        assert file.size == 3
        file.write(b", two")
    assert storage.read("file") == b"one, two"


@pytest.fixture
def four_nodes(java: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Callable[[], None]]]:
    """The URI of a cluster with three copies of each block, and what kills one of its data nodes."""
    configure(tmp_path, {"dfs.replication": "3"})
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    (tmp_path / "hdfs").mkdir()
    with hdfs_cluster(tmp_path / "hdfs", java, nodes=4) as (uri, kill):
        create_table(f"{uri}/t", name="t", schema=SCHEMA, record_key="k", ordering="ts", partition_by="p")
        yield uri, kill


def test_a_data_node_that_dies_in_the_middle_of_a_write_loses_nothing(
    four_nodes: tuple[str, Callable[[], None]],
) -> None:
    uri, kill = four_nodes
    open_table(f"{uri}/t").upsert(rows(("a", 1, "x", 1)))
    storage, data = open_storage(f"{uri}/lake"), bytes(range(256)) * 4096
    with storage.open_new("file") as file:
        for _ in range(4):
            file.write(data)
        kill()
        for _ in range(4):
            file.write(data)  # another node takes the place of the dead one
    assert storage.read("file") == data * 8
    assert content(open_table(f"{uri}/t"), columns=("k", "v")) == [("a", 1)]


def test_writes_of_a_table_go_on_while_a_data_node_dies(four_nodes: tuple[str, Callable[[], None]]) -> None:
    uri, kill = four_nodes
    table, written = open_table(f"{uri}/t"), []
    end = time.monotonic() + 120
    for number in itertools.count():
        if number == 4:
            kill()
        # The name node offers the dead node for some seconds, and hdfs-native tries no other.
        with suppress(CommitError, StorageError):
            table.upsert(rows((f"k{number:05d}", 1, "x", number)))
            written.append(f"k{number:05d}")
        if len(written) == 16:
            break
        assert time.monotonic() < end
    assert content(open_table(f"{uri}/t"), columns=("k",)) == [(key,) for key in written]
    assert [one for one in open_table(f"{uri}/t").verify() if one.kind.value != "uncommitted"] == []
