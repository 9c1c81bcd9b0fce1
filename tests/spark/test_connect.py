"""All of it works on Spark Connect, where the client has no JVM."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance.hudi import ROOT
from tests.effort import LONG
from tests.jvms import STARTUP

pytest.importorskip("pyspark.sql.datasource")

pytestmark = [pytest.mark.spark, pytest.mark.unmeasured]


def test_functions_data_source_and_streams_need_no_jvm(java: Path, tmp_path: Path) -> None:
    if os.environ.get("CI") != "true":
        pytest.importorskip("grpc", reason="pip install 'pyspark[connect]'")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    environ |= {"JAVA_HOME": str(java), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    environ |= {"PYTHONPATH": os.pathsep.join([str(STARTUP), str(ROOT)]), "SPARK_LOCAL_DIRS": str(tmp_path / "local")}
    environ |= {"SPARK_SUBMIT_OPTS": os.environ["SPARK_SUBMIT_OPTS"]}
    job = Path(__file__).with_name("connect_job.py")
    run = subprocess.run(
        [sys.executable, str(job), str(tmp_path), *(["everything"] if LONG else [])],
        env=environ,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    expected = {"write": 60, "upsert": 60, "filter": 3, "update": 9, "merge": 59, "verify": 0}
    if LONG:
        expected |= {"insert": 119, "delete_where": 110, "delete": 109, "delete_partitions": 73}
    rows = 100 if LONG else 60
    expected |= {"source": rows, "streams": rows + 6, "rows": rows + 6}
    assert json.loads(run.stdout.splitlines()[-1]) == expected
