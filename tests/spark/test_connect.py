"""All of it works on Spark Connect, where the client has no JVM."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conformance.hudi import ROOT
from tests.effort import LONG, only_long
from tests.jvms import STARTUP

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("pyspark.sql.datasource")

pytestmark = pytest.mark.unmeasured


@pytest.fixture
def remote(spark: SparkSession) -> Iterator[str]:
    """The address of a server of Spark Connect, which runs in the JVM of the session."""
    assert spark._jvm is not None
    service = spark._jvm.org.apache.spark.sql.connect.service.SparkConnectService
    context = spark.sparkContext._jsc.sc()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context.conf().set("spark.connect.grpc.binding.port", str(port))
    service.start(context)
    yield f"sc://127.0.0.1:{port}"
    service.stop(*(getattr(service, f"stop$default${number}")() for number in (1, 2)))


@only_long
def test_functions_data_source_and_streams_need_no_jvm(remote: str, tmp_path: Path) -> None:
    if os.environ.get("CI") != "true":
        pytest.importorskip("grpc", reason="pip install 'pyspark[connect]'")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    environ |= {"PYTHONPATH": os.pathsep.join([str(STARTUP), str(ROOT)]), "JAVA_HOME": "/nowhere"}
    job = Path(__file__).with_name("connect_job.py")
    run = subprocess.run(
        [sys.executable, str(job), remote, str(tmp_path), *(["everything"] if LONG else [])],
        env=environ,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    expected = {"write": 60, "upsert": 60, "filter": 3, "verify": 0}
    if LONG:
        expected |= {"update": 9, "merge": 59, "insert": 119, "delete_where": 110, "delete": 109}
        expected |= {"delete_partitions": 73, "source": 100, "streams": 106, "rows": 106}
    else:
        expected |= {"source": 60, "streams": 63, "rows": 63}
    assert json.loads(run.stdout.splitlines()[-1]) == expected
