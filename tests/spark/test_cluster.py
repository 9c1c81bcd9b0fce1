"""A cluster on which executors die, tasks fail and others are run twice: each row once, and nothing left behind.

What is written goes to a folder that all see, or to an object store.  Two hosts, as Spark never runs a speculative copy
on the host of the original; so no ``local-cluster``, which has one.  Its Python does not have this package, but gets it
with the job.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyarrow import fs

import hudiformat as hf
from hudiformat.file_group.partition_metadata import PARTITION_METADATA_FILE
from hudiformat.storage.opening import open_storage
from hudiformat.storage.protocol import Storage
from hudiformat.timeline.timeline import read_metadata
from tests.conformance.hudi import ROOT
from tests.effort import LONG, only_long
from tests.jvms import STARTUP
from tests.spark.local_cluster_job import LEFT, OFTEN
from tools.s3_server import S3Server

pyspark = pytest.importorskip("pyspark")
pytest.importorskip("pyspark.sql.datasource")

pytestmark = [pytest.mark.spark, pytest.mark.unmeasured, only_long]

SCRIPT = Path(__file__).with_name("cluster_job.py")
SPARK_HOME = Path(pyspark.__file__).parent
HOSTS = ("127.0.0.1", "127.0.0.2")
ROWS = 600
JOBS = {"mor@store": True}
"""The jobs that write tables, and whether they update rows; those ``@store`` on a server that speaks S3."""
FILES = ["files"] if LONG else []
"""The job that writes plain files."""
if LONG:
    JOBS |= {"source": False, "mor": True, "cow": True, "cow@store": True, "bulk": False, "source@store": False}


@pytest.fixture(scope="module")
def store(s3: S3Server) -> Iterator[str]:
    """A bucket, which this process and those that it starts know how to reach."""
    with pytest.MonkeyPatch.context() as patch:
        for key, value in s3.environ.items():
            patch.setenv(key, value)
        filesystem, _ = fs.FileSystem.from_uri("s3://cluster?allow_bucket_creation=true")
        filesystem.create_dir("cluster")
        yield "s3://cluster"


@pytest.fixture(scope="module")
def done(java: Path, store: str, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The folder of the jobs' output, and what their script says of them."""
    folder = tmp_path_factory.mktemp("cluster")
    archive = packed(folder)
    environment = {
        **os.environ,
        "JAVA_HOME": str(java),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": HOSTS[0],
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": os.environ["SPARK_SUBMIT_OPTS"],
    }
    environment["PYTHONPATH"] = str(STARTUP)
    with cluster(environment, folder) as master, (folder / "log").open("wb") as log:
        command = [
            sys.executable,
            str(SCRIPT),
            master,
            str(folder),
            str(archive),
            store,
            "calls",
            *JOBS,
            *FILES,
            "compaction",
        ]
        job = subprocess.run(command, env=environment, cwd=folder, stdout=log, stderr=log, timeout=600, check=False)
    assert job.returncode == 0, (folder / "log").read_text()[-4000:]
    return folder, json.loads((folder / "said.json").read_text())


def packed(folder: Path) -> Path:
    """What a wheel of the package has, and compiled, so that not every executor does that again."""
    archive = folder / "hudiformat.zip"
    with zipfile.PyZipFile(str(archive), "w") as file:
        file.writepy(str(ROOT / "hudiformat"))
        for path in (ROOT / "hudiformat").rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                file.write(path, path.relative_to(ROOT))
    return archive


@contextmanager
def cluster(environment: dict[str, str], folder: Path, hosts: Sequence[str] = HOSTS) -> Iterator[str]:
    """A master and a worker on each host; the master's address."""
    with socket.socket() as free:
        free.bind((HOSTS[0], 0))
        port = free.getsockname()[1]
    master = f"spark://{HOSTS[0]}:{port}"
    with ExitStack() as stack:
        stack.enter_context(daemon("master.Master", environment, folder, "--host", HOSTS[0], "--port", str(port)))
        wait_for(HOSTS[0], port)
        for host in hosts:
            options = ("--host", host, "--cores", "2", "--memory", "1g", "--work-dir", str(folder / "work"), master)
            stack.enter_context(daemon("worker.Worker", {**environment, "SPARK_LOCAL_IP": host}, folder, *options))
        yield master


