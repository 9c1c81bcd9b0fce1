"""The example on a cluster: Spark's master and worker, HDFS and a metastore, all real, each in a process of its own.

Who starts the processes does not matter, so what takes long starts side by side, real Hudi too.  A long run has two
workers and more files, and compactions run on the cluster, too, elsewhere in their own process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

import hudiformat as hf
from tests.conformance.hudi import ROOT, RealHudi
from tests.effort import LONG
from tests.jvms import SHORT_LIVED, SMALL, STARTUP

pytest.importorskip("pyspark.sql.streaming.datasource")

from examples.cluster.pipeline import options_of
from tests.spark.test_cluster import HOSTS, SPARK_HOME, cluster

pytestmark = [pytest.mark.spark, pytest.mark.servers, pytest.mark.unmeasured]

FILES = 8 if LONG else 2
DELETED = (1, 5)
"""The trips that are deleted."""
PATIENCE = 300.0
PATHS = f"{STARTUP}:{ROOT}"
SETTINGS = {
    "spark.driver.memory": "512m",
    "spark.executor.extraJavaOptions": SHORT_LIVED,
    "spark.executor.memory": "512m",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.executorEnv.PYTHONPATH": PATHS,  # where users have it installed
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    **SMALL,
}


def changes() -> list[list[dict[str, object]]]:
    """What arrives, file by file: trips that begin, change, and are deleted."""
    found = []
    for number in range(FILES):
        at = f"2026-04-01 08:00:{number:02}"
        rows = [{"trip": f"t{one}", "city": f"c{one % 2}", "fare": one + number / 8, "at": at} for one in range(9)]
        last = {"trip": f"t{number}", "city": f"c{number % 2}", "at": f"{at}.5"}
        found.append([*rows[number:], {**last, "_hoodie_is_deleted": number in DELETED}])
    return found


def expected() -> list[dict[str, object]]:
    live: dict[object, dict[str, object]] = {}
    for row in (row for rows in changes() for row in rows):
        live.pop(row["trip"], None)
        if not row.get("_hoodie_is_deleted"):
            live[row["trip"]] = {"trip": row["trip"], "city": row["city"], "fare": row.get("fare")}
    return sorted(live.values(), key=str)


def started(what: str, where: list[str], environ: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as file:
        command = [sys.executable, "-m", "examples.cluster", what, *where]
        return subprocess.Popen(command, cwd=ROOT, env=environ, stdout=file, stderr=file)


def rows_of(table: hf.Table) -> list[dict[str, object]]:
    return sorted(table.snapshot(columns=["trip", "city", "fare"]).to_pylist(), key=str)


def test_a_stream_and_compactions_on_a_cluster_and_hudi_reads_by_name(
    java: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    environ = {
        **os.environ,
        "JAVA_HOME": str(java),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": PATHS,
        "SPARK_DAEMON_JAVA_OPTS": SHORT_LIVED,
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    with ThreadPoolExecutor() as pool, ExitStack() as stack:
        starting = pool.submit(stack.enter_context, cluster(environ, tmp_path, HOSTS if LONG else HOSTS[:1]))
        hdfs, metastore = request.getfixturevalue("hdfs"), request.getfixturevalue("metastore")
        hudi = RealHudi()
        with Path(hudi._conf, "spark-defaults.conf").open("a") as file:
            file.write(f"spark.sql.catalogImplementation hive\nspark.hadoop.hive.metastore.uris {metastore.uri}\n")
        folder, database = f"{hdfs}/{uuid.uuid4()}", f"lake{uuid.uuid4().hex[:8]}"
        settings = " ".join(f"--conf '{key}={value}'" for key, value in SETTINGS.items())
        by_master = {
            master: {**environ, "PYSPARK_SUBMIT_ARGS": f"--master {master} {settings} pyspark-shell"}
            for master in (starting.result(), "local[1]")
        }
        streaming, compacting = by_master.values()
        where = [folder, metastore.uri, "--database", database]
        stream_changes(folder, where, streaming, streaming if LONG else compacting, tmp_path)
        options = options_of(metastore.uri, database)
        starting_hudi = pool.submit(stack.enter_context, hudi)
        table = hf.open_table(f"hive://127.0.0.1:{metastore.port}/{database}.trips", options=options)
        table.maintain()
        assert rows_of(table) == expected()
        # A clean that was stopped is taken over once its heartbeat is too old.
        assert [one for one in table.verify() if one.kind.value != "uncommitted"] == []
        starting_hudi.result()
        by_name = {
            name: sorted(hudi.sql(f"FROM {database}.{name} SELECT trip, city, fare").to_pylist(), key=str)
            for name in ("trips", "trips_rt", "trips_ro")
        }
    assert by_name["trips"] == by_name["trips_rt"] == expected()
    optimized = table.read_optimized(columns=["trip", "city", "fare"]).to_pylist()
    assert by_name["trips_ro"] == sorted(optimized, key=str) != []


def stream_changes(
    folder: str, where: list[str], streaming: dict[str, str], compacting: dict[str, str], logs: Path
) -> None:
    """Run the stream, and compactions beside it, until all changes are in the table and one compaction is done.

    *streaming* and *compacting* are the environments of the two processes.
    """
    storage, parts = hf.open_storage(folder), changes()
    storage.create("arriving/0.json", lines(parts[0]))
    stream = started("stream", [*where, "--every", "1"], streaming, logs / "stream.log")
    try:
        wait_for(lambda: storage.exists("trips/.hoodie/hoodie.properties"), stream, logs / "stream.log")
        beside = started("compactions", [*where, "--every", "1"], compacting, logs / "compactions.log")
        try:
            for number, part in enumerate(parts[1:], 1):
                storage.create(f"arriving/{number}.json", lines(part))
                time.sleep(1)
            table = hf.open_table(f"{folder}/trips")
            wait_for(lambda: rows_of(table) == expected(), stream, logs / "stream.log")
            wait_for(lambda: bool(compactions(table)), beside, logs / "compactions.log")
        finally:
            beside.kill()
            beside.wait()
    finally:
        stream.terminate()
        stream.wait()


def lines(rows: list[dict[str, object]]) -> bytes:
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()


def compactions(table: hf.Table) -> list[str]:
    return [one.time for one in table.timeline.completed if one.action == "commit"]


def wait_for(is_so: Callable[[], bool], process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert process.poll() is None, log.read_text()[-3000:]
        assert time.monotonic() < end, log.read_text()[-3000:]
        time.sleep(0.5)