@contextmanager
def daemon(name: str, environment: dict[str, str], folder: Path, *options: str) -> Iterator[None]:
    command = [str(SPARK_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", "--webui-port", "0"]
    with (folder / "cluster-log").open("ab") as log:
        process = subprocess.Popen([*command, *options], env=environment, cwd=folder, stdout=log, stderr=log)
    try:
        yield
    finally:
        process.terminate()  # a worker takes its executors along
        process.wait(60)


def wait_for(host: str, port: int, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while True:
        with socket.socket() as probe:
            if probe.connect_ex((host, port)) == 0:
                return
        assert time.monotonic() < deadline
        time.sleep(0.1)


def data_files(storage: Storage) -> list[str]:
    """The files in the folders of partitions, beside those that make folders partitions."""
    found = [f"{path}/{file.name}" for path in ("p0", "p1") for file in storage.list(path)]
    return sorted(name for name in found if not name.endswith((PARTITION_METADATA_FILE, ".crc")))


def objects_of(uri: str) -> list[str]:
    """The objects below *uri*: SeaweedFS goes on listing folders whose objects have been deleted."""
    filesystem, path = fs.FileSystem.from_uri(uri)
    found = filesystem.get_file_info(fs.FileSelector(path, recursive=True, allow_not_found=True))
    return [one.path for one in found if one.is_file]


def committed_files(table: hf.Table) -> list[str]:
    """The files that commits name."""
    found = [read_metadata(table._context.storage, table.config, one) for one in table.timeline.completed]
    return sorted(
        {stat.path for one in found for stats in one.partition_to_write_stats.values() for stat in stats if stat.path}
    )


def test_executors_get_the_package_with_the_job(done: Any) -> None:
    _, said = done
    assert said["packages"] == ["./hudiformat.zip/hudiformat/__init__.pyc"]  # in the executor's own folder


def test_the_functions_work_where_executors_get_the_package(done: Any) -> None:
    folder, _ = done
    assert json.loads((folder / "calls-marks" / "said.json").read_text()) == {name: LEFT[name] for name in OFTEN}


@pytest.mark.parametrize("job", [*JOBS, *FILES])
def test_an_executor_was_killed_a_task_failed_and_another_was_run_twice(done: Any, job: str) -> None:
    _, said = done
    assert {"killed", "failed", "hung", "copied"} <= set(said["jobs"][job])


@pytest.mark.parametrize(("job", "updated"), JOBS.items())
def test_each_row_is_in_the_table_once_and_nothing_else_is(done: Any, store: str, job: str, *, updated: bool) -> None:
    folder, _ = done
    kind, _, place = job.partition("@")
    table = hf.open_table(f"{store}/{kind}" if place else folder / kind)
    found = table.snapshot(columns=["id", "ts", "p"]).to_pylist()
    expected = {f"k{number}": (1, f"p{number % 2}") for number in range(ROWS)}
    if updated:
        expected |= {f"k{number}": (2, f"p{number % 2}") for number in range(ROWS // 2, ROWS // 2 + ROWS)}
    assert len(found) == len(expected)
    assert {row["id"]: (row["ts"], row["p"]) for row in found} == expected
    assert [commit.state.name for commit in table.timeline.instants] == ["COMPLETED"] * (2 if updated else 1)
    assert table.verify() == []
    storage = open_storage(table.path)
    assert data_files(storage) == committed_files(table)
    assert objects_of(f"{table.path}/.hoodie/.temp") == [] if place else storage.list(".hoodie/.temp") == []


@only_long
def test_each_row_is_in_the_plain_files_once_and_nothing_is_staged(done: Any) -> None:
    folder, _ = done
    shown = [path for path in (folder / "files").rglob("*.parquet") if ".hudiformat-sink" not in path.parts]
    ids = Counter(name for path in shown for name in pq.read_table(path, columns=["id"])["id"].to_pylist())
    assert ids == Counter(f"k{number}" for number in range(ROWS))
    assert [path.name for path in (folder / "files" / ".hudiformat-sink").rglob("*") if path.is_file()] == [
        f"{0:020}.done"
    ]


def test_a_compaction_of_64_file_groups_loses_nothing_when_an_executor_is_killed(done: Any) -> None:
    folder, said = done
    table = hf.open_table(folder / "compaction")
    slices = table.file_slices()
    assert [bool(one.base_file) and not one.log_files for one in slices] == [True] * 64
    found = table.snapshot(columns=["id", "ts"]).to_pylist()
    assert len({row["id"] for row in found}) == len(found) == ROWS
    assert {row["ts"] for row in found} == {2}
    assert table.verify() == []
    assert data_files(open_storage(table.path)) == committed_files(table)
    marks = said["jobs"]["compaction"]
    assert "killed" in marks
    shares = Counter(mark.split("-")[1] for mark in marks if mark.startswith("done-"))
    parts = {mark.split("-")[2] for mark in marks if mark.startswith("done-")}
    assert len(parts) == 64
    assert len(shares) >= 2  # processes of both executors; how many of each gets tasks depends on the load
    assert max(shares.values()) < 48  # on a busy machine an executor may come late
